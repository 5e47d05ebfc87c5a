#!/usr/bin/env bash
# bench/peers/run.sh — compiled autograd of PyTorch and of ebb on the same machine, one after the other.
# SPDX-License-Identifier: BSL-1.0
#
#   bash bench/peers/run.sh [--smoke]
#
# It takes a quarter of an hour, most of it for PyTorch to compile, and installs PyTorch (1 GB) into build/peers/venv once. Nothing else in
# this repository needs PyTorch. All runs except the one with two threads are pinned to one processor.
set -euo pipefail
cd "$(dirname "$0")/../.."
source test/setup.sh

preset=${EBB_PRESET:-gcc}
need "${packages[@]}"
build bench.compiled_autograd
venv=build/peers/venv
if ! "$venv/bin/python" -c 'import torch' 2>/dev/null; then
  python3 -m venv "$venv"
  quietly "$venv/bin/pip" install torch==2.13.0
fi

last=$(($(nproc) - 1))
# Otherwise page faults for each new gradient of ten million elements would hide everything else.
export MALLOC_MMAP_THRESHOLD_=1073741824 MALLOC_TRIM_THRESHOLD_=1073741824
export TORCHINDUCTOR_CACHE_DIR=$PWD/build/peers/cache
torch=("$venv/bin/python" -W ignore bench/peers/compiled_autograd.py)

echo "load: $(cut -d ' ' -f 1-3 /proc/loadavg)"
taskset -c $last "build/$preset/bench/bench.compiled_autograd" "$@"
echo
taskset -c $last "${torch[@]}" --threads 1 "$@"
echo
"${torch[@]}" --threads 2 --least 100000 "$@" tutorial work network
echo "load: $(cut -d ' ' -f 1-3 /proc/loadavg)"

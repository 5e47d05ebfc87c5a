#!/usr/bin/env bash
# bench/peers/run.sh — compiled autograd of PyTorch beside that of ebb, on the same machine, one after the other.
# SPDX-License-Identifier: BSL-1.0
#
#   bash bench/peers/run.sh [--smoke]
#
# Takes a quarter of an hour, most of it for PyTorch to compile, and puts PyTorch (1 GB) into build/peers/venv once. Nothing else of this
# repository needs it. All but the run with two threads is pinned to one processor.
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
# Or each fresh gradient of ten million elements is paid for in page faults, which hide everything else.
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

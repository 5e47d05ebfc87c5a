#!/usr/bin/env bash
# bench/peers/run.sh — compiled autograd and a GRU, of PyTorch and of ebb, on the same machine, one after the other.
# SPDX-License-Identifier: BSL-1.0
#
#   bash bench/peers/run.sh [--smoke]
#
# It takes a quarter of an hour, most of it for PyTorch to compile, which pytorch.sh installs. All runs except the one with two threads are
# pinned to one processor.
set -euo pipefail
cd "$(dirname "$0")/../.."
source test/setup.sh

preset=${EBB_PRESET:-gcc}
need "${packages[@]}"
build bench.compiled_autograd
build bench.loops
source bench/peers/pytorch.sh
torch=("$python" -W ignore bench/peers/compiled_autograd.py)

echo "load: $(cut -d ' ' -f 1-3 /proc/loadavg)"
taskset -c $last "build/$preset/bench/bench.compiled_autograd" "$@"
echo
taskset -c $last "${torch[@]}" --threads 1 "$@"
echo
taskset -c $last "build/$preset/bench/bench.loops" "$@" gru
echo
taskset -c $last "$python" -W ignore bench/peers/gru.py "$@"
echo
"${torch[@]}" --threads 2 --least 100000 "$@" tutorial work network
echo "load: $(cut -d ' ' -f 1-3 /proc/loadavg)"

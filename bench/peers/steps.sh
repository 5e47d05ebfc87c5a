#!/usr/bin/env bash
# bench/peers/steps.sh — training steps of two networks by ebb and by PyTorch, in turns on one processor.
# SPDX-License-Identifier: BSL-1.0
#
#   bash bench/peers/steps.sh [--smoke] [network...]        networks: transformer convnet
#
# It takes three minutes, one of them to compile ebb's program.
set -euo pipefail
cd "$(dirname "$0")/../.."
source test/setup.sh

preset=${EBB_PRESET:-gcc}
need "${packages[@]}"
build bench.steps
source bench/peers/pytorch.sh
taskset -c $last "$python" -W ignore bench/peers/steps.py "build/$preset/bench/bench.steps" "$@"
echo "load: $(cut -d ' ' -f 1-3 /proc/loadavg)"

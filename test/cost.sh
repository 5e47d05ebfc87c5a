#!/usr/bin/env bash
# test/cost.sh — checks that the machine code of a small program does not grow: compile time follows code size, but varies from run to run.
# SPDX-License-Identifier: BSL-1.0
#
#   test/cost.sh <source dir> <kilobytes with headers alone> <kilobytes with ebb::compiled> <compiler> [flags...]
set -euo pipefail
source=$1 limits=("$2" "$3")
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ways=("" -DEBB_COMPILED) failed=0
for i in 0 1; do
  "$@" -O2 ${ways[i]} -c "$source/bench/compile_time/programs/region.cpp" -o "$work/out.o"
  kilobytes=$(($(size "$work/out.o" | awk 'NR == 2 { print $1 }') / 1024))
  echo "region.cpp ${ways[i]}: $kilobytes KB of code, at most ${limits[i]}"
  ((kilobytes <= limits[i] && kilobytes > 4)) || failed=1
done
exit $failed

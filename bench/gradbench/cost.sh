#!/usr/bin/env bash
# bench/gradbench/cost.sh — lines of code of each candidate, and seconds that the compiler needs for each eval's file.
# SPDX-License-Identifier: BSL-1.0
#
#   bash bench/gradbench/cost.sh [compiler] [flags]      g++, -O2 -march=native
#
# Lines are counted between `// lines: <candidates>` and `// lines: end`, without comments and empty lines. Seconds are user time, of all
# candidates of a file together.
set -euo pipefail
cd "$(dirname "$0")/../.."
compiler=${1:-g++}
flags=("${@:2}")
[ ${#flags[@]} -gt 0 ] || flags=(-O2 -march=native)
case $compiler in
*clang*) limits=(-fconstexpr-steps=2147483647 -fbracket-depth=4096) ;;
*) limits=(-fconstexpr-ops-limit=2147483647 -fconstexpr-loop-limit=2147483647 --param=ggc-min-heapsize=1000000) ;;
esac
TIMEFORMAT=%U
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

lines() {  # lines candidate file
  awk -v name="$1" '
    /^ *\/\/ lines: / { sub(/^ *\/\/ lines: /, ""); on = index(", " $0 ",", ", " name ","); next }
    on && !/^ *$/ && !/^ *\/\// { ++count }
    END { print count ? count : "-" }' "$2"
}

candidates=(manual reverse natural sparse shaped duals finite simd)
printf '%-8s' eval
printf ' %8s' "${candidates[@]}" seconds
printf '\n'
for source in bench/gradbench/*.cpp; do
  eval=$(basename "$source" .cpp)
  [ "$eval" != main ] || continue
  seconds=$({ time "$compiler" -std=c++20 "${flags[@]}" "${limits[@]}" -ffp-contract=off -Iinclude -c "$source" -o "$work/out.o"; } 2>&1)
  printf '%-8s' "$eval"
  for candidate in "${candidates[@]}"; do printf ' %8s' "$(lines "$candidate" "$source")"; done
  printf ' %8s\n' "$seconds"
done

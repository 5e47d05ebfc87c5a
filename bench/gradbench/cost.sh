#!/usr/bin/env bash
# bench/gradbench/cost.sh — lines of code of each candidate, and seconds that the compiler needs for it.
# SPDX-License-Identifier: BSL-1.0
#
#   bash bench/gradbench/cost.sh [compiler] [flags]      g++, -O2 -march=native
#   EVALS='gmm ba' bash bench/gradbench/cost.sh          some of the evals
#
# Prints rows of: eval, candidate, lines, seconds. Lines are counted between `// lines: <candidates>` and `// lines: end`, without comments
# and empty lines. Seconds are user time for the eval's file with this candidate and `manual`: without the lines of others, without what is
# between `// only: <others>` and `// only: end`, and without their entries in the list of candidates. `manual` includes nothing of ebb.
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
alone() {  # alone candidate file: the file with this candidate and manual only
  local also=reverse  # the function that others are checked against
  case $1 in sparse | shaped) also+=', natural' ;; esac  # they call functions of natural
  awk -v name="$1" -v also="$also" '
    function has(list, one) { return index(", " list ",", ", " one ",") }
    function is_called(list,   one, i) {
      for (i = split(also, one, ", "); i > 0; --i) if (has(list, one[i])) return 1
      return 0
    }
    function named(list) { return has(list, name) || has(list, "manual") }
    /^ *\/\/ lines: / { list = $0; sub(/^ *\/\/ lines: /, "", list); others = list != "end" && !named(list) && !is_called(list); next }
    /^ *\/\/ only: / { list = $0; sub(/^ *\/\/ only: /, "", list); without = list != "end" && !named(list); next }
    /std::vector<candidate> all = \{/ { entries = 1; print; next }
    entries && /^  };/ { entries = other = 0 }
    entries && /^      \{"/ { split($0, part, "\""); other = part[2] != name && part[2] != "manual" }
    !others && !without && !other' "$2"
}

for source in bench/gradbench/*.cpp; do
  eval=$(basename "$source" .cpp)
  [ "$eval" != main ] || continue
  [ -z "${EVALS:-}" ] || [[ " $EVALS " = *" $eval "* ]] || continue
  for candidate in $(sed -n 's/^      {"\([a-z]*\)", .*/\1/p' "$source"); do
    alone "$candidate" "$source" >"$work/$eval.cpp"
    seconds=$({ time "$compiler" -std=c++20 "${flags[@]}" "${limits[@]}" -ffp-contract=off -w -Iinclude -iquote bench/gradbench \
      -c "$work/$eval.cpp" -o "$work/out.o" 2>"$work/errors"; } 2>&1) || { cat "$work/errors" >&2; exit 1; }
    printf '%-8s %-8s %5s %6s\n' "$eval" "$candidate" "$(lines "$candidate" "$source")" "$seconds"
  done
done

#!/usr/bin/env bash
# test/headers.sh — checks that each header compiles alone without a warning: headers.sh <include directory> <compiler and flags...>
# SPDX-License-Identifier: BSL-1.0
set -uo pipefail
cd "${1:?which directory of headers? bash test/run.sh headers calls this script}" && shift
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
headers=$(find ebb -name '*.hpp' | grep -v '^ebb/mpi[./]' | sort)  # test/mpi.sh compiles those that need MPI

# Headers that are compiled while only headers that they include are there are as good as alone. So a header may begin with a precompiled
# one that it includes, and those that it includes next may be checked with it. Prints which headers to precompile: `first <header>`, and
# what to compile with which of them: `<header> <number>`, where 0 is none.
plan=$(awk -F '"' '
  FNR == 1 { file = FILENAME; all[++files] = file; folder = file; sub(/[^\/]*$/, "", folder) }
  { ++weight[file] }
  /^#include "/ {
    path = folder $2
    while (sub(/[^\/.]+\/\.\.\//, "", path)) {}
    included[file, ++includes[file]] = path
  }
  function close_over(h, i, j, x) {  # within[h, x]: h includes x, or is x
    if (h in closed) return
    closed[h] = 1; within[h, h] = 1; list[h, ++size[h]] = h
    for (i = 1; i <= includes[h]; ++i) {
      x = included[h, i]; close_over(x)
      for (j = 1; j <= size[x]; ++j) if (!((h, list[x, j]) in within)) { within[h, list[x, j]] = 1; list[h, ++size[h]] = list[x, j] }
    }
    for (j = 1; j <= size[h]; ++j) total[h] += weight[list[h, j]]
  }
  function compile(h, first, i, x, good) {  # marks what is checked by it
    if ((h in seen) || (first != "" && (first, h) in within)) return
    seen[h] = 1
    for (i = 1; i <= includes[h]; ++i) compile(included[h, i], first)
    good = first == "" || (h, first) in within
    for (i = 1; good && i <= before; ++i) good = (h, done[i]) in within
    if (good) checked[h] = 1
    done[++before] = h
  }
  function check(h, first) { delete seen; before = 0; compile(h, first) }
  END {
    for (i = 1; i <= files; ++i) close_over(all[i])
    for (round = 1; round <= 8; ++round) {
      most = 0
      for (i = 1; i <= files; ++i) {
        gain = -total[all[i]]
        for (j = 1; j <= files; ++j)
          if (j != i && (all[j], all[i]) in within && total[all[i]] > best[j]) gain += total[all[i]] - best[j]
        if (gain > most) { most = gain; chosen = i }
      }
      if (most == 0) break
      print "first " all[chosen]
      check(all[chosen], "")
      for (j = 1; j <= files; ++j)
        if (j != chosen && (all[j], all[chosen]) in within && total[all[chosen]] > best[j]) { best[j] = total[all[chosen]]; with[j] = round }
      name[round] = all[chosen]
    }
    for (;;) {  # those with the most lines first: they check others
      most = 0
      for (i = 1; i <= files; ++i) if (!(all[i] in checked) && total[all[i]] > most) { most = total[all[i]]; next_one = i }
      if (most == 0) break
      print all[next_one] " " with[next_one] + 0
      check(all[next_one], name[with[next_one]])
    }
  }' $headers)

# A header is included twice, to check its guard, and not compiled directly: a main file must not contain #pragma once.
alone() {
  local header=$1 first=$2 && shift 2
  printf '#include <%s>\n#include <%s>\n' "$header" "$header" |
    "$@" $([ "$first" = 0 ] || echo "-Winvalid-pch -include $work/$first.hpp") -x c++ - || { echo "$header does not compile alone"; return 1; }
}
precompile() {
  local number=$1 header=$2 && shift 2
  printf '#include <%s>\n#include <%s>\n' "$header" "$header" >"$work/$number.hpp"
  "${@/-fsyntax-only/-fno-diagnostics-color}" $([[ $1 != *clang* ]] || echo -fpch-instantiate-templates) \
    -x c++-header "$work/$number.hpp" -o "$work/$number.hpp.gch" ||
    { echo "$header does not compile alone"; return 1; }
}
export -f alone precompile
export work
# All headers can be included twice, in either order: no name of one header may hide a name of another.
twice() {
  local sorted=$1 && shift
  $sorted <<<"$headers" | sed 's/.*/#include <&>\n#include <&>/' | "$@" -I . -x c++ - ||
    { echo "not all headers can be included twice, in the order of $sorted"; return 1; }
}
twice cat "$@" & one=$!
twice tac "$@" & other=$!
wait $one || exit 1
wait $other || exit 1
warn=("$@" -I . -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)
each() { xargs -P 2 -L 1 bash -c "$1"' "${@: -2}" "${@:1:$#-2}"' _ "${warn[@]}" 2>&1; }  # a function, for the two words of each line
sed -n 's/^first //p' <<<"$plan" | awk '{ print NR, $0 }' | each precompile || exit 1
grep -v '^first' <<<"$plan" | each alone || exit 1
# A file that includes everything and uses nothing must not emit any function. A virtual function declared without `inline` and defined
# outside of its class would emit the whole class in that file, for a second of compile time.
code=$(echo '#include <ebb/ebb.hpp>' | "${@/-fsyntax-only/-S}" -I . -x c++ -o - - |
  sed -n 's/.*\.type[[:space:]]*\(_Z[^,]*\),.*function.*/\1/p')
[ -z "$code" ] || { c++filt <<<"$code"; echo 'ebb/ebb.hpp puts these into each file that includes it'; exit 1; }
echo "$(wc -l <<<"$headers") headers compile alone or after headers that they include, in $(wc -l <<<"$plan") compilations"

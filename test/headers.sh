#!/usr/bin/env bash
# test/headers.sh — checks that each header compiles alone without a warning: headers.sh <include directory> <compiler and flags...>
# SPDX-License-Identifier: BSL-1.0
set -uo pipefail
cd "${1:?which directory of headers? bash test/run.sh headers calls this script}" && shift
alone() {
  local header=$1 && shift
  # The header is included twice, to check its guard, and not compiled directly: a main file must not contain #pragma once.
  printf '#include <%s>\n#include <%s>\n' "$header" "$header" |
    "$@" -I . -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -x c++ - || { echo "$header does not compile alone"; return 1; }
}
export -f alone
headers=$(find ebb -name '*.hpp' | grep -v '^ebb/mpi[./]' | sort)  # test/mpi.sh compiles those that need MPI
# A header that another header includes first is compiled with nothing before it there. Skipping these, half of all, saves half the time.
first=$(awk -F '"' 'FNR == 1 { looking = 1 }
  looking && /^#/ && !/^#pragma/ { looking = 0; if (/^#include "/) print FILENAME "/../" $2 }' $headers |
  xargs realpath -m --relative-to=. | sort -u)
rest=$(comm -23 <(echo "$headers") <(echo "$first"))
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
xargs -P 2 -I {} bash -c 'alone "$@"' _ {} "$@" <<<"$rest" 2>&1 || exit 1
# A file that includes everything and uses nothing must not emit any function. A virtual function declared without `inline` and defined
# outside of its class would emit the whole class in that file, for a second of compile time.
code=$(echo '#include <ebb/ebb.hpp>' | "${@/-fsyntax-only/-S}" -I . -x c++ -o - - |
  sed -n 's/.*\.type[[:space:]]*\(_Z[^,]*\),.*function.*/\1/p')
[ -z "$code" ] || { c++filt <<<"$code"; echo 'ebb/ebb.hpp puts these into each file that includes it'; exit 1; }
echo "$(wc -l <<<"$headers") headers compile alone, $(wc -l <<<"$first") of them as the first that another includes"

#!/usr/bin/env bash
# test/headers.sh — each header compiles alone, without a warning; called as: headers.sh <include directory> <compiler and flags...>
# SPDX-License-Identifier: BSL-1.0
set -uo pipefail
cd "$1" && shift
alone() {
  local header=$1 && shift
  # Twice, since a header must bear that; through a file of its own, since a main file may not say #pragma once.
  printf '#include <%s>\n#include <%s>\n' "$header" "$header" |
    "$@" -I . -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -x c++ - || { echo "$header does not compile alone"; return 1; }
}
export -f alone
headers=$(find ebb -name '*.hpp' | sort)
xargs -P 2 -I {} bash -c 'alone "$@"' _ {} "$@" <<<"$headers" 2>&1 || exit 1
echo "$(wc -l <<<"$headers") headers compile alone"

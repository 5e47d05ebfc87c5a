#!/usr/bin/env bash
# test/limits.sh — compiles the programs in bench/compile_time/programs with half of g++'s default limits for constant expressions: if this
# passes, a user's program of twice their size compiles.
# SPDX-License-Identifier: BSL-1.0
#
#   bash test/limits.sh <root> <compiler and flags...>
#
# Only g++ is tested: other compilers have other limits, and ebb's CMake target raises those.
set -uo pipefail
root=$1
shift
macros=$("$@" -dM -E -x c++ - </dev/null)
case $macros in
  *__clang__*) echo "not g++: nothing to do"; exit ;;
esac

failed=0
hold() {  # hold "the compiler's flags" a program, its flags...
  local source=$root/bench/compile_time/programs/$2.cpp start=$SECONDS
  if "${compiler[@]}" $1 -fsyntax-only "${@:3}" "$source" >"$log" 2>&1; then
    echo "$2 ${*:3}: compiles with $1, $((SECONDS - start)) s"
  else
    echo "$2 ${*:3}: does not compile with $1"
    grep -m 3 -E 'error:' "$log" | cut -c1-300
    failed=1
  fi
}
compiler=("$@")
log=$(mktemp)
trap 'rm -f "$log"' EXIT
half=-fconstexpr-ops-limit=16777216
hold $half transformer
hold $half lstm -DLAYERS=4
hold $half cart_pole -DSTEPS=10
hold $half leaves -DLEAVES=100
exit $failed

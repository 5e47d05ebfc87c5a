#!/usr/bin/env bash
# test/limits.sh — compiles the programs in bench/compile_time/programs with half of what g++ grants a constant by default: when this passes, a
# user's program of twice their size compiles.
# SPDX-License-Identifier: BSL-1.0
#
#   bash test/limits.sh <root> <compiler and flags...>
#
# Other compilers than g++ have other limits, which ebb's CMake target raises: there is nothing to hold them to.
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

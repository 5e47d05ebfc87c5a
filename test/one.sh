#!/usr/bin/env bash
# test/one.sh — compiles and runs one test file at once, without a build directory's configuration: to run while you write it.
# SPDX-License-Identifier: BSL-1.0
#
#   bash test/one.sh test/op/exponential.cpp [Catch2's arguments]     also <name>.static.cpp and <name>.fail.cpp
#   CXX=g++ FLAGS=-O2 bash test/one.sh test/op/exponential.cpp        default: clang 16 if it is there, else g++, with -O0
set -euo pipefail
cd "$(dirname "$0")/.."
source test/setup.sh
file=${1:?which file of tests?} && shift
file=${file#"$PWD/"}
[ -e "$file" ] || { echo "there is no $file" >&2; exit 1; }
need "${packages[@]}"
[ -n "${CXX:-}" ] || { CXX=g++ && ! command -v clang++-16 >/dev/null || CXX=clang++-16; }

directory=build/one/$CXX
mkdir -p "$directory"
flags=(-std=c++20 -ffp-contract=off -march=native -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -Iinclude)
# The limits for constants that ebb's CMake target raises. Tests of errors see what a user without them sees.
case $file/$("$CXX" --version) in
  *.fail.cpp/*) ;;
  *clang*) flags+=(-fconstexpr-steps=2147483647 -fbracket-depth=4096) ;;
  *) flags+=(-fconstexpr-ops-limit=4294967296 -fconstexpr-loop-limit=1000000) ;;
esac
read -ra more <<<"${FLAGS:--O0}"
flags+=("${more[@]}")

case $file in
  *.static.cpp) "$CXX" "${flags[@]}" -fsyntax-only "$file" && echo "$file compiles" ;;
  *.fail.cpp) bash test/fail.sh "$file" "$CXX" "${flags[@]}" -w -fsyntax-only ;;  # constants of cases are unused
  *)
    bash test/ops.sh . "$directory/all_ops.hpp"
    for part in main catch; do
      [ "$directory/$part.o" -nt "test/$part.cpp" ] || "$CXX" -std=c++20 -O0 -Iinclude -c "test/$part.cpp" -o "$directory/$part.o"
    done
    libraries=()
    if compgen -G '/usr/lib/*/libCatch2.a' >/dev/null || compgen -G '/usr/local/lib/libCatch2.a' >/dev/null; then libraries=(-lCatch2); fi
    if [[ $file = test/lapack/* ]]; then flags+=(-DEBB_LAPACK) libraries+=(-llapacke -lopenblas); fi
    name=${file#test/} && name=$directory/${name//\//.} && name=${name%.cpp}
    "$CXX" "${flags[@]}" -I"$directory" -DEBB_TEST_DATA="\"$PWD/test/data\"" "$file" "$directory"/{main,catch}.o -o "$name" -pthread "${libraries[@]}"
    "$name" "$@"
    ;;
esac

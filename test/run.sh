#!/usr/bin/env bash
# test/run.sh — builds and runs the tests; installs missing packages (as root, on Debian).
# SPDX-License-Identifier: BSL-1.0
#
#   bash test/run.sh                        all tests, with g++
#   bash test/run.sh op.reduce              tests whose names match: those of one header, a folder (op) or several folders ('base|num')
#   bash test/run.sh fail                   code that must not compile, of all folders; core: the tests of the core's folders
#   bash test/run.sh --preset asan [name]   with another preset: gcc gcc-O2 clang-16 clang-16-O0 clang-19 sse2 avx2 asan tsan no-exceptions aarch64
#   bash test/run.sh --fast                 to run on save: static tests, graphs, passes, plans, floors; 2 minutes of two cores at first
#   bash test/run.sh --without headers      all tests except those whose names match
set -euo pipefail
cd "$(dirname "$0")/.."
source test/setup.sh

preset=gcc without=() fast=
while [[ ${1:-} = --* ]]; do
  case $1 in
    --fast) preset=fast fast=1 && shift && continue ;;
    --preset) preset=${2:?which preset?} ;;
    --without) without=(-E "${2:?which tests?}") ;;
    *) echo "there is no option $1" >&2 && exit 1 ;;
  esac
  shift 2
done
filter=${1:-}

need "${packages[@]}" $(preset_packages "$preset")

# A name that begins with a folder's name (or fail, floors, headers, static) has a build target of its own: only these are built.
target=
for name in ${filter//|/ }; do
  folder=${name%%.*}
  if [ -d "test/$folder" -o -e "test/$folder.sh" -o "$folder" = static ]; then target+=" tests.$folder"; else target= && break; fi
done
select=(${filter:+-R "$filter"})
case $filter in
  fail) select=(-R '\.fail$') ;;
  core) target=tests.core select=(-L '^core$') ;;
  *) [ -z "$target" ] || select=(-R "^($filter)") ;;
esac
if [ -n "$fast" ]; then
  target='tests.static.core tests.base tests.graph tests.pass tests.plan'
  select=(-R '^(static\.core|base|graph|pass|plan|floors|codes|contexts|reference|complete)')
fi
build ${target:-tests}

log=build/$preset/Testing/Temporary/LastTest.log
status=0
ctest --test-dir "build/$preset" -j "$(nproc)" --output-on-failure --no-tests=error "${select[@]}" "${without[@]}" || status=$?

# Catch2 prints a line with the number of assertions for each test; the sum is printed here.
[ $status -ne 0 ] || sed -nE 's/^All tests passed \(([0-9]+) assertions? in ([0-9]+) test cases?\).*/\1 \2/p' "$log" |
  awk -v preset="$preset" '{ a += $1; c += $2 } END { if (c) printf "all passed with %s: %d assertions in %d test cases\n", preset, a, c }'
exit $status

#!/usr/bin/env bash
# bench/suite/instructions.sh — ratios of instruction counts, ebb over hand-written SIMD: other work on the machine does not change them.
# SPDX-License-Identifier: BSL-1.0
#
#   bash bench/suite/instructions.sh [compiler] [flags]      g++, -O2 -march=x86-64-v3 (valgrind 3.19 has no AVX-512)
#
# A program runs with 2 and with 6 calls: the difference leaves out everything around the calls.
set -euo pipefail
cd "$(dirname "$0")/../.."
compiler=${1:-g++}
flags=("${@:2}")
[ ${#flags[@]} -gt 0 ] || flags=(-O2 -march=x86-64-v3)
command -v valgrind >/dev/null || { echo "needs valgrind" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for source in bench/suite/*.cpp; do
  "$compiler" -std=c++20 "${flags[@]}" -ffp-contract=off -Iinclude -c "$source" -o "$work/$(basename "$source").o"
done
"$compiler" "$work"/*.o -o "$work/suite"

counted() {  # counted row type n candidate calls
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$work/suite" --count "$@" 2>&1 | sed -n 's/.*Collected *: *//p'
}
a_call() {
  local many few
  many=$(counted "$@" 6)
  few=$(counted "$@" 2)
  echo $(((many - few) / 4))
}

printf '%s %s\n%-10s %-8s %8s %12s %12s %8s\n' "$compiler" "${flags[*]}" row type n ebb hand ratio
while read -r row type n; do
  ebb=$(a_call "$row" "$type" "$n" ebb)
  hand=$(a_call "$row" "$type" "$n" hand)
  printf '%-10s %-8s %8d %12d %12d %4d.%03d\n' "$row" "$type" "$n" "$ebb" "$hand" $((ebb / hand)) $((ebb * 1000 / hand % 1000))
done <<'ROWS'
a-unfused float 1000
a-unfused double 1000
a float 1000
a double 1000
b float 1000
b double 1000
d2 float 1000
d2 double 1000
e float 32
f float 10
f double 10
e double 32
cheap float 4096
cheap double 4096
mixed both 4096
call float 16
call float 10
ROWS

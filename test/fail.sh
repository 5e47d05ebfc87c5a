#!/usr/bin/env bash
# test/fail.sh — checks that ill-formed code does not compile and that the error is clear: fail.sh <name>.fail.cpp <compiler and flags...>
# SPDX-License-Identifier: BSL-1.0
#
# A .fail.cpp holds numbered cases. Case 0 is the code outside of all cases and must compile. Code that takes long to compile and that no
# other case needs is written as `#if EBB_CASE == 0`.
#
#   #if EBB_CASE == 1  // the user's mistake
#   // EXPECT: E0101 matmul: inner extents differ
#   auto y = ebb::matmul(x, w);  // LINE
#   #endif
#
# The first 13 lines that the compiler prints, source echoes included, must contain the code, the sentence after it, and the file with the
# number of the line marked LINE. A case may have several EXPECT lines. Never write a code into the user's own lines: the compiler echoes
# them, and the echo would pass for the message. If the file says `// ERRORS: 1`, no case has more errors than that, except cases with an
# ERRORS line of their own; `// ERRORS: 1, clang 2` allows clang one more. A case with a line `// LINES: 15` may need so many lines.
# A file that says `// ONLY: clang` is compiled by clang alone. No file is compiled with the flags that raise the limits for constants.
set -uo pipefail
file=$1 && shift
lines=13
output=$(mktemp) && trap 'rm -f "$output"' EXIT
failures=0
if grep -q '^// ONLY: clang$' "$file" && [[ $1 != *clang* ]]; then echo "$file is for clang: nothing to do" && exit; fi
complain() { echo "$file case $case: $1" && sed -n "1,$((lines + 1))s/^/    | /p" "$output" && failures=$((failures + 1)); }

case=0
"$@" -DEBB_CASE=0 "$file" >"$output" 2>&1 || complain 'must compile'

errors=$(sed -nE 's~^// ERRORS: ([0-9]+)(, clang [0-9]+)?$~\1~p' "$file" | head -n 1)
if [[ $1 = *clang* ]]; then errors=$(sed -nE 's~^// ERRORS: [0-9]+, clang ([0-9]+)$~\1~p' "$file" | grep . || echo "$errors"); fi
cases=$(grep -cE '^ *# *(el)?if EBB_CASE == [1-9]' "$file")
[ "$cases" -gt 0 ] || { echo "$file has no cases"; exit 1; }
for ((case = 1; case <= cases; ++case)); do
  # The lines of this case, each preceded by its number.
  body=$(awk -v c="$case" '
    /^ *# *(el)?if EBB_CASE == / { active = ($0 ~ "EBB_CASE == " c "([^0-9]|$)"); depth = 0; next }
    active && /^ *# *if/ { ++depth }
    active && /^ *# *(else|endif)/ { if (depth == 0) active = 0; else if (/endif/) --depth }
    active { print NR ": " $0 }' "$file")
  expected=$(sed -nE 's~^[0-9]+: *// EXPECT: *~~p' <<<"$body")
  line=$(sed -nE 's~^([0-9]+):.*// LINE *$~\1~p' <<<"$body")
  [ -n "$expected" ] || { complain 'has no // EXPECT: line'; continue; }
  [[ $line =~ ^[0-9]+$ ]] || { complain 'needs exactly one line that ends with // LINE'; continue; }
  if "$@" -DEBB_CASE="$case" "$file" >"$output" 2>&1; then complain 'compiles'; continue; fi
  lines=$(sed -nE 's~^[0-9]+: *// LINES: *([0-9]+)$~\1~p' <<<"$body" | grep . || echo 13)
  head=$(grep -v '^In file included from .*/user\.hpp:' "$output" | head -n "$lines")  # a user's code has no precompiled header
  while read -r code sentence; do
    [[ $code =~ ^(E[0-9]{4}|\[mine)$ ]] || complain "expects '$code', which is no code"
    grep -qF -- "$code" <<<"$head" || complain "does not say $code"
    grep -qF -- "$sentence" <<<"$head" || complain "does not say '$sentence'"
  done <<<"$expected"
  grep -qF -- "$(basename "$file"):$line:" <<<"$head" || complain "does not name line $line"
  found=$(grep -cE '^[^ ].*: (fatal )?error: ' "$output")
  most=$(sed -nE 's~^[0-9]+: *// ERRORS: ([0-9]+)$~\1~p' <<<"$body")
  most=${most:-$errors}
  [ "$found" -le "${most:-$found}" ] || complain "has $found errors"
done
[ "$failures" -eq 0 ] && echo "$cases cases do not compile and say why"

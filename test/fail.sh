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
#
# Most of a compilation's time goes into what each file instantiates at its end. So all cases are first compiled as one file, each in a
# namespace of its own, and a case that says there all that it must has passed. A case that does not is compiled alone, which decides: two
# cases may instantiate the same template, whose error is printed once.
set -uo pipefail
file=$1 && shift
output=$(mktemp -d) && trap 'rm -rf "$output"' EXIT
name=$(basename "$file")
failures=0
if grep -q '^// ONLY: clang$' "$file" && [[ $1 != *clang* ]]; then echo "$file is for clang: nothing to do" && exit; fi

errors=$(sed -nE 's~^// ERRORS: ([0-9]+)(, clang [0-9]+)?$~\1~p' "$file" | head -n 1)
if [[ $1 = *clang* ]]; then errors=$(sed -nE 's~^// ERRORS: [0-9]+, clang ([0-9]+)$~\1~p' "$file" | grep . || echo "$errors"); fi
cases=$(grep -cE '^ *# *(el)?if EBB_CASE == [1-9]' "$file")
[ "$cases" -gt 0 ] || { echo "$file has no cases"; exit 1; }
# The lines of all cases, each preceded by its case and its number.
awk '
  /^ *# *(el)?if EBB_CASE == / { match($0, /== [0-9]+/); active = substr($0, RSTART + 3, RLENGTH - 3) + 0; depth = 0; next }
  active && /^ *# *if/ { ++depth }
  active && /^ *# *(else|endif)/ { if (depth == 0) active = 0; else if (/endif/) --depth }
  active { print active " " NR ": " $0 }' "$file" >"$output/lines"

# Reads what the compiler says of all cases at once and writes what belongs to a case into a file named after it. A message begins with
# the places that it comes from (g++) or ends with them (clang). One that names no line of a case belongs to the case before it.
apart() {
  awk -v lines="$output/lines" -v name="$name" -v to="$output/said." '
    BEGIN { while ((getline line < lines) > 0) { split(line, part, /[ :]/); case_of[part[2]] = part[1] } }
    function flush() { if (said != "" && owner) printf "%s", said >(to owner); said = ""; known = has_error = 0 }
    /^In file included from|^[^ ].*: (In |At |error: |fatal error: )/ { if (has_error || (said != "" && !/error: /)) flush() }
    /^[^ ].*: (fatal )?error: / { has_error = 1 }
    !known && match($0, "(^|/)" name ":[0-9]+:") {
      split(substr($0, RSTART, RLENGTH), part, ":")
      if (part[2] in case_of) { owner = case_of[part[2]]; known = 1 }
    }
    { said = said $0 "\n" }
    END { flush() }'
}
{
  grep '^#include' "$file"
  for ((case = 1; case <= cases; ++case)); do
    printf '#define EBB_CASE %d\nnamespace case_%d {\n#include "%s"\n}\n#undef EBB_CASE\n' $case $case "$(realpath "$file")"
  done
} >"$output/all.cpp"
limit=()
[[ $1 != *clang* ]] || limit=(-ferror-limit=0)
"$@" "${limit[@]}" "$output/all.cpp" 2>&1 | grep -vF "$output/all.cpp" | apart

# Prints what the text that the compiler printed for a case lacks, one complaint a line.
judge() {
  local text=$1 head code sentence line lines found most
  line=$(sed -nE 's~^([0-9]+):.*// LINE *$~\1~p' <<<"$body")
  lines=$(sed -nE 's~^[0-9]+: *// LINES: *([0-9]+)$~\1~p' <<<"$body" | grep . || echo 13)
  head=$(grep -v '^In file included from .*/user\.hpp:' "$text" | head -n "$lines")  # a user's code has no precompiled header
  while read -r code sentence; do
    [[ $code =~ ^(E[0-9]{4}|\[mine)$ ]] || echo "expects '$code', which is no code"
    grep -qF -- "$code" <<<"$head" || echo "does not say $code"
    grep -qF -- "$sentence" <<<"$head" || echo "does not say '$sentence'"
  done <<<"$expected"
  grep -qF -- "$name:$line:" <<<"$head" || echo "does not name line $line"
  found=$(grep -cE '^[^ ].*: (fatal )?error: ' "$text")
  most=$(sed -nE 's~^[0-9]+: *// ERRORS: ([0-9]+)$~\1~p' <<<"$body")
  most=${most:-$errors}
  [ "$found" -ge 1 ] || echo 'has no error'
  [ "$found" -le "${most:-$found}" ] || echo "has $found errors"
}
complain() { echo "$file case $case: $1" && sed -n '1,14s/^/    | /p' "$output/alone" && failures=$((failures + 1)); }

case=0 alone=0
"$@" -DEBB_CASE=0 "$file" >"$output/alone" 2>&1 || complain 'must compile'
for ((case = 1; case <= cases; ++case)); do
  body=$(sed -n "s/^$case //p" "$output/lines")
  expected=$(sed -nE 's~^[0-9]+: *// EXPECT: *~~p' <<<"$body")
  : >"$output/alone"
  [ -n "$expected" ] || { complain 'has no // EXPECT: line'; continue; }
  [ "$(grep -cE '// LINE *$' <<<"$body")" = 1 ] || { complain 'needs exactly one line that ends with // LINE'; continue; }
  [ ! -e "$output/said.$case" ] || [ -n "$(judge "$output/said.$case")" ] || continue
  alone=$((alone + 1))
  if "$@" -DEBB_CASE="$case" "$file" >"$output/alone" 2>&1; then complain 'compiles'; continue; fi
  while read -r complaint; do [ -z "$complaint" ] || complain "$complaint"; done < <(judge "$output/alone")
done
[ "$failures" -eq 0 ] && echo "$cases cases do not compile and say why; $alone of them were compiled alone"

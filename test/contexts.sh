#!/usr/bin/env bash
# test/contexts.sh — checks that test/trace/functions.cpp, the table of dtypes in autocast contexts, lists every function that can be
# traced.
# SPDX-License-Identifier: BSL-1.0
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"
table=test/trace/functions.cpp
# Functions are declared as objects; those with axes or with several results as templates, each at the end of its own line.
objects=$(sed -nE 's/^(template <.*> )?inline constexpr [a-z_]*call[a-z_]*<.*> ([a-z_0-9]+)(\{.*|;)$/\2/p' include/ebb/op/*.hpp)
templates=$(sed -nE 's/^constexpr auto ([a-z_0-9]+)\((const )?(X|Logits|Indices)&.*/\1/p' include/ebb/op/*.hpp)
names=$(printf '%s\n' $objects $templates | sort -u | grep -vx one_hot)  # one_hot takes integers only
[ "$(wc -w <<<"$names")" -ge 70 ] || { echo "finds few functions: are they declared in another way?"; exit 1; }
missing=0
for name in $names; do
  grep -qE "(ebb::|\")$name\b" "$table" || { echo "$table lacks $name"; missing=1; }
done
[ $missing -eq 0 ] && echo "all $(wc -w <<<"$names") functions stand in $table"

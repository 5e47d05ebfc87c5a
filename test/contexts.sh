#!/usr/bin/env bash
# test/contexts.sh — checks that the tables of dtypes in autocast contexts list every function that can be traced: test/trace/functions.cpp
# has those of op/, test/<folder>/contexts.static.cpp those of an optional folder.
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
# Functions of an optional folder are those in namespace ebb itself that take any array. nextafter takes float and double only.
skip_inner='/^namespace .*(detail|functions|op|lane|stats|geometry) \{/ || (inside && /^namespace/) { ++inside }
            /^\}  \/\/ namespace/ && inside { --inside }
            !inside'
for folder in special order reductions shapes linalg nn stats geometry; do
  table=test/$folder/contexts.static.cpp
  own=$(awk "$skip_inner" include/ebb/$folder/*.hpp | sed -nE \
    's/^(template <.*> )?inline constexpr [a-z_:]*call[a-z_]*(<.*>)? ([a-z_0-9]+)\{.*/\3/p;
     s/^constexpr auto ([a-z_0-9]+)\((const )?[A-Z][A-Za-z]*(&|\.\.\.).*/\1/p')
  [ "$(wc -w <<<"$own")" -ge 10 ] || { echo "finds few functions in $folder"; exit 1; }
  for name in $(sort -u <<<"$own" | grep -vx nextafter); do
    grep -qE "ebb::$name\b" "$table" || { echo "$table lacks $name"; missing=1; }
  done
done
[ $missing -eq 0 ] && echo "all functions are in the tables of dtypes in autocast contexts"

#!/usr/bin/env bash
# test/readme.sh — checks that the code that README.md shows is the code of four examples, which are compiled and run.
# SPDX-License-Identifier: BSL-1.0
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"
number=0
for example in readme readme_params readme_tape readme_autocast; do
  number=$((number + 1))
  shown=$(awk -v wanted=$number '/^```cpp$/ { ++n; inside = 1; next } /^```$/ { inside = 0 } inside && n == wanted' README.md)
  [ -n "$shown" ] || { echo "README.md shows no code of examples/$example"; exit 1; }
  diff <(printf '%s\n' "$shown") <(sed 1,2d "examples/$example/main.cpp") && echo "README.md shows examples/$example/main.cpp"
done

#!/usr/bin/env bash
# test/readme.sh — the code that README.md shows is the code of examples/readme, which is compiled and run.
# SPDX-License-Identifier: BSL-1.0
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"
shown=$(sed -n '/^```cpp$/,/^```$/p' README.md | sed '1d; /^```$/,$d')
[ -n "$shown" ] || { echo 'README.md shows no code'; exit 1; }
diff <(printf '%s\n' "$shown") <(sed 1,2d examples/readme/main.cpp) && echo 'README.md shows examples/readme/main.cpp'

#!/usr/bin/env bash
# bench/gradbench/run.sh — lines and compile seconds of each candidate, then its times: one table. Called by bench/run.sh.
# SPDX-License-Identifier: BSL-1.0
set -euo pipefail
cd "$(dirname "$0")/../.."
source test/setup.sh

preset=${EBB_PRESET:-gcc}
build bench.gradbench
program=build/$preset/bench/bench.gradbench
if [ "${1:-}" = --smoke ]; then exec "$program" "$@"; fi
costs=$(mktemp)
trap 'rm -f "$costs"' EXIT
compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "build/$preset/CMakeCache.txt")
EVALS="$*" bash bench/gradbench/cost.sh "$compiler" >"$costs"
"$program" --costs "$costs" "$@"

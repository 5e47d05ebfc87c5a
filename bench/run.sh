#!/usr/bin/env bash
# bench/run.sh — builds and runs the benchmarks; installs missing packages (as root, on Debian).
# SPDX-License-Identifier: BSL-1.0
#
#   bash bench/run.sh                    all except peers
#   bash bench/run.sh suite              one, by the name of its directory
#   bash bench/run.sh --smoke [name]     only shows that they run: few repetitions, figures without meaning
set -euo pipefail
cd "$(dirname "$0")/.."
source test/setup.sh

preset=${EBB_PRESET:-gcc}
smoke=()
if [ "${1:-}" = --smoke ]; then smoke=(--smoke) && shift; fi
need "${packages[@]}"

shopt -s nullglob
names=(bench/*/)
[ $# -eq 0 ] || names=("bench/$1")
for name in "${names[@]}"; do
  name=$(basename "$name")
  [ "$name" != peers ] || [ $# -gt 0 ] || continue  # needs PyTorch
  printf '\n== %s\n' "$name"
  if [ -e "bench/$name/run.sh" ]; then  # measures compilers, not a program
    bash "bench/$name/run.sh" "${smoke[@]}" "${@:2}"
  else
    build "bench.$name"
    "build/$preset/bench/bench.$name" "${smoke[@]}" "${@:2}"
  fi
done

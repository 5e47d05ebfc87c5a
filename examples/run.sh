#!/usr/bin/env bash
# examples/run.sh — builds and runs the examples; installs missing packages (as root, on Debian).
# SPDX-License-Identifier: BSL-1.0
#
#   bash examples/run.sh             trains the classifier of handwritten digits
#   bash examples/run.sh newton      another one, by the name of its directory; further arguments go to the program
#   bash examples/run.sh --all       all of them
set -euo pipefail
cd "$(dirname "$0")/.."
source test/setup.sh

preset=${EBB_PRESET:-gcc}
need "${packages[@]}"

if [ "${1:-}" = --all ]; then
  build examples
  for program in build/"$preset"/examples/example.*; do
    printf '\n== %s\n' "${program##*/example.}"
    "$program"
  done
else
  name=${1:-digits}
  [ -d "examples/$name" ] || { echo "there is no example called $name" >&2; exit 1; }
  [ "$name" != python ] || need python3-dev python3-numpy pybind11-dev
  build "example.$name"
  "build/$preset/examples/example.$name" "${@:2}"
fi

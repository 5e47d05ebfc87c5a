#!/usr/bin/env bash
# bench/peers/gradbench.sh — ebb and GradBench's own derivatives by hand, on the same data, in turns on one processor.
# SPDX-License-Identifier: BSL-1.0
#
#   bash bench/peers/gradbench.sh [--smoke] [eval...]        evals: lse llsq kmeans gmm ba lstm particle saddle ht
#   GRADBENCH=<checkout> bash bench/peers/gradbench.sh       without a download
#
# Compiles the programs of https://github.com/gradbench/gradbench in tools/manual, and of the two searches those in tools/finite, with the
# flags of their Makefile, as shared objects for bench.gradbench. It checks their results before it times them.
set -euo pipefail
[ -z "${GRADBENCH:-}" ] || GRADBENCH=$(realpath "$GRADBENCH")
cd "$(dirname "$0")/../.."
source test/setup.sh

commit=f26651a7bcc120654fa895adecaf371b8cc059c5  # the one whose figures bench/README.md has
preset=${EBB_PRESET:-gcc}
options=()
if [ "${1:-}" = --smoke ]; then options=(--smoke) && shift; fi
evals=("$@")
[ $# -gt 0 ] || evals=(lse llsq kmeans gmm ba lstm particle saddle ht)
own=$PWD/bench/peers/gradbench
for eval in "${evals[@]}"; do
  [ -e "$own/$eval.cpp" ] || { echo "not compared with GradBench's own: $eval" >&2; exit 1; }
done

need "${packages[@]}" git
if [ -z "${GRADBENCH:-}" ]; then
  GRADBENCH=$PWD/build/gradbench
  if [ ! -e "$GRADBENCH/tools/manual" ]; then
    rm -rf "$GRADBENCH"  # of a download that was not finished
    quietly git clone --filter=blob:none --no-checkout https://github.com/gradbench/gradbench "$GRADBENCH"
    quietly git -C "$GRADBENCH" sparse-checkout set cpp tools/manual tools/finite
    quietly git -C "$GRADBENCH" checkout --detach "$commit"
  fi
fi
manual=$GRADBENCH/tools/manual
[ -e "$GRADBENCH/cpp/json.hpp" ] || need nlohmann-json3-dev  # GradBench downloads this header
build bench.gradbench

compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "build/$preset/CMakeCache.txt")
flags=$(env -u CXXFLAGS -u MAKEFLAGS make -s -C "$manual" --no-print-directory --eval 'flags: ; @echo $(CXXFLAGS)' flags)
objects=$PWD/build/$preset/bench/gradbench
mkdir -p "$objects"
for eval in "${evals[@]}"; do
  # shellcheck disable=SC2086  # flags are several words. Functions of a shared object are its own: inlined as in GradBench's executable.
  (cd "$manual" && quietly "$compiler" $flags -I"$GRADBENCH" -I/usr/include/nlohmann -fPIC -fno-semantic-interposition -shared \
    -Wl,--version-script="$own/exports.map" "$own/$eval.cpp" -o "$objects/$eval.so")
done
echo "GradBench $(git -C "$GRADBENCH" rev-parse --short HEAD), $("$compiler" --version | head -n 1), $flags"
"build/$preset/bench/bench.gradbench" "${options[@]}" --peers "$objects" "${evals[@]}"
echo "load: $(cut -d ' ' -f 1-3 /proc/loadavg)"

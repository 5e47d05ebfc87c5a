#!/usr/bin/env bash
# test/profile.sh — checks that probes cost nothing without EBB_PROFILE, and that ebb::compiled has them with it.
# SPDX-License-Identifier: BSL-1.0
#
#   bash test/profile.sh <root> <compiler and flags...>
#
# A probe is a line EBB_PROBE(...) or an `#if defined(EBB_PROFILE)`. A copy of the headers without these must be the same to the compiler:
# what it compiles after preprocessing is the same text, and an object has no function of the profiler.
set -euo pipefail
root=$(cd "$1" && pwd)
shift
compiler=()
for flag in "$@"; do  # flags may be in a file: the headers come from elsewhere here
  case $flag in
    @*) while IFS= read -r line; do [[ $line == "-I"* ]] || compiler+=("$line"); done <"${flag#@}" ;;
    -I*) ;;
    *) compiler+=("$flag") ;;
  esac
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "$1"; exit 1; }

mkdir "$work/with" "$work/without"
cp -r "$root/include" "$work/with/"
cp -r "$root/include" "$work/without/"
probes=0
while IFS= read -r header; do
  probes=$((probes + $(grep -cE '^ *EBB_PROBE\(' "$header" || true)))
  sed -i -E '/^#if defined\(EBB_PROFILE\)$/,/^#(else|endif)/{/^#(if|else|endif)/!d}; /^ *EBB_PROBE\(.*\)$/d' "$header"
done < <(grep -rlE '^ *EBB_PROBE\(|^#if defined\(EBB_PROFILE\)$' "$work/without/include" | grep -v base/config.hpp)
((probes > 20)) || fail "only $probes probes were found"

cat >"$work/program.cpp" <<'CPP'
#include <ebb/ebb.hpp>
int main() {
  ebb::variable w(ebb::tensor<float, 100>::ones());
  ebb::optimizer opt(ebb::sgd{}, w);
  const ebb::compiled_autograd::enable scope;
  ebb::sum(ebb::compile([](auto x) { return ebb::tanh(x) * x; })(w)).backward();
  opt.step();
}
CPP
for kind in with without; do
  (cd "$work/$kind" && "${compiler[@]}" -Iinclude -E -P "$work/program.cpp" | tr -s ' \n' '\n' >"$work/$kind.txt")
done
cmp "$work/with.txt" "$work/without.txt" || fail 'probes are not free without EBB_PROFILE: what is compiled differs'

cd "$work/with"
"${compiler[@]}" -Iinclude -O1 -c "$work/program.cpp" -o off.o
nm -C off.o >names.txt
grep -q 'ebb::' names.txt || fail 'the object has no names of ebb'
! grep -E 'probe|profile' names.txt || fail 'an object without EBB_PROFILE has functions of the profiler'

# ebb::compiled with probes, and without: the linker refuses the latter.
cat >"$work/profiled.cpp" <<'CPP'
#include <ebb/ebb.hpp>
#include <ebb/profile.hpp>
int main() {
  const ebb::profile p;
  const ebb::variable w(ebb::tensor<float, 100>::ones());
  ebb::sum(w * w).backward();
  int kinds = 0;
  for (const ebb::profile_row& r : p.rows()) kinds |= 1 << static_cast<int>(r.is);
  constexpr int wanted[] = {0, 1, 2, 6, 7};  // backward, region, node, program, step
  for (int k : wanted)
    if (!(kinds >> k & 1)) return 1;
}
CPP
"${compiler[@]}" -Iinclude -O0 -DEBB_PROFILE -DEBB_COMPILED -c "$work/profiled.cpp" -o profiled.o
"${compiler[@]}" -Iinclude -O0 -DEBB_PROFILE -DEBB_COMPILED -DEBB_COMPILED_SOURCE -c include/ebb/compiled.cpp -o compiled.o
"${compiler[@]}" profiled.o compiled.o -o profiled
./profiled || fail 'ebb::compiled with EBB_PROFILE does not report all work'
"${compiler[@]}" -Iinclude -O0 -DEBB_COMPILED -c "$work/program.cpp" -o other.o
! "${compiler[@]}" other.o compiled.o -o other 2>errors.txt || fail 'the linker takes an ebb::compiled with other options'
grep -q ebb_compiled_was_built_with_another_march_or_without_exceptions_or_profile_or_lapack errors.txt || fail 'the linker does not say why it refuses'
echo "$probes probes leave no trace"

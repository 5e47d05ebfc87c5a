#!/usr/bin/env bash
# test/mpi.sh — training on several ranks, with each MPI library that is there: mpi.sh <root> <build directory> <compiler and flags...>
# SPDX-License-Identifier: BSL-1.0
#
# Debian's OpenMPI and MPICH stand side by side, as mpicxx.openmpi and mpicxx.mpich; elsewhere mpicxx is tried. Each compiles
# test/mpi/main.cpp, which runs on 1, 2 and 4 ranks: all must print the same bits. Then one rank throws, dies, or has another network: all
# must end, with its message.
set -uo pipefail
root=$1 build=$2 && shift 2
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
failed=0
complain() { echo "$mpi: $1"; failed=1; [ ! -s "$work/said.$mpi" ] || sed 's/^/    | /' "$work/said.$mpi" | head -n 20; }

libraries=()
for mpi in openmpi mpich; do command -v mpicxx.$mpi >/dev/null && command -v mpirun.$mpi >/dev/null && libraries+=($mpi); done
if [ ${#libraries[@]} -eq 0 ] && command -v mpicxx >/dev/null; then libraries=(default); fi
[ ${#libraries[@]} -gt 0 ] || { echo 'not run: no MPI (Debian: openmpi-bin libopenmpi-dev, mpich libmpich-dev)'; exit 0; }

of() { [ $mpi = default ] && echo "$1" || echo "$1.$mpi"; }
# The flags of the library: its include directories with -isystem, without its old C++ interface.
flags_of() { "$(of mpicxx)" -show 2>/dev/null | tr ' ' '\n' | sed -nE "$1"; }
includes() { flags_of 's/^-I/-isystem/p'; echo -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX; }
links() { flags_of '/^-(L|l|Wl)/p' | grep -vE '^-lmpi(_cxx|chcxx)$'; }
run() {  # run <ranks> <program> <arguments...>
  local options=(-n "$1") && shift
  if "$(of mpirun)" --version 2>&1 | grep -qi 'open mpi\|openrte'; then options+=(--allow-run-as-root --oversubscribe); fi
  # Ranks that wait let others run: there may be fewer cores than ranks. MPI libraries leave memory behind.
  ASAN_OPTIONS=detect_leaks=0 OMPI_MCA_mpi_yield_when_idle=1 timeout 60 "$(of mpirun)" "${options[@]}" "$@" >"$work/said.$mpi" 2>&1
}

warnings=(-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)
compile() {
  "$@" -O0 -I"$root/include" "${warnings[@]}" $(includes) "$root/test/mpi/main.cpp" -o "$work/$mpi" $(links) >"$work/said.$mpi" 2>&1 || touch "$work/failed.$mpi"
}
for mpi in "${libraries[@]}"; do compile "$@" & done
mpi=${libraries[0]}
# Each header alone, twice, without exceptions; and what is refused.
for header in $(cd "$root/include" && ls ebb/mpi.hpp ebb/mpi/*.hpp); do printf '#include <%s>\n#include <%s>\n' "$header" "$header"; done |
  "$@" -O0 -I"$root/include" "${warnings[@]}" -fno-exceptions -fno-rtti $(includes) -fsyntax-only -x c++ - || complain 'the headers do not compile without exceptions'
bash "$root/test/fail.sh" "$root/test/mpi/mpi.fail.cpp" "$@" -O0 -I"$root/include" $(includes) -fsyntax-only || complain 'mpi.fail.cpp'
wait

for mpi in "${libraries[@]}"; do
  [ ! -e "$work/failed.$mpi" ] || { complain 'test/mpi/main.cpp does not compile'; continue; }
  for ranks in 1 2 4; do
    mkdir -p "$work/checkpoint"
    run $ranks "$work/$mpi" "$work/checkpoint" || complain "fails on $ranks ranks"
    grep -qx "passed on $ranks ranks" "$work/said.$mpi" || complain "has not passed on $ranks ranks"
    grep '^bits' "$work/said.$mpi" | sed 's/plain //; s/captured //' >>"$work/bits"
  done
  for wrong in 'throws rank 1 of 2: the data of this rank are bad' 'differs rank 1 of 2: ebb::mpi::data_parallel: rank 1 has arrays of other' \
    'unused got no gradient in this backward: say find_unused' 'idle rank 1 of 2: something was thrown that is no std::exception' 'killed'; do
    read -r how message <<<"$wrong"
    run 2 "$work/$mpi" "$how"
    case $? in
      0) complain "went on although a rank $how" ;;
      124) complain "does not end although a rank $how" ;;
    esac
    if grep -q 'went on' "$work/said.$mpi"; then complain "a rank went on although another $how"; fi
    if ! grep -qF -- "$message" "$work/said.$mpi"; then complain "does not say: $message"; fi
  done
  sleep 0.5
  if pgrep -f "$work/$mpi" >/dev/null; then complain 'ranks are left over'; fi
  # The example, if it was built with this library: the same parameters on any number of ranks.
  example=$build/examples/example.digits_mpi
  case $(ldd "$example" 2>/dev/null | grep -oE 'libmpi(ch)?\.so' | head -n 1) in
    libmpich.so) linked=mpich ;;
    libmpi.so) linked=openmpi ;;
    *) linked= ;;
  esac
  if [ -n "$linked" ] && [[ $mpi = "$linked" || $mpi = default ]]; then
    for ranks in 1 2 4; do
      run $ranks "$example" --short || complain "example.digits_mpi fails on $ranks ranks"
      grep '^parameters' "$work/said.$mpi" >>"$work/digits" || complain "example.digits_mpi says nothing on $ranks ranks"
    done
  fi
done
# The package has the target if it is asked for.
mpi=cmake
if command -v cmake >/dev/null && [ -e "$build/cmake_install.cmake" ]; then
  cmake --install "$build" --prefix "$work/prefix" >/dev/null
  mkdir "$work/consumer"
  printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(consumer LANGUAGES CXX)' 'find_package(ebb 0.1 REQUIRED COMPONENTS mpi)' \
    'add_executable(consumer main.cpp)' 'target_link_libraries(consumer PRIVATE ebb::mpi)' >"$work/consumer/CMakeLists.txt"
  printf '%s\n' '#include <ebb/mpi/communicator.hpp>' \
    'int main(int n, char** a) { return ebb::mpi::run(n, a, [] { return ebb::mpi::size() == 1 ? 0 : 1; }); }' >"$work/consumer/main.cpp"
  cmake -S "$work/consumer" -B "$work/consumer/build" -D CMAKE_PREFIX_PATH="$work/prefix" -D CMAKE_CXX_COMPILER="$1" >"$work/said.cmake" 2>&1 &&
    cmake --build "$work/consumer/build" >>"$work/said.cmake" 2>&1 && "$work/consumer/build/consumer" >>"$work/said.cmake" 2>&1 ||
    complain 'find_package(ebb COMPONENTS mpi) gives no target that works'
fi
mpi=all
for bits in bits digits; do
  [ "$(sort -u "$work/$bits" 2>/dev/null | wc -l)" -le 1 ] || { sort "$work/$bits" | uniq -c; complain "other bits on other ranks"; }
done
[ $failed -ne 0 ] || echo "passed with ${libraries[*]} on 1, 2 and 4 ranks: $(sort -u "$work/bits")"
exit $failed

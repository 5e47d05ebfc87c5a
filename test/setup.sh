# test/setup.sh — installs and configures what a build needs; sourced by test/run.sh, examples/run.sh and .ci/run.
# SPDX-License-Identifier: BSL-1.0
#
# need <package>...    installs missing packages, as root on Debian; without root it names them and stops.
# build <target>...    configures build/$preset once and builds its targets quietly: the output is shown if the build fails.

packages=(g++ cmake make libboost-dev libxsimd-dev catch2)

# The additional packages of a preset for another processor or system.
preset_packages() {
  case $1 in
    aarch64) echo g++-aarch64-linux-gnu qemu-user ;;
    mingw) echo g++-mingw-w64-x86-64-posix wine64 ;;
    wasm) echo emscripten ;;
    asan | tsan) echo clang-19 libclang-rt-19-dev ;;
    clang-*) echo "${1%-O0}" ;;
  esac
}
# Runs a program that was built with a preset.
run_built() {  # run_built <preset> <program> <arguments...>
  case $1 in
    aarch64) qemu-aarch64 -L /usr/aarch64-linux-gnu "${@:2}" ;;
    mingw) WINEDEBUG=-all /usr/lib/wine/wine64 "$2.exe" "${@:3}" 2>/dev/null | tr -d '\r' ;;
    wasm) node "$2.js" "${@:3}" ;;
    *) "${@:2}" ;;
  esac
}

# Looks for headers, not for packages: a newer Boost, or one under CMAKE_PREFIX_PATH, is as good as libboost-dev.
header_version() {  # header_version <header> <macro>: the largest value of the macro in any copy of the header
  local prefix
  for prefix in /usr /usr/local ${CMAKE_PREFIX_PATH:+${CMAKE_PREFIX_PATH//[:;]/ }}; do
    sed -nE "s/^# *define +$2 +([0-9]+).*/\1/p" "$prefix/include/$1" 2>/dev/null
  done | sort -n | tail -n 1
}
present() {
  case $1 in
    libboost-dev) [ "$(header_version boost/version.hpp BOOST_VERSION)" -ge 107400 ] 2>/dev/null ;;
    libxsimd-dev) [ "$(header_version xsimd/config/xsimd_config.hpp XSIMD_VERSION_MAJOR)" -ge 8 ] 2>/dev/null ;;
    catch2) [ -n "$(header_version catch2/catch.hpp CATCH_VERSION_MAJOR)$(header_version catch2/catch_version_macros.hpp CATCH_VERSION_MAJOR)" ] ;;
    libclang-rt-*) compgen -G "/usr/lib/llvm-${1//[!0-9]/}/lib/clang/*/lib/linux/*asan*" >/dev/null ;;
    clang-*) command -v "clang++-${1#clang-}" >/dev/null ;;
    g++-aarch64-linux-gnu) command -v aarch64-linux-gnu-g++ >/dev/null ;;
    qemu-user) command -v qemu-aarch64 >/dev/null ;;
    g++-mingw-w64-x86-64-posix) command -v x86_64-w64-mingw32-g++-posix >/dev/null ;;
    wine64) [ -x /usr/lib/wine/wine64 ] ;;
    emscripten) command -v em++ >/dev/null ;;
    nlohmann-json3-dev) compgen -G '/usr/*include/nlohmann/json.hpp' >/dev/null ;;
    libopenmpi-dev | openmpi-bin) command -v mpicxx.openmpi >/dev/null ;;
    pybind11-dev) compgen -G '/usr/*include/pybind11/pybind11.h' >/dev/null || python3 -m pybind11 --cmakedir >/dev/null 2>&1 ;;
    python3-dev) command -v python3-config >/dev/null ;;
    python3-numpy) python3 -c 'import numpy' 2>/dev/null ;;
    liblapacke-dev) compgen -G '/usr/*include/lapacke.h' >/dev/null ;;
    libopenblas-dev) compgen -G '/usr/include/*/openblas_config.h' >/dev/null || compgen -G '/usr/include/*/*/openblas_config.h' >/dev/null ;;
    libmpich-dev | mpich) command -v mpicxx.mpich >/dev/null ;;
    *) command -v "$1" >/dev/null ;;
  esac
}

need() {
  local package missing=() log
  for package; do present "$package" || missing+=("$package"); done
  [ ${#missing[@]} -eq 0 ] && return
  local install=(apt-get install -y --no-install-recommends "${missing[@]}")
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "missing: ${missing[*]}" >&2
    echo "install them first; on Debian or Ubuntu, as root:  ${install[*]}" >&2
    exit 1
  fi
  echo "installing ${missing[*]}"
  log=$(mktemp)
  export DEBIAN_FRONTEND=noninteractive
  "${install[@]}" >"$log" 2>&1 || { apt-get update >>"$log" 2>&1 && "${install[@]}" >>"$log" 2>&1; } ||
    { tail -n 20 "$log" >&2; echo "could not install ${missing[*]}; the whole log is in $log" >&2; exit 1; }
  rm -f "$log"
}

quietly() {
  local log
  log=$(mktemp)
  "$@" >"$log" 2>&1 && rm -f "$log" && return
  grep -vE '^\[ *[0-9]+%\]|^-- ' "$log" | head -n 60 >&2
  echo "failed: $*; all of its output is in $log" >&2
  exit 1
}

build() {
  local seconds=$SECONDS
  quietly cmake --preset "$preset" ${EBB_TESTS_AT_ONCE:+-D "EBB_TESTS_AT_ONCE=$EBB_TESTS_AT_ONCE"}
  quietly cmake --build "build/$preset" --target "$@" -j "$(nproc)"
  echo "built $* with $preset in $((SECONDS - seconds)) s"
}

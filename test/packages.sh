#!/usr/bin/env bash
# test/packages.sh — installs ebb in each way that test/packages/README.md names, and compiles and runs a program with it.
# SPDX-License-Identifier: BSL-1.0
#
#   bash test/packages.sh                  all ways, in some minutes; installs what is missing (as root, on Debian; conan and others by pip)
#   bash test/packages.sh conan meson      some of them
#   CXX=clang++-16 bash test/packages.sh pkg_config
#
# ctest runs those that take seconds and install nothing:  bash test/packages.sh --in <folder> <way>
# A way that cannot be run here says why and counts as skipped (77).
set -uo pipefail
cd "$(dirname "$0")/.."
source test/setup.sh

ways=(files single_header pkg_config debugger natvis deb chroot conan meson vcpkg citation tidy)
cxx=${CXX:-g++} work=build/packages short=
if [ "${1:-}" = --in ]; then work=$2 short=1 && shift 2; fi
mkdir -p "$work" && work=$(cd "$work" && pwd)
wanted=$(sed -n '/^\$ bash examples\/run.sh readme$/{n;p;q}' README.md)  # the first line that README's program prints
version=$(sed -nE 's/#define EBB_VERSION_(MAJOR|MINOR|PATCH) //p' include/ebb/version.hpp | paste -sd.)

fail() { echo "$*"; exit 1; }
skip() { echo "$*"; exit 77; }
tool() {  # tool <program> [<Debian package>]: installs it, or ends this way
  command -v "$1" >/dev/null && return
  [ -z "$short" ] || skip "$1 is not installed"
  (need "${2:-$1}") >&2 || skip "$1 is not installed"
}
from_pip() {  # from_pip <program> [<package>...]: its path, in an environment of its own
  local program=$1
  [ -x "$work/pip/bin/python3" ] || python3 -m venv "$work/pip" || skip 'python3 -m venv does not work here'
  [ -x "$work/pip/bin/$program" ] || "$work/pip/bin/pip" install -q "${@:-$program}" >"$work/pip.log" 2>&1 || skip "pip cannot install $program"
  PATH=$work/pip/bin:$PATH
}
configured() {
  cmake -S . -B "$work/build" -D CMAKE_CXX_COMPILER="$cxx" -D EBB_BUILD_TESTS=OFF -D EBB_BUILD_EXAMPLES=OFF -D EBB_BUILD_BENCH=OFF >"$work/log"
}
installed() {
  configured && rm -rf "$work/prefix" && cmake --install "$work/build" --prefix "$work/prefix" >"$work/log"
}
flags() {  # of the compiler, without pkg-config
  local name=gcc
  case $cxx in *clang*) name=clang ;; esac
  sed -nE 's/^Cflags: -I[^ ]+ //p' "$work/build/ebb-$name.pc"
}
prints_it() {  # prints_it <program...>: as README says
  local printed
  printed=$("$@") || fail "$* fails"
  [ -n "$wanted" ] && [ "${printed%%$'\n'*}" = "$wanted" ] || fail "README's program prints: ${printed%%$'\n'*}"
}
user() {  # user <target> <cmake's options...>: builds the project in test/packages/user
  rm -rf "$work/user"
  cmake -S test/packages/user -B "$work/user" -D CMAKE_CXX_COMPILER="$cxx" -D CMAKE_BUILD_TYPE=Debug "${@:2}" >"$work/log" 2>&1 &&
    cmake --build "$work/user" --target "$1" >>"$work/log" 2>&1 || { tail -n 20 "$work/log"; exit 1; }
}

# Facts that must be written several times are the same everywhere: the version, and the flags of CMake's target.
way_files() {
  local file flag
  for file in meson.build test/packages/vcpkg/ebb/vcpkg.json CITATION.cff; do
    grep -qE "version['\"]?: ['\"]?${version//./\\.}\b" $file || fail "$file has another version than $version"
  done
  for flag in $(grep -oE -- '-f(constexpr|bracket|fp)-[a-z-]+=[0-9a-z]+' CMakeLists.txt | sort -u); do
    for file in conanfile.py meson.build README.md; do grep -qF -- "$flag" $file || fail "$file lacks $flag"; done
  done
  ! command -v python3 >/dev/null || python3 - <<'PYTHON' || fail 'a file is not well-formed'
import ast, json
for file in ("conanfile.py", "test/packages/user/conanfile.py", "test/packages/natvis.py", "include/ebb/ebb-gdb.py"): ast.parse(open(file).read())
json.load(open("test/packages/vcpkg/ebb/vcpkg.json"))
PYTHON
  echo "version $version and the flags are the same in all files"
}

way_single_header() {
  local from programs=(readme)
  configured && cmake --build "$work/build" --target ebb_single_header >"$work/log" || fail "$(tail -n 5 "$work/log")"
  # Its tokens are those of the headers, all of them and in their order.
  tokens() { echo '#include <ebb/ebb.hpp>' | "$cxx" -std=c++20 -march=native -E -P -I "$1" -x c++ - | tr -s '[:space:]' '\n' | grep .; }
  cmp <(tokens include) <(tokens "$work/build/single_header") && [ "$(tokens include | wc -l)" -gt 100000 ] ||
    fail 'the single header is another program than the headers'
  [ -n "$short" ] || programs=($(sed -nE 's|^<!-- examples/(.*)/main.cpp -->$|\1|p' README.md | sort -u))
  for from in "${programs[@]}"; do
    "$cxx" $(flags) -O0 -march=native -DEBB_DATA="\"$PWD/examples/data\"" -I "$work/build/single_header" "examples/$from/main.cpp" -o "$work/$from" ||
      fail "examples/$from does not compile"
    "$work/$from" >"$work/printed" || fail "examples/$from fails"
  done
  prints_it "$work/readme"
  echo "$(wc -l <"$work/build/single_header/ebb/ebb.hpp") lines; compiled and run: ${programs[*]}"
}

way_pkg_config() {
  tool pkg-config
  installed
  export PKG_CONFIG_PATH=$work/prefix/share/pkgconfig
  [ "$(pkg-config --modversion ebb)" = "$version" ] || fail "ebb.pc has version $(pkg-config --modversion ebb)"
  # Flags of a file that CMake compiles with ebb::ebb, against those of pkg-config.
  user help -D CMAKE_PREFIX_PATH="$work/prefix" -D CMAKE_EXPORT_COMPILE_COMMANDS=ON
  local ours theirs
  ours=$(pkg-config --cflags ebb | tr ' ' '\n' | grep -E '^-[fs]' | sed s/gnu/c/ | sort)
  theirs=$(grep -m1 'readme/main.cpp' "$work/user/compile_commands.json" | grep -oE ' -(f|std)[^ ]+' | tr -d ' ' | sed s/gnu/c/ | sort)
  [ -n "$ours" ] && [ "$ours" = "$theirs" ] || fail "flags differ: $(diff <(echo "$ours") <(echo "$theirs"))"
  if [ -n "$short" ]; then  # README's program takes seconds to compile
    "$cxx" -O0 $(pkg-config --cflags ebb) test/consumer/main.cpp -o "$work/user/small" $(pkg-config --libs ebb) && "$work/user/small" || fail 'a program fails'
  else
    "$cxx" -O0 $(pkg-config --cflags ebb) examples/readme/main.cpp -o "$work/user/readme" $(pkg-config --libs ebb) || fail 'README does not compile'
    prints_it "$work/user/readme"
  fi
  echo "$(pkg-config --cflags ebb | cut -d' ' -f2-)"
}

way_debugger() {
  tool gdb
  installed
  user debugger -D CMAKE_PREFIX_PATH="$work/prefix"
  bash test/packages/debugger.sh "$work/user/debugger" "$work/prefix/share/gdb/auto-load"
}

way_natvis() {
  tool python3
  installed
  python3 test/packages/natvis.py "$work/prefix/share/ebb/ebb.natvis" include/ebb/base/config.hpp "$cxx" $(flags) -I include
}

package() {  # builds the .deb, whose name is then in $deb
  tool dpkg-deb dpkg
  configured
  (cd "$work/build" && rm -f ./*.deb && cpack -G DEB >"$work/log" 2>&1) || fail "cpack fails: $(tail -n 3 "$work/log")"
  deb=$(echo "$work"/build/libebb-dev_*_all.deb)
  [ -e "$deb" ] || fail 'cpack wrote no package'
}
way_deb() {
  local deb field
  package
  field=$(dpkg-deb -f "$deb" Depends)
  [ "$field" = 'libboost-dev (>= 1.74), libxsimd-dev (>= 8.1)' ] || fail "Depends: $field"
  ! dpkg-deb -c "$deb" | grep -vE ' \./(usr/(include/ebb|share)/?.*|usr/(include/)?)?$' || fail 'files are where they should not be'
  rm -rf "$work/root" && dpkg-deb -x "$deb" "$work/root" || fail 'the package cannot be unpacked'
  user user -D CMAKE_PREFIX_PATH="$work/root/usr"
  prints_it "$work/user/user"
  if [ -z "$short" ] && tool lintian 2>/dev/null; then lintian --fail-on error,warning "$deb" >"$work/log" 2>&1 || fail "$(grep libebb "$work/log")"; fi
  echo "$(basename "$deb"), $(($(stat -c %s "$deb") / 1000)) kB"
}

# The package in a fresh Debian: apt installs what it depends on, and gdb trusts the printers in its own folder.
way_chroot() {
  [ "$(id -u)" -eq 0 ] || skip 'a chroot needs root'
  tool debootstrap
  local deb chroot=/var/tmp/ebb-packages-chroot
  package
  [ -e $chroot/etc/os-release ] || debootstrap --variant=minbase bookworm $chroot >"$work/log" 2>&1 || { rm -rf $chroot; skip "debootstrap fails: $(tail -n 1 "$work/log")"; }
  cp /etc/resolv.conf $chroot/etc/ && cp "$deb" $chroot/tmp/libebb-dev.deb
  if [ -d /etc/apt ]; then cp -r /etc/apt/apt.conf.d/. $chroot/etc/apt/apt.conf.d/; fi
  in_it() {  # with a /proc, which gdb needs and which goes with the command
    unshare -m sh -c 'mount -t proc proc "$0/proc"; exec chroot "$0" /usr/bin/env DEBIAN_FRONTEND=noninteractive HOME=/root \
      PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"' $chroot "$@"
  }
  in_it apt-get update >"$work/log" 2>&1
  in_it apt-get install -y --no-install-recommends --reinstall /tmp/libebb-dev.deb g++ cmake make pkg-config gdb >>"$work/log" 2>&1 || fail "$(tail -n 5 "$work/log")"
  rm -rf $chroot/tmp/ebb && mkdir -p $chroot/tmp/ebb && cp -r examples test README.md $chroot/tmp/ebb  # without include: that is the package's
  in_it sh -c 'cd /tmp/ebb && g++ -O0 $(pkg-config --cflags ebb) examples/readme/main.cpp -o readme' || fail 'README does not compile there'
  prints_it in_it /tmp/ebb/readme
  in_it sh -c 'cd /tmp && cmake -S ebb/test/packages/user -B user && cmake --build user --target user debugger' >>"$work/log" 2>&1 || fail "$(tail -n 5 "$work/log")"
  prints_it in_it /tmp/user/user
  in_it bash /tmp/ebb/test/packages/debugger.sh /tmp/user/debugger '' || fail 'gdb does not find the printers by itself'
}

way_conan() {
  from_pip conan
  export CONAN_HOME=$work/conan
  rm -rf "$CONAN_HOME" && conan profile detect >"$work/log" 2>&1
  sed -i 's/^compiler.cppstd=.*/compiler.cppstd=20/' "$CONAN_HOME/profiles/default"
  printf '[platform_requires]\nboost/1.74.0\nxsimd/8.1.0\n' >>"$CONAN_HOME/profiles/default"  # those of the system
  conan create . --no-remote -c tools.cmake.cmake_layout:test_folder="$work/user" >"$work/log" 2>&1 || fail "$(tail -n 20 "$work/log")"
  grep -qFx -- "$wanted" "$work/log" || fail 'the test package does not print what README says'
  conan --version
}

way_meson() {
  [ -z "$(git status --porcelain meson.build include 2>&1)" ] || skip 'the wrap clones what is committed: commit first'
  from_pip meson meson ninja
  local how
  for how in subproject pkg_config; do
    rm -rf "$work/user" && cp -r test/packages/user "$work/user" && cp examples/readme/main.cpp "$work/user/"
    sed -i "s|@EBB@|file://$PWD|" "$work/user/subprojects/ebb.wrap"
    if [ $how = pkg_config ]; then installed && tool pkg-config && export PKG_CONFIG_PATH=$work/prefix/share/pkgconfig; fi
    CXX=$cxx meson setup "$work/user/build" "$work/user" >"$work/log" 2>&1 && meson compile -C "$work/user/build" >>"$work/log" 2>&1 || fail "$(tail -n 20 "$work/log")"
    [ $how = pkg_config ] || grep -q 'Subproject ebb finished' "$work/log" || fail 'ebb was no subproject'
    prints_it "$work/user/build/user"
  done
  echo "Meson $(meson --version), as subproject and by pkg-config"
}

way_vcpkg() {
  [ -n "${VCPKG_ROOT:-}" ] && [ -x "$VCPKG_ROOT/vcpkg" ] || skip 'VCPKG_ROOT names no vcpkg'
  tool patchelf
  export VCPKG_FORCE_SYSTEM_BINARIES=1 VCPKG_DISABLE_METRICS=1
  "$VCPKG_ROOT/vcpkg" install ebb --overlay-ports="$PWD/test/packages/vcpkg" --overlay-ports="$PWD/test/packages/vcpkg/system" --no-binarycaching \
    --x-install-root="$work/vcpkg" >"$work/log" 2>&1 || fail "$(tail -n 20 "$work/log")"
  user user -D CMAKE_TOOLCHAIN_FILE="$VCPKG_ROOT/scripts/buildsystems/vcpkg.cmake" -D VCPKG_INSTALLED_DIR="$work/vcpkg" -D VCPKG_MANIFEST_MODE=OFF
  grep -qE "^ebb_DIR:PATH=$work/vcpkg/" "$work/user/CMakeCache.txt" || fail 'the program was compiled with another ebb'
  prints_it "$work/user/user"
  echo "$("$VCPKG_ROOT/vcpkg" version | head -n 1)"
}

way_citation() {
  from_pip cffconvert
  cffconvert --validate -i CITATION.cff 2>&1 || fail 'CITATION.cff is not valid'
}

way_tidy() {
  tool clang-tidy-16
  configured
  # README's program, and all that <ebb/ebb.hpp> leaves out: with the probes, and with MPI where it is there.
  local file header mpi=(-I.) files=(examples/readme/main.cpp "$work/others.cpp")
  if command -v mpicxx >/dev/null; then
    mpi=($(mpicxx -show | tr ' ' '\n' | sed -nE 's/^-I/-isystem/p') -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX)
  fi
  for header in $(cd include && ls ebb/*.hpp ebb/io/*.hpp ebb/interop/*.hpp); do
    [ $header = ebb/mpi.hpp ] && [ "${mpi[*]}" = -I. ] || echo "#include <$header>"
  done >"$work/others.cpp"
  for file in "${files[@]}"; do
    if [ $file != "${files[0]}" ]; then mpi+=(-DEBB_PROFILE); fi
    clang-tidy-16 --quiet --warnings-as-errors='*' "$file" -- $(sed -nE 's/^Cflags: -I[^ ]+ //p' "$work/build/ebb-clang.pc") \
      -march=native -I include "${mpi[@]}" >"$work/tidy" 2>"$work/log" || fail "$(grep -E 'warning|error' "$work/tidy" "$work/log" | head -n 20)"
  done
  echo "no findings of $(clang-tidy-16 --list-checks | grep -c '^ ') checks in ebb's headers"
}

[ $# -gt 0 ] || set -- "${ways[@]}"
failed=0 passed=0 skipped=0
for way; do
  declare -F "way_$way" >/dev/null || { echo "there is no way $way: ${ways[*]}" >&2; exit 1; }
  seconds=$SECONDS status=0
  said=$(set -e; "way_$way" 2>&1) || status=$?
  case $status in
    0) result=passed passed=$((passed + 1)) ;;
    77) result=skipped skipped=$((skipped + 1)) ;;
    *) result=FAILED failed=$((failed + 1)) ;;
  esac
  printf '%-13s %-7s %3d s  %s\n' "$way" $result $((SECONDS - seconds)) "$said"
done
if [ -n "$short" ] && [ $skipped -gt 0 ]; then exit 77; fi
[ -n "$short" ] || echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]

#!/usr/bin/env bash
# test/cross.sh — checks that four examples print the same bytes on another system as on this machine.
# SPDX-License-Identifier: BSL-1.0
#
#   bash test/cross.sh aarch64     g++ for aarch64, run by qemu; bash test/run.sh --preset aarch64 num runs tests there
#   bash test/cross.sh mingw       g++ for Windows, run by wine
#   bash test/cross.sh wasm        Emscripten, run by node; in a chroot with Debian 13 if this machine's compiler is too old
set -euo pipefail
cd "$(dirname "$0")/.."
source test/setup.sh
programs=(functions parameters tape autocast_mismatch)
cross=${1:?which system? aarch64, mingw or wasm}

# Debian 12's Emscripten has a standard library without std::bit_cast.
chroot=/var/tmp/ebb-debian-13
if [ "$cross" = wasm ] && ! { command -v em++ && echo '#include <bit>
int main() { return std::bit_cast<int>(0.f); }' | em++ -std=c++20 -x c++ -fsyntax-only -; } >/dev/null 2>&1 && grep -q 'VERSION_ID="12"' /etc/os-release; then
  [ "$(id -u)" -eq 0 ] || { echo 'wasm needs Emscripten 3.1.50 or newer: Debian 13 has it. As root, this script makes a chroot with it' >&2; exit 1; }
  need debootstrap
  [ -e $chroot/etc/os-release ] || quietly debootstrap --variant=minbase --include=ca-certificates trixie $chroot
  cp /etc/resolv.conf $chroot/etc/
  rm -rf $chroot/root/ebb && mkdir -p $chroot/root/ebb && cp -r CMakeLists.txt CMakePresets.json include test examples bench $chroot/root/ebb
  exec chroot $chroot /usr/bin/env HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin bash /root/ebb/test/cross.sh wasm
fi

need "${packages[@]}" $(preset_packages "$cross")
for preset in gcc "$cross"; do build "${programs[@]/#/example.}"; done
for program in "${programs[@]}"; do
  here=$(run_built gcc "build/gcc/examples/example.$program")
  there=$(run_built "$cross" "build/$cross/examples/example.$program")
  [ -n "$here" ] && [ "$here" = "$there" ] || { printf '%s prints something else on %s:\n%s\n' "$program" "$cross" "$there"; exit 1; }
  echo "$program prints the same on $cross"
done

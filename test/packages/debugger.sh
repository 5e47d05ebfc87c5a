#!/usr/bin/env bash
# test/packages/debugger.sh — checks in a real gdb that ebb's printers show a program's objects as the program itself writes them.
# SPDX-License-Identifier: BSL-1.0
#
#   bash test/packages/debugger.sh <program> <folder to trust>     the program is debugger.cpp, linked with ebb::gdb
#
# gdb must find the printers by itself: it is only told which folder to trust.
set -uo pipefail
program=$1 trusted=$2
command -v gdb >/dev/null || { echo 'gdb is not installed: nothing was checked'; exit 77; }

wanted=$("$program") || { echo "$program fails"; exit 1; }
names=$(sed -nE 's/^([a-z]+) = .*/\1/p' <<<"$wanted" | grep -xE '[a-z]{2,}|w')
commands=()
for name in $names; do commands+=(-ex "printf \"$name = \"" -ex "output $name" -ex 'echo \n'); done
printed=$(gdb -nx -batch -iex "add-auto-load-safe-path $trusted" -iex 'set print object on' -iex 'set max-value-size 65536' \
  -iex 'set debuginfod enabled off' -ex 'break stop' -ex 'run >/dev/null' -ex 'up' -ex 'echo ---\n' "${commands[@]}" "$program" 2>&1 |
  sed '1,/^---$/d')
if [ "$wanted" = "$printed" ]; then
  echo "gdb shows $(wc -w <<<"$names") objects as the program does"
else
  folder=$(mktemp -d)
  echo "$wanted" >"$folder/wanted" && echo "$printed" >"$folder/printed" && diff "$folder/wanted" "$folder/printed"
  rm -r "$folder"
  exit 1
fi

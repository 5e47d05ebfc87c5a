#!/usr/bin/env bash
# test/ops.sh — writes a list of all ops, as the headers declare them; called as: ops.sh <project> <file>
# SPDX-License-Identifier: BSL-1.0
set -euo pipefail
mkdir -p "$(dirname "$2")" && exec >"$2"
cd "$1"
echo '#pragma once'
headers=$(cd include && grep -l 'std::string_view name' ebb/op/*.hpp)
printf '#include <%s>\n' $headers
echo '#include <boost/mp11/list.hpp>'
echo 'using all_ops = boost::mp11::mp_list<'
# A struct of the namespace op that says its name is one.
awk '
  /^namespace ebb::inline EBB_ABI::op \{/ { inside = 1 }
  /^}  \/\/ namespace ebb::inline EBB_ABI::op/ { inside = 0 }
  !inside { next }
  /^template <class [A-Za-z]+>$/ { parameter = $3; sub(/>/, "", parameter); next }
  /^struct [a-z_0-9]+ .*{/ {
    op = "ebb::op::" $2
    # One of each family: a cast from float, rows by an index, places of the largest.
    if (parameter == "From") op = op "<float>"
    else if (parameter == "I") op = op "<std::int64_t>"
    else if (parameter == "F") op = op "<ebb::op::max_place>"
    else if (parameter != "") { print "ops.sh: what is " $2 " for " parameter "?" > "/dev/stderr"; exit 1 }
  }
  { parameter = "" }
  /static constexpr std::string_view name = / { print separator op; separator = "," }
' include/ebb/op/*.hpp
echo '>;'

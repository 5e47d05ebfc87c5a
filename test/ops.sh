#!/usr/bin/env bash
# test/ops.sh — writes a list of all ops that the headers declare: ops.sh <project> <file>
# SPDX-License-Identifier: BSL-1.0
set -euo pipefail
mkdir -p "$(dirname "$2")" && exec >"$2"
cd "$1"
echo '#pragma once'
headers=$(cd include && grep -l 'std::string_view name' ebb/op/*.hpp ebb/linalg/*.hpp ebb/order/*.hpp ebb/nn/*.hpp ebb/shapes/*.hpp ebb/special/*.hpp ebb/stats/*.hpp ebb/geometry/*.hpp)
printf '#include <%s>\n' $headers
echo '#include <boost/mp11/list.hpp>'
echo 'using all_ops = boost::mp11::mp_list<'
# An op is a struct of the namespace op that has a name.
awk '
  /^namespace ebb::inline EBB_ABI::op \{/ { inside = 1 }
  /^}  \/\/ namespace ebb::inline EBB_ABI::op/ { inside = 0 }
  !inside { next }
  /^template <int (K|Taps)>$/ { parameter = $3; sub(/>/, "", parameter); next }
  /^template <class I, class F>$/ { parameter = "I, F"; next }
  /^template <class [A-Za-z]+(, class F.*)?>$/ { parameter = $3; sub(/[>,]/, "", parameter); next }
  /^struct [a-z_0-9]+ .*{/ {
    op = "ebb::op::" $2
    # One op of each family of templates: a cast from float, rows and boxes by an index, positions of the largest element.
    if (parameter == "From") op = op "<float>"
    else if (parameter == "K") op = op "<1>"
    else if (parameter == "Taps") op = op "<2>"
    else if (parameter == "I") op = op "<std::int64_t>"
    else if (parameter == "I, F") op = op "<std::int64_t, ebb::op::slice>"  # F is the function that errors name
    else if (parameter == "F") op = op "<ebb::op::amax>"
    else if (parameter != "") { print "ops.sh: what is " $2 " for " parameter "?" > "/dev/stderr"; exit 1 }
  }
  /^struct [a-z_0-9]+<.*{/ { op = "" }  # a specialization
  { parameter = "" }
  op != "" && /static constexpr std::string_view name = / { print separator op; separator = "," }
' include/ebb/op/*.hpp include/ebb/linalg/*.hpp include/ebb/order/*.hpp include/ebb/nn/*.hpp include/ebb/shapes/*.hpp include/ebb/special/*.hpp include/ebb/stats/*.hpp include/ebb/geometry/*.hpp
echo '>;'

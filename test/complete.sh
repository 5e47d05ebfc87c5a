#!/usr/bin/env bash
# test/complete.sh — checks that each function of the reference has the tests and the benchmark row that it needs.
# SPDX-License-Identifier: BSL-1.0
#
#   bash test/complete.sh <root>              checks
#   bash test/complete.sh <root> --matrix     prints what each function has
#
# A function needs
#   values      a test of its values against recorded ones or against code in long double, or of exact results
#   first       a test of its derivative        second   a test of its second derivative
#   special     a test with NaN, infinities, zeros, or no elements
#   refusal     a case in a .fail.cpp, or a test of an error of the call; elementwise ops share those of test/op/op.fail.cpp. If one
#               rule refuses for many functions, test/trace/lift.cpp asks each of them for the code of its sentence
#   bench       a row in bench/ops
# It has one if a test case that names it, or names a function of the same file that does, holds the words for it. That is a lower bound:
# the words do not prove that the test is good, but a function that nobody tests has none. Functions without a gradient need no
# derivatives.
set -uo pipefail
cd "${1:-.}" && export LC_ALL=C.UTF-8

matrix() {
  # "name class": class is none if the function has no gradient, op if it is an elementwise op, else fn.
  local names
  names=$(sed -nE 's/^\| `([a-z_0-9]+)` \| (.*)/\1 | \2/p' include/ebb/op/README.md |
    awk -F ' \\| ' '{ class = $8 == "none" || $8 == "0" ? "none" : "fn"; if (!($1 in seen) || class == "fn") seen[$1] = class } END { for (n in seen) print n, seen[n] }')
  local shared
  shared=$(bash test/reference.sh . --names | awk '$3 ~ /^op::/ && $2 !~ /^op::/ { print $2 }')
  awk -v names="$names" -v shared="$shared" '
    function has(text, words) { return text ~ words }
    # The functions that a test case tests, by its text and the text of all that it uses in its file.
    function judge(text,   name, list, n, i, golden, values, first, second, special, refusal, rest, seen) {
      golden = has(text, "golden::")
      values = golden || has(text, "long double|oracle|ulps|same_bits|all_equal|CHECK")
      first = golden || has(text, "against_duals|grad[<(]|vjp|both\\(|hessian|slope|jacobian|backward\\(|check_derivatives|check_density|against_differences|gradient")
      second = has(text, "against_duals|both\\(|hessian|second|\\.grad_floor|check_derivatives|check_density|against_differences|hyper_dual|twice|bend|joint\\(")
      special = golden || has(text, "NAN|NaN|nan|infinity|inf[^a-z]|special_values|arguments<|-0\\.0|places|empty|, 0>|\\{0\\}")
      refusal = has(text, "check_refused|REQUIRE_THROWS|CHECK_THROWS|THROWS_|thrown|message_of|EXPECT:|error")
      rest = text
      while (match(rest, /(ebb::|lane::|op::)[a-z_0-9]+/)) {
        name = substr(rest, RSTART, RLENGTH); rest = substr(rest, RSTART + RLENGTH); sub(/.*::/, "", name)
        if (name in wanted && !(name in seen)) {
          seen[name] = 1
          if (values) has_values[name] = 1
          if (first) has_first[name] = 1
          if (second) has_second[name] = 1
          if (special) has_special[name] = 1
          if (refusal) has_refusal[name] = 1
        }
      }
    }
    # A chunk is a declaration at the beginning of a line: a test case, or something that test cases use.
    function end_of_chunk(   id) {
      if (chunk == "") return
      if (is_case) cases[++case_count] = chunk
      else if (chunk_name != "") { helper[chunk_name] = helper[chunk_name] chunk; helpers[++helper_count] = chunk_name }
      chunk = ""; chunk_name = ""; is_case = 0
    }
    function end_of_file(   i, j, text, rounds, used, more) {
      end_of_chunk()
      for (i = 1; i <= case_count; ++i) {
        text = cases[i]
        for (j in used) delete used[j]
        for (rounds = 0; rounds < 3; ++rounds) {
          more = ""
          for (j = 1; j <= helper_count; ++j)
            if (!(helpers[j] in used) && text ~ ("[^a-z_0-9]" helpers[j] "[^a-z_0-9]")) { used[helpers[j]] = 1; more = more helper[helpers[j]] }
          if (more == "") break
          text = text more
        }
        judge(text)
      }
      case_count = 0; helper_count = 0
      for (j in helper) delete helper[j]
    }
    BEGIN {
      n = split(names, line, "\n")
      for (i = 1; i <= n; ++i) { split(line[i], word, " "); wanted[word[1]] = word[2] }
      n = split(shared, line, "\n")
      for (i = 1; i <= n; ++i) has_refusal[line[i]] = 1
    }
    FNR == 1 { end_of_file(); failing = FILENAME ~ /\.fail\.cpp$/; bench = FILENAME ~ /^bench/ }
    bench {
      rest = $0
      while (match(rest, /"[a-z_0-9]+[ <"]/)) { name = substr(rest, RSTART + 1, RLENGTH - 2); rest = substr(rest, RSTART + RLENGTH); has_bench[name] = 1 }
      next
    }
    failing {
      rest = $0
      while (match(rest, /[a-z_0-9]+[<(]/)) { name = substr(rest, RSTART, RLENGTH - 1); rest = substr(rest, RSTART + RLENGTH); if (name in wanted) has_refusal[name] = 1 }
      next
    }
    /^(TEST_CASE|TEMPLATE_TEST_CASE)/ { end_of_chunk(); is_case = 1 }
    /^(template|struct|constexpr|const|inline|static|auto|void|using|double|long|float|bool|int|std::|ebb::|test::|hyper_dual|\[\[)/ {
      if (!(previous ~ /^template/)) end_of_chunk()
      chunk_name = $0
      sub(/ =( .*)?$/, "", chunk_name); sub(/\(.*/, "", chunk_name); sub(/[ {:;]*$/, "", chunk_name); sub(/.*[ *&]/, "", chunk_name)
      if ($0 ~ /^struct /) { chunk_name = $2; sub(/[{:;]*$/, "", chunk_name) }
      if (chunk_name !~ /^[A-Za-z_0-9]+$/) chunk_name = ""
    }
    { chunk = chunk $0 "\n"; previous = $0 }
    END {
      end_of_file()
      for (name in wanted) {
        derived = wanted[name] != "none"
        printf "%s values:%s first:%s second:%s special:%s refusal:%s bench:%s\n", name, name in has_values ? "yes" : "no", !derived ? "-" : name in has_first ? "yes" : "no",
          !derived ? "-" : name in has_second ? "yes" : "no", name in has_special ? "yes" : "no", name in has_refusal ? "yes" : "no", name in has_bench ? "yes" : "no"
      }
    }' $(find test -name '*.cpp' | grep -vE '^test/(packages|consumer|link|python|trace/functions.cpp|[a-z]*/contexts.static.cpp)' | sort) $(find bench/ops \( -name '*.cpp' -o -name factors.hpp \) ! -name '*.peer.cpp' | sort) | sort
}

case ${2:-} in
  --matrix) matrix | column -t ;;
  *)
    all=$(matrix)
    (($(wc -l <<<"$all") > 300)) || { echo "only $(wc -l <<<"$all") functions were found"; exit 1; }
    gaps=$(awk '{ for (i = 2; i <= NF; ++i) if ($i ~ /:no$/) { sub(/:no/, "", $i); print $1 " has no test or row for: " $i } }' <<<"$all")
    [ -z "$gaps" ] || { echo "$gaps"; exit 1; }
    echo "$(wc -l <<<"$all") functions have their tests and rows" ;;
esac

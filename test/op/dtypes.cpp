// test/op/dtypes.cpp — AMP-18: the table of all ops and of their dtypes in each autocast context, made from the ops' declarations.
// SPDX-License-Identifier: BSL-1.0
// covers: op.hpp num/precision.hpp table.hpp
//
// ops.sh finds the ops in the headers. The class and the result dtype of an op give its rows. The rows are compared with the approved text
// in data/approved/op_dtypes.txt, and with the rows that PyTorch recorded for ops of that name. For functions made of several ops and for
// operands of two dtypes see trace/functions.cpp.
#include "../approved.hpp"
#include "../catch.hpp"

#include "all_ops.hpp"

#include <algorithm>
#include <map>
#include <vector>

namespace {

using ebb::dtype;

constexpr dtype floats[] = {dtype::f32, dtype::bf16, dtype::f16, dtype::f64};
constexpr const char* classes[] = {"as it is", "low", "full", "widest"};

/// An op's class, and its result dtype for operands of each of these dtypes.
struct op_row {
  std::string_view name;
  ebb::precision autocast;
  dtype result[4];

  dtype result_for(dtype d) const { return result[std::find(floats, floats + 4, d) - floats]; }
  /// "bf16", for example, for an operand f32 of an op of class `low` in context 1.
  std::string result_in(int context, dtype d) const {
    if (autocast != ebb::precision::widest)
      return std::string(ebb::name_of(result_for(ebb::dtype_in_context(context, autocast, d))));
    const bool other_narrow = context != 0 && (d == dtype::f16 || d == dtype::bf16) && d != ebb::low_of_context(context);
    return other_narrow ? "-" : std::string(ebb::name_of(result_for(d)));
  }
};
// An op on bools gets bool operands, an op on bits integers, whatever the operand dtype.
template <class Op>
constexpr bool of_bits = Op::accepts == ebb::domain::bits || Op::accepts == ebb::domain::integer;
template <class Op, class T>
using operand_of = std::conditional_t<Op::accepts == ebb::domain::boolean, bool, std::conditional_t<of_bits<Op>, std::int64_t, T>>;
template <class Op, class T>
constexpr dtype result = ebb::info<Op, operand_of<Op, T>>.result;
template <class Op>
constexpr op_row row{Op::name, Op::autocast, {result<Op, float>, result<Op, ebb::bf16>, result<Op, ebb::f16>, result<Op, double>}};

template <class... Op>
std::vector<op_row> rows_of(boost::mp11::mp_list<Op...>) {
  return {row<Op>...};
}

std::string torch_name(const std::string& ours) {
  const std::map<std::string, std::string> names{{"f32", "float32"}, {"bf16", "bfloat16"}, {"f16", "float16"}, {"f64", "float64"}};
  const auto found = names.find(ours);
  return found == names.end() ? ours : found->second;
}

/// Recorded results by "op context operand", for operands of one dtype, without those that PyTorch refuses.
std::map<std::string, std::string> recorded() {
  std::map<std::string, std::string> r;
  std::ifstream file(EBB_TEST_DATA "/golden/autocast_dtypes.txt");
  for (std::string text; std::getline(file, text);) {
    std::istringstream words(text);
    std::string first, name, context, operands, result, skip;
    if (!(words >> first >> name >> skip >> context >> skip >> operands >> skip >> result) || first != "op" || result == "error") continue;
    const std::string one = operands.substr(0, operands.find(','));
    if (operands == one || operands == one + ',' + one) r[name + ' ' + context + ' ' + one] = result;
  }
  return r;
}

}  // namespace

TEST_CASE("AMP-18: the table of all ops is as approved and agrees with PyTorch's") {
  const auto theirs = recorded();
  const std::string contexts[] = {"none", "bfloat16", "float16"};
  std::string table = "op              class     operand: without a context, in autocast<bf16>, in autocast<f16>; -: refused\n";
  int compared = 0;
  const std::vector<op_row> rows = rows_of(all_ops());
  for (const op_row& op : rows) {
    std::string line(op.name);
    line.resize(std::max(std::size_t{16}, line.size() + 1), ' ');
    line += classes[static_cast<int>(op.autocast)];
    line.resize(26, ' ');
    for (const dtype d : floats) {
      line += std::string(ebb::name_of(d)) + ": ";
      for (int context = 0; context < ebb::contexts; ++context) {
        const std::string ours = op.result_in(context, d);
        line += ours + (context < 2 ? " " : "   ");
        const std::string name = op.name == "concat" ? "cat" : std::string(op.name);
        const auto row = theirs.find(name + ' ' + contexts[context] + ' ' + torch_name(std::string(ebb::name_of(d))));
        if (row == theirs.end()) continue;
        ++compared;
        INFO(row->first);
        CHECK(torch_name(ours) == row->second);
      }
    }
    line.erase(line.find_last_not_of(' ') + 1);
    table += line + '\n';
  }
  CHECK(rows.size() >= 60);
  CHECK(compared >= 200);
  CHECK(test::difference_from_approved("op_dtypes", table) == "");
}

// test/base/text.static.cpp — names of types and ops: equal names in different namespaces are told apart.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/base/text.hpp>
#include <ebb/op/arithmetic.hpp>

namespace op {
struct add : ebb::elementwise<2> {  // not ebb::op::add
  static constexpr std::string_view name = "add";
  static constexpr auto value(auto x, auto y) { return x * y; }
};
}  // namespace op
namespace functions {
template <class T>
struct softmax {};
}  // namespace functions

static_assert(ebb::full_name_of<op::add>() == "op::add" && ebb::full_name_of<functions::softmax<int>>() == "functions::softmax<int>");
static_assert(ebb::full_name_of<op::add>() != ebb::full_name_of<ebb::op::add>());
static_assert(ebb::info<op::add, float>.id != ebb::info<ebb::op::add, float>.id);
static_assert(ebb::family_of<op::add> != ebb::family_of<ebb::op::add>);

static_assert(ebb::short_name_of<op::add>() == "add");
static_assert(ebb::short_name_of<functions::softmax<op::add>>() == "softmax");
static_assert(ebb::short_name_of<ebb::op::cast<float>>() == "cast");
static_assert(ebb::short_name_of<int>() == "int");

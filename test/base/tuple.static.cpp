// test/base/tuple.static.cpp — element_of is std::get, and joined_tuple is the type of std::tuple_cat.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/base/tuple.hpp>

#include <tuple>
#include <type_traits>
#include <utility>

namespace {

using three = std::tuple<int, const char, double>;
constexpr three values{1, 'b', 2.5};

static_assert(ebb::detail::element_of<0>(values) == 1 && ebb::detail::element_of<1>(values) == 'b' &&
              ebb::detail::element_of<2>(values) == 2.5);
static_assert(std::is_same_v<decltype(ebb::detail::element_of<2>(std::declval<three&>())), double&>);
static_assert(std::is_same_v<decltype(ebb::detail::element_of<1>(std::declval<three&>())), const char&>);
static_assert([] {
  three t{1, 'b', 2.5};
  ebb::detail::element_of<0>(t) = 4;
  int n = 0;
  std::tuple<int&, int> r{n, 0};
  ebb::detail::element_of<0>(r) = 5;
  return std::get<0>(t) == 4 && n == 5;
}());

static_assert(std::is_same_v<ebb::detail::joined_tuple<>, decltype(std::tuple_cat())>);
static_assert(std::is_same_v<ebb::detail::joined_tuple<three, std::tuple<>, std::tuple<int&>>,
                             decltype(std::tuple_cat(three(values), std::tuple<>(), std::declval<std::tuple<int&>>()))>);

}  // namespace

// test/trace/form.cpp — structures of arrays: their leaves, and the same structure with other leaves.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/ebb.hpp>

#include "../catch.hpp"

#include <array>
#include <tuple>
#include <vector>

namespace form_test {

template <template <class, std::size_t...> class Array>
struct layer {
  using matrix = Array<float, 2, 2>;
  using number = Array<double>;
  BOOST_HANA_DEFINE_STRUCT(layer, (matrix, weight), (number, bias));
};
template <template <class, std::size_t...> class Array>
struct network {
  using layers = std::vector<layer<Array>>;
  using pair = std::array<Array<float, 3>, 2>;
  using both = std::tuple<Array<int>, layer<Array>>;
  BOOST_HANA_DEFINE_STRUCT(network, (layers, hidden), (pair, ends), (both, rest));
};

using ebb::detail::leaf_types;
using ebb::detail::leaves_in;
using ebb::detail::types;
using matrix = ebb::tensor<float, 2, 2>;
using number = ebb::tensor<double>;
using vector = ebb::tensor<float, 3>;

static_assert(std::is_same_v<leaves_in<float>, types<float>>);
static_assert(std::is_same_v<leaves_in<std::array<float, 4>>, types<std::array<float, 4>>>);  // one array
static_assert(std::is_same_v<leaves_in<std::tuple<>>, types<>>);
static_assert(std::is_same_v<leaves_in<layer<ebb::tensor>>, types<matrix, number>>);
static_assert(std::is_same_v<leaves_in<std::array<layer<ebb::tensor>, 2>>, types<matrix, number, matrix, number>>);
static_assert(std::is_same_v<leaf_types<std::array<layer<ebb::tensor>, 2>>, types<matrix, number>>);
static_assert(std::is_same_v<leaves_in<ebb::detail::of_length<const std::vector<vector>, 3>>, types<vector, vector, vector>>);
static_assert(std::is_same_v<leaves_in<std::tuple<vector, std::tuple<int, vector>>>, types<vector, int, vector>>);
// How many arrays a vector holds, its type does not say: no argument, but one whose leaves can be asked about.
static_assert(std::is_same_v<leaf_types<std::vector<vector>>, types<ebb::detail::unknown_length, vector>>);
static_assert(!ebb::argument<network<ebb::tensor>>::is_argument && !ebb::argument<std::vector<vector>>::is_argument);
static_assert(ebb::detail::holds_variables<network<ebb::variable>> && !ebb::detail::holds_variables<network<ebb::tensor>>);
static_assert(ebb::argument<std::array<layer<ebb::tensor>, 0>>::leaves == 0);

network<ebb::tensor> a_network(int layers) {
  network<ebb::tensor> n;
  float next = 0;
  n.hidden.resize(static_cast<std::size_t>(layers));
  ebb::each_leaf([&]<class A>(A& a) { a = A::full(static_cast<typename A::value_type>(++next)); }, n);
  return n;
}

}  // namespace form_test

TEST_CASE("leaves of a struct with a vector in it are visited in order") {
  using namespace form_test;
  const auto n = a_network(3);
  std::vector<double> seen;
  ebb::each_leaf([&](const auto& a) { seen.push_back(static_cast<double>(*a.data())); }, n);
  CHECK(seen == std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  CHECK(n.hidden[2].bias() == 6);
  CHECK(n.ends[1](2) == 8);
  CHECK(std::get<0>(n.rest)() == 9);

  auto p = a_network(3);
  ebb::each_leaf([]<class A>(A& x, const A& y) {
    for (std::size_t i = 0; i < x.size(); ++i) x.mutable_data()[i] *= y.data()[i];
  }, p, n);
  CHECK(p.hidden[1].weight(1, 1) == 9);
  CHECK(p.ends[0](0) == 49);
  CHECK(std::get<1>(p.rest).bias() == 121);
}

TEST_CASE("structures with vectors of different lengths have no places in common") {
  using namespace form_test;
  auto p = a_network(2);
  const auto text = test::raised([&] { ebb::each_leaf([](auto& x, const auto& y) { x = y; }, p, a_network(3)); });
  CHECK(text == "ebb::each_leaf: a vector of 2 elements beside one of 3");
}

TEST_CASE("the same structure with other leaves") {
  using namespace form_test;
  using layers = std::array<layer<ebb::tensor>, 2>;
  const std::tuple<layers, double> from{layers{{{matrix::full(2), number::full(3)}, {matrix::full(4), number::full(5)}}}, 6.0};
  int number_of_leaf = 0;
  const auto to = ebb::detail::filled<std::tuple<std::array<std::tuple<int, double>, 2>, int>>([&]<class To>(const auto& leaf) {
    const auto value = [&] {
      if constexpr (ebb::number<std::remove_cvref_t<decltype(leaf)>>) return leaf;
      else return *leaf.data();
    }();
    return static_cast<To>(value) * 10 + static_cast<To>(++number_of_leaf);
  }, from);
  CHECK(to == std::tuple{std::array{std::tuple{21, 32.0}, std::tuple{43, 54.0}}, 65});
  CHECK(&std::get<2>(ebb::detail::leaf_references(from)) == &std::get<0>(from)[1].weight);
}

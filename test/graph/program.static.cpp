// test/graph/program.static.cpp — graphs as types: equal graphs are equal types.
// SPDX-License-Identifier: BSL-1.0
// covers: program.hpp frozen.hpp op/eq.hpp
#include "../build.hpp"

#include <ebb/op/compare.hpp>
#include <ebb/op/eq.hpp>
#include <ebb/op/shaping.hpp>

#include <boost/mp11/algorithm.hpp>

#include <type_traits>

namespace {

using ebb::eq;
using test::graph;
using test::n;
namespace op = ebb::op;

struct square {
  static constexpr graph make() {
    return test::build([](test::builder& b) {
      const auto x = b.in<float>({n, 3});
      return b.returns(ebb::sum_over(x * x, 2));
    });
  }
};
struct square_again {
  static constexpr graph make() { return square::make(); }
};
struct wider {
  static constexpr graph make() {
    return test::build([](test::builder& b) {
      const auto x = b.in<float>({n, 4});
      return b.returns(ebb::sum_over(x * x, 2));
    });
  }
};
struct other_axis {
  static constexpr graph make() {
    return test::build([](test::builder& b) {
      const auto x = b.in<float>({3, n});
      return b.returns(ebb::sum_over(x * x, 1));
    });
  }
};
struct other_result {
  static constexpr graph make() {
    graph g = square::make();
    g.out[0] = 1;
    return g;
  }
};

template <class M>
using program_of = ebb::as_program<ebb::frozen<M>>;

using names = ebb::names_of<program_of<square>>;
static_assert(std::is_same_v<names, ebb::program<eq<op::input, float>, eq<op::mul, float, 0, 0>, eq<op::sum, float, 1>, ebb::returns<2>>>);

using whole = program_of<square>;
static_assert(std::is_same_v<boost::mp11::mp_at_c<whole, 1>, ebb::typed<eq<op::mul, float, 0, 0>, ebb::of_shape<-1, 3>>>);
static_assert(std::is_same_v<boost::mp11::mp_at_c<whole, 2>, ebb::typed<eq<op::sum, float, 1>, ebb::of_shape<-1>, 1, 2>>);
static_assert(std::is_same_v<boost::mp11::mp_back<whole>, ebb::returns<2>>);

static_assert(std::is_same_v<whole, program_of<square_again>>);
static_assert(std::is_same_v<names, ebb::names_of<program_of<wider>>>);
static_assert(!std::is_same_v<whole, program_of<wider>>);
static_assert(!std::is_same_v<whole, program_of<other_axis>>);
static_assert(!std::is_same_v<whole, program_of<other_result>>);

static_assert(!std::is_same_v<eq<op::mul, float, 0, 1>, eq<op::mul, double, 0, 1>>);
static_assert(!std::is_same_v<eq<op::mul, float, 0, 1>, eq<op::mul, float, 1, 0>>);
static_assert(!std::is_same_v<eq<op::mul, float, 0, 1>, eq<op::add, float, 0, 1>>);

// A graph with more equations than one block holds.
struct long_chain {
  static constexpr graph make() {
    return test::build([](test::builder& b) {
      auto x = b.in<float>({n});
      for (int i = 0; i < 200; ++i) x = x * x;
      return b.returns(x);
    });
  }
};
using chain = program_of<long_chain>;
static_assert(boost::mp11::mp_size<chain>::value == 202);
static_assert(std::is_same_v<boost::mp11::mp_at_c<ebb::names_of<chain>, 200>, eq<op::mul, float, 199, 199>>);
static_assert(boost::mp11::mp_count<ebb::names_of<chain>, eq<op::mul, float, 63, 63>>::value == 1);

}  // namespace

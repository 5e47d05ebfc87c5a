// test/trace/kinds.static.cpp — the types of the members of a struct of derivatives.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/ebb.hpp>

#include <type_traits>

namespace {

template <template <class, std::size_t...> class Array>
struct line {
  using vector = Array<float, 2>;
  using number = Array<double>;
  BOOST_HANA_DEFINE_STRUCT(line, (vector, slope), (number, height));
};
template <template <class, std::size_t...> class Array>
struct lines {
  using first = line<Array>;
  using pair = std::tuple<Array<float, 3>, Array<float, ebb::dyn>>;
  BOOST_HANA_DEFINE_STRUCT(lines, (first, one), (pair, two));
};

using ebb::detail::by;
using ebb::detail::derivative_form;
using ebb::detail::in_front;
using ebb::detail::steps;
using ebb::detail::steps_of;
using ebb::detail::with_leaves;

template <class Y, class X>
using derived = derivative_form<Y, X>;
using result = ebb::term<float, 4>;

static_assert(std::is_same_v<steps_of<ebb::tensor>, steps<>>);
static_assert(std::is_same_v<steps_of<ebb::term>, steps<>>);
static_assert(std::is_same_v<steps_of<ebb::variable>, steps<>>);
static_assert(std::is_same_v<steps_of<ebb::detail::kind_after<ebb::tensor, in_front<result>>::array>, steps<in_front<result>>>);

// The result's extents come first in each member, also in members of members and in tuples.
using jacobian = derived<result, lines<ebb::term>>;
static_assert(std::is_same_v<decltype(jacobian::one.slope), ebb::term<float, 4, 2>>);
static_assert(std::is_same_v<decltype(jacobian::one.height), ebb::term<double, 4>>);
static_assert(std::is_same_v<decltype(jacobian::two), std::tuple<ebb::term<float, 4, 3>, ebb::term<float, 4, ebb::dyn>>>);

// Each member of a hessian holds the whole struct.
using hessian = derived<line<ebb::term>, line<ebb::term>>;
static_assert(std::is_same_v<decltype(hessian::slope.slope), ebb::term<float, 2, 2>>);
static_assert(std::is_same_v<decltype(hessian::slope.height), ebb::term<double, 2>>);
static_assert(std::is_same_v<decltype(hessian::height.slope), ebb::term<float, 2>>);
static_assert(std::is_same_v<decltype(derived<hessian, result>::slope.slope), ebb::term<float, 2, 2, 4>>);
static_assert(std::is_same_v<decltype(derived<result, hessian>::slope.slope), ebb::term<float, 4, 2, 2>>);

// Terms become arrays and variables, and these become terms again.
using value = typename ebb::argument<hessian>::value;
static_assert(std::is_same_v<decltype(value::slope.height), ebb::tensor<double, 2>>);
static_assert(std::is_same_v<decltype(value::height.height), ebb::tensor<double>>);
static_assert(std::is_same_v<typename ebb::argument<value>::traced, hessian>);
static_assert(std::is_same_v<typename ebb::argument<line<ebb::variable>>::traced, line<ebb::term>>);
static_assert(std::is_same_v<typename with_leaves<value, ebb::variable>::type,
                             line<ebb::detail::kind_after<ebb::variable, by<line<ebb::term>>>::array>>);
static_assert(ebb::argument<value>::leaves == 4 && ebb::is_traced<hessian> && !ebb::is_traced<value>);

}  // namespace

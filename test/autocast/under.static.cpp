// test/autocast/under.static.cpp — result types of functions inside autocast contexts.
// SPDX-License-Identifier: BSL-1.0
// covers: under.hpp trace/context_in.hpp num/precision.hpp
#include <ebb/autocast/policy.hpp>
#include <ebb/trace/functions.hpp>

namespace {

using ebb::autocast, ebb::bf16, ebb::f16, ebb::off;
using ebb::term;
template <class T = float>
using matrix = term<T, 4, 4>;

template <class R, class F, class... A>
constexpr bool gives(F, A...) {
  return std::is_same_v<std::invoke_result_t<F, A...>, R>;
}
template <class C>
constexpr auto in(auto f) { return ebb::under<C>(f); }

constexpr auto product = [](auto x, auto w) { return ebb::matmul(x, w); };
constexpr matrix<> x;
constexpr matrix<double> d;
constexpr matrix<std::int64_t> n;
constexpr matrix<bf16> b;
constexpr matrix<f16> h;

// Eligible operands are cast, from any narrow dtype.
static_assert(gives<matrix<>>(product, x, x));
static_assert(gives<matrix<bf16>>(in<autocast<bf16>>(product), x, x));
static_assert(gives<matrix<f16>>(in<autocast<f16>>(product), x, x));
static_assert(gives<matrix<bf16>>(in<autocast<bf16>>(product), h, h));
static_assert(gives<matrix<f16>>(in<autocast<f16>>(product), b, h));
static_assert(gives<matrix<>>(in<off>(product), x, x));

// AMP-13: double and integers are not cast; beside a cast operand they are promoted as usual.
static_assert(gives<matrix<double>>(in<autocast<bf16>>(product), d, d));
static_assert(gives<matrix<std::int64_t>>(in<autocast<bf16>>(product), n, n));
static_assert(gives<matrix<double>>(in<autocast<bf16>>(product), x, d));
static_assert(gives<matrix<bf16>>(in<autocast<bf16>>(product), x, n));
constexpr auto inverted = [](auto a) { return ebb::inverse(a); };
static_assert(gives<matrix<double>>(in<autocast<bf16>>(inverted), d));
static_assert(gives<matrix<>>(in<autocast<bf16>>(inverted), b));

// In place: the operator casts nothing. A narrow sum stays narrow, and one that would widen is refused (E0133).
constexpr auto accumulated = [](auto a, auto w) {
  auto total = ebb::matmul(a, w);
  total += ebb::matmul(a, w);
  a += ebb::matmul(a, w);
  return std::tuple(total, a);
};
static_assert(gives<std::tuple<matrix<bf16>, matrix<>>>(in<autocast<bf16>>(accumulated), x, x));

// AMP-15: concat takes the widest dtype of its operands.
constexpr auto joined = [](auto... a) { return ebb::concat<0>(a...); };
static_assert(gives<term<float, 8, 4>>(in<autocast<bf16>>(joined), x, b));
static_assert(gives<term<bf16, 8, 4>>(in<autocast<bf16>>(joined), b, b));
static_assert(gives<term<double, 8, 4>>(in<autocast<bf16>>(joined), d, b));
static_assert(gives<term<bf16, 8, 4>>(in<autocast<bf16>>(joined), n, b));
static_assert(gives<term<double, 12, 4>>(in<autocast<bf16>>(joined), x, d, b));

// AMP-16: contexts nest in any order; the innermost one decides, and its results are in the outer context again.
constexpr auto again = [](auto a, auto w) { return std::tuple(product(a, w), ebb::under<autocast<f16>>(product)(a, w), product(a, w)); };
constexpr auto suspended = [](auto a, auto w) { return std::tuple(ebb::no_autocast(again)(a, w), product(a, w)); };
static_assert(gives<std::tuple<matrix<bf16>, matrix<f16>, matrix<bf16>>>(in<autocast<bf16>>(again), x, x));
static_assert(gives<std::tuple<std::tuple<matrix<>, matrix<f16>, matrix<>>, matrix<bf16>>>(in<autocast<bf16>>(suspended), x, x));
static_assert(gives<std::tuple<std::tuple<matrix<>, matrix<f16>, matrix<>>, matrix<>>>(suspended, x, x));
static_assert(gives<matrix<f16>>(in<autocast<bf16>>(in<autocast<f16>>(product)), x, x));
static_assert(gives<matrix<>>(in<autocast<bf16>>(in<off>(product)), x, x));

// AMP-19: one weight in two contexts has one cast for each.
constexpr auto two_contexts = [](auto a, auto w) {
  const auto y = ebb::matmul(a, w);
  return std::tuple(y, ebb::under<autocast<f16>>(product)(y, w));
};
static_assert(gives<std::tuple<matrix<bf16>, matrix<f16>>>(in<autocast<bf16>>(two_contexts), x, x));
static_assert(gives<std::tuple<matrix<bf16>, matrix<f16>>>(in<autocast<bf16, ebb::shared_casts>>(two_contexts), x, x));

// An explicit dtype wins. Functions without a class keep their operands' dtypes, and nothing inside them is cast.
constexpr auto explicit_float = [](auto a, auto w) { return ebb::softmax(ebb::cast<float>(ebb::matmul(a, w))); };
static_assert(gives<matrix<>>(in<autocast<bf16>>(explicit_float), x, x));
constexpr auto no_class = [](auto a, auto w) { return ebb::exp(ebb::matmul(a, w)) + 1.5; };
static_assert(gives<matrix<bf16>>(in<autocast<bf16>>(no_class), x, x));

// map: its function is in the context too.
constexpr auto row_product = [](auto row, auto m) { return ebb::matmul(m, row); };
constexpr auto by_rows = [](auto rows, auto w) { return ebb::map(row_product, rows, ebb::whole(w)); };
static_assert(gives<matrix<bf16>>(in<autocast<bf16>>(by_rows), x, x));

// Tuples and structs of arrays may be arguments and results.
template <template <class, std::size_t...> class Array>
struct layer {
  using matrix = Array<float, 4, 4>;
  using vector = Array<float, 4>;
  BOOST_HANA_DEFINE_STRUCT(layer, (matrix, w), (vector, b));
};
constexpr auto dense = [](auto l, auto a) { return std::tuple(l, ebb::linear(a, l.w, l.b)); };
static_assert(gives<std::tuple<layer<term>, matrix<bf16>>>(in<autocast<bf16>>(dense), layer<term>{}, x));

// A plain term beside others comes from outside: it is taken into the context.
constexpr auto mixed = [](auto a) { return ebb::matmul(a, ebb::no_autocast([](auto c) { return ebb::sin(c); })(a)); };
static_assert(gives<matrix<bf16>>(in<autocast<bf16>>(mixed), x));

// A context has a number: 0 is off.
static_assert(ebb::number_of_context<off> == 0 && ebb::number_of_context<autocast<bf16>> == 1);
static_assert(ebb::number_of_context<autocast<f16>> == 2);
static_assert(ebb::number_of_context<autocast<f16, ebb::shared_casts>> == 2);
static_assert(ebb::is_context<off> && ebb::is_context<autocast<bf16>> && !ebb::is_context<ebb::same_as_forward> && !ebb::is_context<float>);

// The rule of casts itself.
using ebb::dtype, ebb::precision;
static_assert(ebb::dtype_in_context(0, precision::low, dtype::f32) == dtype::f32);
static_assert(ebb::dtype_in_context(1, precision::low, dtype::f16) == dtype::bf16);
static_assert(ebb::dtype_in_context(2, precision::full, dtype::f16) == dtype::f32);
static_assert(ebb::dtype_in_context(2, precision::full, dtype::f64) == dtype::f64);
static_assert(ebb::dtype_in_context(1, precision::low, dtype::i64) == dtype::i64);
static_assert(ebb::dtype_in_context(1, precision::as_is, dtype::f32) == dtype::f32);

}  // namespace

// test/op/narrow.cpp — every elementwise op on bfloat16 and float16: float's result, rounded once for each op.
// SPDX-License-Identifier: BSL-1.0
// covers: convert.hpp kernel/narrow.hpp
#include "../catch.hpp"

#include "all_ops.hpp"

#include <ebb/ebb.hpp>

#include <cmath>
#include <cstring>
#include <random>
#include <tuple>
#include <vector>

using ebb::bfloat16, ebb::float16;
namespace op = ebb::op;

namespace {

template <class T>
using array = ebb::tensor<T, ebb::dyn>;

template <class... Op>
struct list {
  /// All ops, fused into one group.
  struct function {
    constexpr auto operator()(auto... x) const { return std::tuple{ebb::call<Op>{}(x...)...}; }
  };
};
using unary =
    list<op::neg, op::abs, op::sign, op::square, op::reciprocal, op::sqrt, op::rsqrt, op::relu, op::floor, op::ceil, op::trunc, op::round,
         op::exp, op::expm1, op::log, op::log1p, op::tanh, op::sigmoid, op::softplus, op::log_sigmoid, op::sin, op::cos, op::silu_slope,
         op::mish, op::mish_slope, op::hardsigmoid, op::hardswish, op::isnan, op::isinf, op::isfinite, op::stop_gradient,
         op::root_of_squares, op::binade, op::gaussian, op::erf, op::erfc, op::normal_density, op::ndtr, op::log_ndtr, op::inverse_mills,
         op::mean_excess, op::gelu, op::gelu_slope, op::gelu_bend, op::gelu_tanh, op::gelu_tanh_slope, op::gelu_tanh_bend, op::lgamma,
         op::digamma, op::trigamma, op::tetragamma, op::pentagamma, op::exp2, op::log2, op::log10, op::sinh, op::cosh, op::tan, op::asin,
         op::asin_slope, op::acos, op::atan, op::atan_slope, op::asinh, op::asinh_slope, op::acosh, op::acosh_slope, op::atanh,
         op::atanh_slope, op::log1mexp, op::log1mexp_slope, op::entr, op::frac, op::isposinf, op::isneginf, op::signbit, op::erfcx,
         op::erfcx_slope, op::erfcx_bend, op::erfinv, op::erfcinv, op::ndtri, op::cbrt, op::exp10, op::sinpi, op::cospi, op::tanpi,
         op::sinc, op::sinc_slope, op::sinc_bend, op::logit, op::logit_slope, op::logcosh, op::softsign, op::tanhshrink, op::i0, op::i1,
         op::i1_slope, op::i1_bend, op::i0e, op::i0e_slope, op::i0e_bend, op::i1e, op::i1e_slope, op::i1e_bend, op::tgamma,
         op::is_not_positive, op::is_negative, op::is_not_in_unit, op::is_no_bit, op::is_no_count, op::if_positive, op::if_not_negative,
         op::if_probability, op::log1p_sq_slope, op::log1p_sq, op::poisson_rest, op::stumpff<1>>;
using binary = list<op::add, op::sub, op::mul, op::div, op::maximum, op::minimum, op::clamp_min, op::clamp_max, op::pow, op::less,
                    op::less_equal, op::greater, op::greater_equal, op::equal, op::not_equal, op::silu, op::elu, op::celu, op::leaky_relu,
                    op::squared_offset, op::hypot, op::atan2, op::atan2_slope, op::logaddexp, op::share_of_exp, op::xlogy, op::xlog1py,
                    op::fmod, op::remainder, op::floor_divide, op::whole_quotient, op::round_at, op::fmax, op::fmin, op::copysign,
                    op::ldexp, op::grad_scale, op::straight_through, op::huber, op::smooth_l1, op::bce, op::erfinv_slope, op::erfcinv_slope,
                    op::ndtri_slope, op::nextafter, op::share_of_exp2, op::logaddexp2, op::squareplus, op::squareplus_slope, op::lbeta,
                    op::digamma_gap, op::poisson_terms, op::by_shape, op::angle_ratio<1>>;

/// Asserts that an op is in the list, or of another arity, or a cast (casts have tests of their own), or an op on bools or integers, or
/// one whose value is a loop: thousands of steps for each pair of numbers would take minutes. special/incomplete.cpp has these.
template <class Op>
constexpr bool is_loop = requires { Op::steps; };
template <class Op>
constexpr bool takes_floats =
    Op::accepts != ebb::domain::boolean && Op::accepts != ebb::domain::bits && Op::accepts != ebb::domain::integer && !is_loop<Op>;
template <int Arity, class List, class Op>
constexpr bool is_listed() {
  if constexpr (Op::what == ebb::kind::elementwise)
    static_assert(Op::arity != Arity || !takes_floats<Op> || std::is_same_v<Op, op::cast<float>> ||
                      boost::mp11::mp_contains<List, Op>::value,
                  "the list `unary` or `binary` above lacks this Op");
  return true;
}
static_assert([]<class... Op>(boost::mp11::mp_list<Op...>) {
  return ((is_listed<1, unary, Op>() && is_listed<2, binary, Op>()) && ...);
}(all_ops()));

template <class T>
T of_bits(std::uint32_t b) { return std::bit_cast<T>(static_cast<std::uint16_t>(b)); }

template <class T>
bool is_nan(T x) {
  if constexpr (sizeof(T) == 2) return std::isnan(static_cast<float>(x));
  else return x != x;
}
template <class T>
bool same(T a, T b) { return (is_nan(a) && is_nan(b)) || ebb::to_cell(a) == ebb::to_cell(b); }

/// The result in float, rounded.
template <class Op, class T>
auto wanted(auto... x) {
  return typename Op::template result<T>(Op::value(static_cast<float>(x)...));
}

/// The op by its scalar function, by its block function (a whole array, and one that ends within a register), and in a group.
template <class Op, class T, class R, class... X>
void check(const array<R>& fused, const X&... x) {
  INFO(Op::name << " of " << ebb::name_of(ebb::dtype_of<T>));
  using result = typename Op::template result<T>;
  static_assert(std::is_same_v<R, result>);
  const std::size_t n = fused.size();
  array<result> blocks(n), part(n - 3);
  const void* const in[] = {x.data()...};
  const void* const from[] = {x.data() + 3 ...};
  ebb::info<Op, T>.kernels.block(in, blocks.mutable_data(), n);
  ebb::info<Op, T>.kernels.block(from, part.mutable_data(), n - 3);
  int wrong = 0, first = -1;
  for (std::size_t i = 0; i < n; ++i) {
    const ebb::cell cells[] = {ebb::to_cell(x(i))...};
    ebb::cell scalar = 0;
    ebb::info<Op, T>.scalar(cells, &scalar);
    const result want = wanted<Op, T>(x(i)...);
    const bool good = same(ebb::from_cell<result>(scalar), want) && same(blocks(i), want) && same(fused(i), want) &&
                      (i < 3 || same(part(i - 3), want));
    if (!good && wrong++ == 0) first = static_cast<int>(i);
  }
  CAPTURE(first);
  CHECK(wrong == 0);
}

template <class T, class... Op, class... X>
void check_all(list<Op...>, const X&... x) {
  const auto fused = ebb::compile(typename list<Op...>::function{})(x...);
  [&]<std::size_t... I>(std::index_sequence<I...>) { (check<Op, T>(std::get<I>(fused), x...), ...); }
  (std::index_sequence_for<Op...>{});
}

template <class T>
array<T> every_pattern() {
  array<T> x(65536);
  for (std::uint32_t b = 0; b < 65536; ++b) x.at(b) = of_bits<T>(b);
  return x;
}

/// Zero, the smallest and largest numbers, ties, infinity, NaN; then arbitrary numbers.
template <class T>
std::vector<T> sample(std::size_t n) {
  std::vector<T> v;
  const std::uint32_t infinite = std::is_same_v<T, bfloat16> ? 0x7f80 : 0x7c00, one = std::is_same_v<T, bfloat16> ? 0x3f80 : 0x3c00;
  for (const std::uint32_t b : {0u, 1u, 2u, infinite >> 5, infinite - 1, infinite, infinite + 1, one - 1, one, one + 1, one + 3})
    v.push_back(of_bits<T>(b)), v.push_back(of_bits<T>(b | 0x8000));
  std::mt19937 next(5);
  std::normal_distribution<float> normal;
  while (v.size() < n) v.push_back(next() % 3 ? T(normal(next)) : of_bits<T>(next() & 0xffff));
  return v;
}

template <class To, class From>
To converted(From x) {
  if constexpr (sizeof(From) == 2) return converted<To>(static_cast<float>(x));
  else if constexpr (sizeof(To) == 2) return To(static_cast<float>(x));
  else if constexpr (std::is_same_v<To, bool>) return x != 0;
  else return static_cast<To>(x);
}

template <class To, class From>
void check_cast(const array<From>& x) {
  INFO(ebb::name_of(ebb::dtype_of<From>) << " to " << ebb::name_of(ebb::dtype_of<To>));
  const array<To> y = ebb::cast<To>(x);
  int wrong = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if constexpr (std::is_integral_v<To> && !std::is_same_v<To, bool>)
      if (!(std::fabs(static_cast<float>(x(i))) < 2e9f)) continue;  // a number that does not fit may give anything
    wrong += !same(y(i), converted<To>(x(i)));
  }
  CHECK(wrong == 0);
}

}  // namespace

TEMPLATE_TEST_CASE("ops of one operand give float's result, rounded once, for every half-width number", "", bfloat16, float16) {
  check_all<TestType>(unary{}, every_pattern<TestType>());
}

TEMPLATE_TEST_CASE("ops of two operands give float's result, rounded once, for pairs of half-width numbers", "", bfloat16, float16) {
  const auto v = sample<TestType>(300);
  array<TestType> x(v.size() * v.size()), y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x.at(i) = v[i / v.size()], y.at(i) = v[i % v.size()];
  check_all<TestType>(binary{}, x, y);
}

TEMPLATE_TEST_CASE("casts give float's result, rounded once, for every half-width number", "", bfloat16, float16) {
  const auto x = every_pattern<TestType>();
  check_cast<float>(x);
  check_cast<double>(x);
  check_cast<bool>(x);
  check_cast<std::int32_t>(x);
  check_cast<std::int64_t>(x);
  check_cast<std::conditional_t<std::is_same_v<TestType, bfloat16>, float16, bfloat16>>(x);
}

TEMPLATE_TEST_CASE("casts to a half-width type round to nearest even", "", bfloat16, float16) {
  const auto narrow = sample<TestType>(3000);
  array<float> x(narrow.size() * 6);
  array<double> d(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    // Numbers a bit below, on, and a bit above the midpoint of two neighbours.
    constexpr std::uint32_t middle = std::is_same_v<TestType, bfloat16> ? 0x8000 : 0x1000;
    const std::uint32_t below[] = {0, 1, middle - 1, middle, middle + 1, middle * 2 - 1};
    x.at(i) = std::bit_cast<float>(std::bit_cast<std::uint32_t>(static_cast<float>(narrow[i / 6])) + below[i % 6]);
    d.at(i) = static_cast<double>(x(i)) * (1 + 0x1p-40);  // rounded to float first
  }
  check_cast<TestType>(x);
  check_cast<TestType>(d);
}

TEST_CASE("SW-17: float16 overflows inside a group as it does between groups") {
  array<float16> x(77);
  for (std::size_t i = 0; i < x.size(); ++i) x.at(i) = float16(static_cast<float>(i) * 8.f - 300.f);
  const auto fused = ebb::compile([](auto a) { return std::tuple{a * a / a, a * a * 0.25, (a + 65504.) - 65504., ebb::sqrt(a * a)}; })(x);
  const auto quotient = (x * x) / x, quarter = (x * x) * 0.25, difference = (x + 65504.) - 65504., root = ebb::sqrt(x * x);
  const auto f = [](float16 a) { return static_cast<float>(a); };
  int infinite = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float16 square(f(x(i)) * f(x(i))), sum(f(x(i)) + 65504.f);
    infinite += std::isinf(f(square));
    const float16 want[] = {float16(f(square) / f(x(i))), float16(f(square) * 0.25f), float16(f(sum) - 65504.f),
                            float16(std::sqrt(f(square)))};
    const float16 alone[] = {quotient(i), quarter(i), difference(i), root(i)};
    const float16 group[] = {std::get<0>(fused)(i), std::get<1>(fused)(i), std::get<2>(fused)(i), std::get<3>(fused)(i)};
    for (int k = 0; k < 4; ++k) {
      CAPTURE(i, k, f(want[k]), f(alone[k]), f(group[k]));
      CHECK(same(alone[k], want[k]));
      CHECK(same(group[k], want[k]));
    }
  }
  CHECK(infinite > 5);
}

TEST_CASE("SW-17: factors are not combined, so each product of a chain may overflow, and each product of its gradient") {
  const array<float16> x({float16(1.f), float16(.25f)});
  const auto y = ebb::compile([](auto a) { return a * 256. * 512. / 1024.; })(x);
  CHECK(std::isinf(static_cast<float>(y(0))));
  CHECK(static_cast<float>(y(1)) == 32.f);
  const auto quotient_first = ebb::grad([](auto a) { return ebb::sum(a * 256. * 512. / 1024.); })(x);
  CHECK(static_cast<float>(quotient_first(0)) == 128.f);
  const auto quotient_last = ebb::grad([](auto a) { return ebb::sum(a / 1024. * 512. * 256.); })(x);
  CHECK(std::isinf(static_cast<float>(quotient_last(0))));
}

TEMPLATE_TEST_CASE("every op of a group rounds", "", bfloat16, float16) {
  using T = TestType;
  const auto v = sample<T>(700);
  array<T> x(v.size()), y(v.size());
  for (std::size_t i = 0; i < v.size(); ++i) x.at(i) = v[i], y.at(i) = v[v.size() - 1 - i];
  const auto fused = ebb::compile([](auto a, auto b) { return ebb::tanh((a + b) * a - b) / (a * b + 1.); })(x, y);
  const auto f = [](T a) { return static_cast<float>(a); };
  int wrong = 0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    const T sum(f(x(i)) + f(y(i))), product(f(sum) * f(x(i))), difference(f(product) - f(y(i))), top(ebb::tanh(f(difference)));
    const T bottom(f(T(f(x(i)) * f(y(i)))) + 1.f);
    wrong += !same(fused(i), T(f(top) / f(bottom)));
  }
  CHECK(wrong == 0);
}

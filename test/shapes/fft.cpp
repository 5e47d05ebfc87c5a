// test/shapes/fft.cpp — rfft and irfft against sums in long double, for many lengths; derivatives, inverses, dtypes, errors.
// SPDX-License-Identifier: BSL-1.0
#include "../linalg/oracle.hpp"
#include "../same_bits.hpp"

#include <ebb/shapes.hpp>

namespace {

using ebb::dyn;
using linalg_test::numbers;
constexpr long double whole_turn = 6.28318530717958647692528676655900577L;

/// Element k of the transform: the real part, or the imaginary one.
long double transformed(const auto& x, std::size_t n, std::size_t k, bool imaginary) {
  long double sum = 0;
  for (std::size_t j = 0; j < n; ++j) {
    const long double angle = whole_turn * static_cast<long double>(j * k % n) / static_cast<long double>(n);
    sum += static_cast<long double>(x[j]) * (imaginary ? -std::sin(angle) : std::cos(angle));
  }
  return sum;
}
/// The bound that is documented, in units of the sum of all magnitudes.
long double bound_for(std::size_t n) {
  long double bound = 1;
  for (std::size_t p = 2; n > 1; n % p == 0 ? (n /= p, bound += 2 + (p > 4 ? static_cast<long double>(p) : 0)) : ++p) {}
  return bound;
}

TEMPLATE_TEST_CASE("rfft and irfft are the sums that define them, for every length", "", float, double) {
  using T = TestType;
  const auto forward = ebb::compile([](auto x) { return ebb::rfft(x); });
  for (const std::size_t n :
       std::vector<std::size_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 15, 16, 20, 25, 27, 32, 49, 60, 97, 210, 256, 1000}) {
    CAPTURE(n);
    const auto given = linalg_test::random_numbers(2 * n, n);
    ebb::tensor<T, dyn, dyn> x(2, n);
    for (std::size_t i = 0; i < 2 * n; ++i) x.mutable_data()[i] = static_cast<T>(given[i]);
    const auto [re, im] = forward(x);
    REQUIRE((re.extent(0) == 2 && re.extent(1) == n / 2 + 1 && im.size() == re.size()));
    for (std::size_t row = 0; row < 2; ++row) {
      long double size = 0;
      for (std::size_t j = 0; j < n; ++j) size += std::fabs(static_cast<long double>(x(row, j)));
      const long double allowed = bound_for(n) * std::numeric_limits<T>::epsilon() * size;
      const T* const from = x.data() + row * n;
      for (std::size_t k = 0; k <= n / 2; ++k) {
        CHECK(std::fabs(static_cast<long double>(re(row, k)) - transformed(from, n, k, false)) <= allowed);
        CHECK(std::fabs(static_cast<long double>(im(row, k)) - transformed(from, n, k, true)) <= allowed);
      }
    }
    if (n % 2 == 0) {
      const auto back = ebb::irfft(re, im);
      for (std::size_t i = 0; i < 2 * n; ++i)
        CHECK(std::fabs(back.data()[i] - x.data()[i]) <= 8 * bound_for(n) * std::numeric_limits<T>::epsilon());
    }
  }
}

TEST_CASE("rfft and irfft have PyTorch's recorded values and gradients") {
  const golden::bounds b{.value = 8, .grad = 16, .second = -1, .spread = true};
  const auto forward = [](auto x) { return ebb::rfft(x); };
  linalg_test::check_named<ebb::term<double, 8>>("ops2", "rfft", forward, {"re", "im"}, b);
  const auto back = [](auto re, auto im) { return ebb::irfft<8>(re, im); };
  linalg_test::check_recorded<ebb::term<double, dyn>, ebb::term<double, dyn>>("ops2", "irfft", back, b);
}

TEST_CASE("irfft of an odd length, and what it ignores") {
  const ebb::tensor<double, 5> x{1, -2, 0.5, 3, 0.25};
  const auto [re, im] = ebb::rfft(x);
  static_assert(std::is_same_v<std::remove_const_t<decltype(re)>, ebb::tensor<double, 3>>);
  const auto back = ebb::irfft<5>(re, im);
  for (std::size_t i = 0; i < 5; ++i) CHECK(back(i) == Approx(x(i)).margin(1e-15));
  const ebb::tensor<double, 3> a{2, 1, 4}, b{0, 1, 0}, other{7, 1, -5};
  CHECK(ebb::all_equal(ebb::irfft(a, b), ebb::irfft(a, other)));
  CHECK(ebb::all_equal(ebb::irfft(a, b), ebb::tensor<double, 4>{2, -1, 1, 0}));
  CHECK(ebb::all_equal(ebb::irfft<1>(ebb::tensor<double, 1>{3}, ebb::tensor<double, 1>{1}), ebb::tensor<double, 1>{3}));
}

TEST_CASE("derivatives of the transforms are those of sums, twice") {
  const auto f = [](auto x) {
    const auto [re, im] = ebb::rfft(x * x);
    const auto power = ebb::irfft<6>(re * re, im * re);
    return ebb::concat<0>(re, im, power);
  };
  const auto oracle = [](const std::vector<long double>& x) {
    std::vector<long double> square, re, im, power(6);
    for (const long double e : x) square.push_back(e * e);
    for (std::size_t k = 0; k < 4; ++k) re.push_back(transformed(square, 6, k, false)), im.push_back(transformed(square, 6, k, true));
    for (std::size_t j = 0; j < 6; ++j)
      for (std::size_t k = 0; k < 4; ++k) {
        const long double angle = whole_turn * static_cast<long double>(j * k % 6) / 6, weight = (k % 3 == 0 ? 1.0L : 2.0L) / 6;
        power[j] += weight * (re[k] * re[k] * std::cos(angle) - (k % 3 == 0 ? 0 : im[k] * re[k] * std::sin(angle)));
      }
    re.insert(re.end(), im.begin(), im.end());
    re.insert(re.end(), power.begin(), power.end());
    return re;
  };
  const numbers x = linalg_test::random_numbers(6, 3);
  linalg_test::against_differences<ebb::term<double, 6>>("static", f, x, linalg_test::extents_of({6}), oracle, 1e-9L, 1e-7L);
  linalg_test::against_differences<ebb::term<double, dyn>>("dyn", f, x, linalg_test::extents_of({6}), oracle, 1e-9L, 1e-7L);
}

TEST_CASE("transforms have the same bits compiled, in map, on the tape, and evaluated; narrow floats, contexts, empty batches, errors") {
  const auto f = [](auto x) {
    const auto [re, im] = ebb::rfft(x);
    return ebb::concat<-1>(re, im);
  };
  ebb::tensor<double, dyn, dyn> x(3, 30);
  const auto given = linalg_test::random_numbers(90, 9);
  for (std::size_t i = 0; i < 90; ++i) x.mutable_data()[i] = given[i];
  const auto once = ebb::compile(f)(x);
  CHECK(test::same_bits(once, ebb::compile([](auto a) { return ebb::map(decltype(f){}, a); })(x)));
  const ebb::graph g = ebb::lower(ebb::trace_of<decltype(f), ebb::term<double, dyn, dyn>>::make());
  const auto extents = linalg_test::extents_of({3, 30});
  CHECK((linalg_test::cells_of_results(once) == ebb::evaluate(g, {linalg_test::cells_of(given)}, ebb::symbol_values(g, {extents}))[0]));
  constexpr auto power = [](auto a) {
    const auto [re, im] = ebb::rfft(a);
    return ebb::sum(re * re + im * im);
  };
  const auto slope = ebb::grad(power)(x);
  const ebb::variable<double, dyn, dyn> leaf(x);
  constexpr auto region = ebb::compile(power);
  ebb::backward(region(leaf));
  CHECK(test::same_bits(leaf.grad().value(), slope));
  static_assert(std::get<0>(ebb::rfft(ebb::tensor<double, 4>{1, 2, 3, 4}))(0) == 10);
  CHECK(std::get<1>(ebb::rfft(ebb::tensor<float, dyn, dyn>(0, 7))).extent(1) == 4);
  static_assert(std::is_same_v<decltype(ebb::rfft(ebb::tensor<ebb::bfloat16, 6>())),
                               std::tuple<ebb::tensor<ebb::bfloat16, 4>, ebb::tensor<ebb::bfloat16, 4>>>);
  static_assert(std::is_same_v<decltype(ebb::irfft(ebb::tensor<int, 4>(), ebb::tensor<int, 4>())), ebb::tensor<float, 6>>);
  const auto low = ebb::under<ebb::autocast<ebb::bf16>>([](auto a) { return std::get<0>(ebb::rfft(a)); })(ebb::tensor<ebb::bfloat16, 6>());
  static_assert(std::is_same_v<std::remove_const_t<decltype(low)>, ebb::tensor<float, 4>>);
  const auto raised = test::raised([&] { static_cast<void>(ebb::irfft<5>(ebb::tensor<double, dyn>(4), ebb::tensor<double, dyn>(4))); });
  CHECK(test::says(raised, {"irfft", "[4]"}));
}

}  // namespace

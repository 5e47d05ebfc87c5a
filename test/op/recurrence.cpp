// test/op/recurrence.cpp — cumprod, cummax, cummin, logcumsumexp, linear_scan: recorded values, directions, derivatives, batches.
// SPDX-License-Identifier: BSL-1.0
// covers: recurrence.hpp kernel/recurrence.hpp
#include "golden.hpp"

#include "../linalg/oracle.hpp"
#include "../random_array.hpp"

#include <ebb/functional.hpp>
#include <ebb/graph/valid.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <type_traits>
#include <vector>

namespace {

using ebb::dyn;
using golden::of;
using golden::real;
using dyn_matrix = of<real, dyn, dyn>;

template <class... A, class F>
void recurs_as_recorded(const std::string& name, F, golden::bounds b) {
  const ebb::graph g = ebb::trace_of<F, A...>::make();
  REQUIRE_FALSE(ebb::first_error(g));
  golden::check_traced("ops2", name, "", g, b);
}

/// The places of running maxima, or minima, of rows by a loop.
template <bool Least, bool Reversed>
std::vector<std::int64_t> places_by_loop(const float* x, std::size_t rows, std::size_t length) {
  std::vector<std::int64_t> r(rows * length);
  for (std::size_t i = 0; i < rows; ++i) {
    float best = Least ? INFINITY : -INFINITY;
    std::size_t place = 0;
    for (std::size_t k = 0; k < length; ++k) {
      const std::size_t at = Reversed ? length - 1 - k : k;
      const float e = x[i * length + at];
      if (k == 0 || std::isnan(e) || (Least ? e <= best : e >= best)) best = e, place = at;
      r[i * length + at] = static_cast<std::int64_t>(place);
    }
  }
  return r;
}

TEST_CASE("places of running extrema are the same along axes of known and of unknown length, with NaN and ties") {
  constexpr std::size_t length = 37;
  const auto check = []<bool Least, bool Reversed>(std::bool_constant<Least>, std::bool_constant<Reversed>, auto places) {
    for (const std::size_t rows : {1u, 5u, 16u, 35u}) {
      CAPTURE(rows, Least, Reversed);
      auto numbers = ebb::cast<float>(ebb::round(3 * test::random_array<ebb::tensor<float, dyn, dyn>>(rows, rows, length)));
      std::vector<float> x(numbers.data(), numbers.data() + numbers.size());
      x[x.size() / 2] = NAN, x[x.size() - 3] = -0.0f;
      const auto want = places_by_loop<Least, Reversed>(x.data(), rows, length);
      const auto known = places(ebb::view<const float, dyn, length>(x.data(), rows));
      const auto unknown = places(ebb::view<const float, dyn, dyn>(x.data(), rows, length));
      CHECK(std::equal(want.begin(), want.end(), known.data()));
      CHECK(std::equal(want.begin(), want.end(), unknown.data()));
    }
  };
  using yes = std::true_type;
  using no = std::false_type;
  check(no(), no(), ebb::compile([](auto x) { return std::get<1>(ebb::cummax(x)); }));
  check(no(), yes(), ebb::compile([](auto x) { return std::get<1>(ebb::cummax(x, ebb::reversed)); }));
  check(yes(), no(), ebb::compile([](auto x) { return std::get<1>(ebb::cummin(x)); }));
  check(yes(), yes(), ebb::compile([](auto x) { return std::get<1>(ebb::cummin(x, ebb::reversed)); }));
}

TEST_CASE("running products, extrema and logarithms of sums give PyTorch's recorded values") {
  const golden::bounds rounded{.value = 4, .grad = 8, .second = 32, .spread = true};
  const golden::bounds exact{.value = 0, .grad = 1, .sign_is_open = true, .value_sign_is_open = true};
  const auto product_0 = [](auto x) { return ebb::cumprod<0>(x); };
  const auto product = [](auto x) { return ebb::cumprod(x); };
  const auto max_0 = [](auto x) { return std::get<0>(ebb::cummax<0>(x)); };
  const auto max_1 = [](auto x) { return std::get<0>(ebb::cummax<1>(x)); };
  const auto max = [](auto x) { return ebb::cummax(x); };
  const auto min_0 = [](auto x) { return std::get<0>(ebb::cummin<0>(x)); };
  const auto min_1 = [](auto x) { return std::get<0>(ebb::cummin<-1>(x)); };
  const auto min = [](auto x) { return ebb::cummin(x); };
  const auto log_0 = [](auto x) { return ebb::logcumsumexp<0>(x); };
  const auto log = [](auto x) { return ebb::logcumsumexp(x); };
  golden::check<of<real, 3, 4>>("reductions", "cumprod_axis_0", product_0, rounded);
  golden::check<dyn_matrix>("reductions", "cumprod_axis_1", product, rounded);
  golden::check<dyn_matrix>("reductions", "cumprod_zeros", product, rounded);
  golden::check<dyn_matrix>("reductions", "cumprod_ties", product, rounded);
  golden::check<of<real, 3, 4>>("reductions", "cummax_axis_0", max_0, exact);
  golden::check<dyn_matrix>("reductions", "cummin_axis_0", min_0, exact);
  golden::check<dyn_matrix>("reductions", "cummax_axis_1", max_1, exact);
  golden::check<dyn_matrix>("reductions", "cummin_axis_1", min_1, exact);
  for (const char* points : {"zeros", "ties", "nonfinite"}) {
    golden::check<dyn_matrix>("reductions", std::string("cummax_") + points, max, exact);
    golden::check<dyn_matrix>("reductions", std::string("cummin_") + points, min, exact);
  }
  golden::check<of<real, 3, 4>>("reductions", "logcumsumexp_axis_0", log_0, rounded);
  golden::check<dyn_matrix>("reductions", "logcumsumexp_axis_1", log, rounded);
  recurs_as_recorded<ebb::term<double, 4, 5>>("cumprod_zeros_second", product, rounded);
  recurs_as_recorded<ebb::term<double, dyn, dyn>>("cumprod", product, rounded);
  recurs_as_recorded<ebb::term<double, dyn, 5>>("cummax_ties", max, exact);
  recurs_as_recorded<ebb::term<double, dyn, dyn>>("cummin_ties", min, exact);
  recurs_as_recorded<ebb::term<double, 3, 5>>("logcumsumexp", log, {.value = 2, .grad = 8, .second = 8, .second_floor = 1, .spread = true});
  // Logarithms near 1000 are rounded to 1e-13: so exact are the weights in both libraries. At -inf PyTorch's derivative is NaN.
  const golden::bounds large{.value = 2, .grad = 4096, .sign_is_open = true, .nan_is_open = "grad"};
  recurs_as_recorded<ebb::term<double, dyn>>("logcumsumexp_large", log, large);
  const auto recurrence = [](auto a, auto b) { return ebb::linear_scan(a, b); };
  recurs_as_recorded<ebb::term<double, 2, 6>, ebb::term<double, 2, 6>>("linear_scan", recurrence, rounded);
  recurs_as_recorded<ebb::term<double, dyn, dyn>, ebb::term<double, dyn, dyn>>("linear_scan", recurrence, rounded);
}

using row_array = ebb::tensor<double, dyn>;

row_array reversed_row(const row_array& x) {
  row_array r(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) r.mutable_data()[i] = x(x.size() - 1 - i);
  return r;
}

/// The values and gradients of a function of one row in both directions: the reversed ones are the others on the row turned round.
template <class Forward, class Backward>
void turns_round(Forward forward, Backward backward, const row_array& x, double bound) {
  const auto near = [&](const row_array& a, const row_array& b) {
    for (std::size_t i = 0; i < x.size(); ++i) CHECK(std::fabs(a(i) - b(i)) <= bound * std::max(1.0, std::fabs(b(i))));
  };
  near(backward(x), reversed_row(forward(reversed_row(x))));
  constexpr auto slope_forward = ebb::grad([](auto v) { return ebb::sum(ebb::square(Forward{}(v))); });
  constexpr auto slope_backward = ebb::grad([](auto v) { return ebb::sum(ebb::square(Backward{}(v))); });
  near(slope_backward(x), reversed_row(slope_forward(reversed_row(x))));
}

TEST_CASE("reversed and exclusive scans, and their gradients, are those of the row turned round") {
  const row_array x{0.5, -2, 0, 1.5, 0, 3};
  turns_round([](auto v) { return ebb::cumprod(v); }, [](auto v) { return ebb::cumprod(v, ebb::reversed); }, x, 1e-15);
  turns_round([](auto v) { return ebb::cumprod(v, ebb::exclusive_scan); },
              [](auto v) { return ebb::cumprod(v, ebb::exclusive_scan, ebb::reversed); }, x, 1e-15);
  turns_round([](auto v) { return std::get<0>(ebb::cummax(v)); }, [](auto v) { return std::get<0>(ebb::cummax(v, ebb::reversed)); }, x, 0);
  turns_round([](auto v) { return ebb::logcumsumexp(v); }, [](auto v) { return ebb::logcumsumexp(v, ebb::reversed); }, x, 1e-14);
  turns_round([](auto v) { return ebb::linear_scan(v, v + 1); }, [](auto v) { return ebb::linear_scan(v, v + 1, ebb::reversed); }, x,
              1e-14);
  CHECK(ebb::all_equal(ebb::cumprod(row_array{2, 3, 4}, ebb::exclusive_scan), row_array{1, 2, 6}));
  CHECK(ebb::all_equal(std::get<1>(ebb::cummin(row_array{2, 1, 1, 3}, ebb::reversed)), ebb::tensor<std::int64_t, dyn>{1, 1, 2, 3}));
}

TEST_CASE("first and second derivatives of recurrences are those of central differences in long double") {
  using numbers = linalg_test::long_numbers;
  const auto compare = []<class Term>(std::type_identity<Term>, const char* name, auto f, const linalg_test::numbers& x,
                                      const ebb::extent_list& shape, const std::function<numbers(const numbers&)>& oracle) {
    linalg_test::against_differences<Term>(name, f, x, shape, oracle, 1e-10L, 1e-7L);
  };
  const linalg_test::numbers with_zeros{0.5, 0, -1.5, 2, 0, 0.75}, plain = linalg_test::random_numbers(12, 3);
  const auto row = linalg_test::extents_of({6}), pair = linalg_test::extents_of({2, 6});
  const std::type_identity<ebb::term<double, 6>> one;
  const std::type_identity<ebb::term<double, 2, 6>> two;
  compare(one, "cumprod, exclusive", [](auto x) { return ebb::cumprod(x, ebb::exclusive_scan); }, with_zeros, row, [](const numbers& x) {
    numbers r;
    long double product = 1;
    for (long double e : x) r.push_back(product), product *= e;
    return r;
  });
  compare(one, "cumprod, reversed", [](auto x) { return ebb::cumprod(x, ebb::reversed); }, with_zeros, row, [](const numbers& x) {
    numbers r = x;
    for (std::size_t i = 5; i-- > 0;) r[i] *= r[i + 1];
    return r;
  });
  compare(two, "logcumsumexp along axis 0, reversed", [](auto x) { return ebb::logcumsumexp<0>(x, ebb::reversed); }, plain, pair,
          [](const numbers& x) {
            numbers r = x;
            for (std::size_t i = 0; i < 6; ++i) r[i] = std::log(std::exp(x[i]) + std::exp(x[i + 6]));
            return r;
          });
  compare(two, "logcumsumexp", [](auto x) { return ebb::logcumsumexp(x); }, plain, pair, [](const numbers& x) {
    numbers r;
    long double sum = 0;
    for (std::size_t i = 0; i < 12; ++i) {
      sum = (i % 6 ? sum : 0) + std::exp(x[i]);
      r.push_back(std::log(sum));
    }
    return r;
  });
  compare(two, "linear_scan, reversed", [](auto x) { return ebb::linear_scan(ebb::select<0, 0>(x), ebb::select<0, 1>(x), ebb::reversed); },
          plain, pair, [](const numbers& x) {
            numbers r(x.begin() + 6, x.end());
            for (std::size_t i = 5; i-- > 0;) r[i] += x[i] * r[i + 1];
            return r;
          });
}

TEST_CASE("recurrences of batches, narrow floats, integers, empty arrays, infinities; in maps") {
  const auto a = test::random_array<ebb::tensor<double, dyn, dyn>>(1, std::size_t{11}, std::size_t{40});
  const auto b = test::random_array<ebb::tensor<double, dyn, dyn>>(2, std::size_t{11}, std::size_t{40});
  const auto y = ebb::linear_scan(a, b), z = ebb::linear_scan<0>(a, b), l = ebb::logcumsumexp(a * 30);
  const auto each = ebb::map([](auto u, auto v) { return ebb::linear_scan(u, v); }, a, b);
  CHECK(ebb::same_bits(each, y));
  for (std::size_t i = 0; i < 11; ++i) {
    double state = 0;
    long double sum = 0;
    for (std::size_t j = 0; j < 40; ++j) {
      state = j == 0 ? b(i, j) : a(i, j) * state + b(i, j);
      REQUIRE(y(i, j) == state);
      if (i > 0) REQUIRE(z(i, j) == a(i, j) * z(i - 1, j) + b(i, j));
      sum += std::exp(static_cast<long double>(a(i, j) * 30));
      REQUIRE(std::fabs(l(i, j) - std::log(sum)) < 1e-13L);
    }
  }
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const row_array odd = ebb::logcumsumexp(row_array{-inf, -inf, 1, inf, inf, 2});
  CHECK((odd(0) == -inf && odd(1) == -inf && odd(2) == 1 && odd(3) == inf && odd(4) == inf && odd(5) == inf));
  CHECK(std::isnan(ebb::logcumsumexp(row_array{1, nan, 2})(2)));
  constexpr auto slope = ebb::grad([](auto v) { return ebb::sum(ebb::logcumsumexp(v)); });
  CHECK(std::isfinite(slope(row_array{-inf, -inf, 1, 2})(0)));
  CHECK(ebb::all_equal(ebb::cumprod(ebb::tensor<int, 4>{1, 2, 3, 4}), ebb::tensor<std::int64_t, 4>{1, 2, 6, 24}));
  CHECK(std::get<0>(ebb::cummax(ebb::tensor<bool, 2>{false, true}))(1) == 1);
  CHECK(ebb::logcumsumexp(row_array(0)).size() == 0);
  CHECK(ebb::grad([](auto v) { return ebb::sum(ebb::cumprod(v) + ebb::linear_scan(v, v)); })(row_array(0)).size() == 0);
  const ebb::tensor<ebb::bf16, 300> ones = ebb::tensor<ebb::bf16, 300>::full(ebb::bf16(1.f));
  CHECK(ebb::linear_scan(ones, ones)(299) == ebb::bf16(300.f));  // a chain in bf16 would stay 256
  static_assert(ebb::linear_scan(0.5, ebb::tensor<double, 3>{1.0, 1.0, 1.0})(2) == 1.75);
}

/// f of many rows, with NaNs, infinities and equal elements, against f of each row alone.
template <class T>
void rows_are_alone(auto f) {
  constexpr std::size_t rows = 21, length = 37;
  constexpr T inf = std::numeric_limits<T>::infinity(), special[] = {inf, -inf, std::numeric_limits<T>::quiet_NaN(), T(0), -T(0), T(1)};
  std::mt19937_64 next(3);
  ebb::tensor<T, dyn, dyn> x(rows, length);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < length; ++j) {
      const T number = static_cast<T>(static_cast<int>(next() % 1601) - 800) / 64;
      x.mutable_data()[i * length + j] = next() % (4 * i + 5) == 0 ? special[next() % 6] : number;  // the first rows have many
    }
  const auto all = f(x);
  for (std::size_t i = 0; i < rows; ++i) {
    ebb::tensor<T, dyn> row(length);
    std::copy_n(x.data() + i * length, length, row.mutable_data());
    const auto alone = f(row);
    for (std::size_t j = 0; j < length; ++j) {
      CAPTURE(i, j, all(i, j), alone(j));
      const bool is_nan = alone(j) != alone(j);
      REQUIRE((is_nan ? all(i, j) != all(i, j) : std::memcmp(&all(i, j), &alone(j), sizeof(alone(j))) == 0));
    }
  }
}

TEST_CASE("rows that run side by side have the bits of each row alone") {
  const auto of = []<class T>(T) {
    rows_are_alone<T>([](const auto& x) { return ebb::cumsum(x); });
    rows_are_alone<T>([](const auto& x) { return ebb::cumprod(x, ebb::reversed); });
    rows_are_alone<T>([](const auto& x) { return std::get<0>(ebb::cummax(x)); });
    rows_are_alone<T>([](const auto& x) { return std::get<1>(ebb::cummax(x)); });
    rows_are_alone<T>([](const auto& x) { return std::get<0>(ebb::cummin(x, ebb::reversed)); });
    rows_are_alone<T>([](const auto& x) { return std::get<1>(ebb::cummin(x, ebb::reversed)); });
    rows_are_alone<T>([](const auto& x) { return ebb::logcumsumexp(x); });
    rows_are_alone<T>([](const auto& x) { return ebb::logcumsumexp(x, ebb::reversed); });
  };
  of(float{});
  of(double{});
}

}  // namespace

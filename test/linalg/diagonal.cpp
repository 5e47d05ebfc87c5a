// test/linalg/diagonal.cpp — trace, diagonal and diag_embed against recorded values, with extents that are known and unknown.
// SPDX-License-Identifier: BSL-1.0
// covers: diagonal.hpp
#include "oracle.hpp"

#include "../random_array.hpp"

#include <ebb/ebb.hpp>

namespace {

using namespace linalg_test;
using golden::of;
using golden::real;

TEST_CASE("diagonals have PyTorch's recorded values and gradients, static and dyn") {
  const golden::bounds exact{.value = 0, .grad = 0, .sign_is_open = true};
  const auto first = [](auto x) { return ebb::diagonal<1>(x); };
  const auto below = [](auto x) { return ebb::diagonal<-1>(x); };
  const auto embedded = [](auto x) { return ebb::diag_embed<-1>(x); };
  const auto trace = [](auto x) { return ebb::trace(x); };
  check_recorded<wide<4, 5>>("ops2", "diagonal_1", first, exact);
  check_recorded<wide<dyn, dyn>>("ops2", "diagonal_1", first, exact);
  check_recorded<wide<dyn, 5>>("ops2", "diagonal_-1", below, exact);
  check_recorded<wide<4, dyn>>("ops2", "diagonal_-1", below, exact);
  check_recorded<wide<4, 5>>("ops2", "diag_embed_-1", embedded, exact);
  check_recorded<wide<dyn, dyn>>("ops2", "diag_embed_-1", embedded, exact);
  check_recorded<wide<4, 5>>("ops2", "trace", trace, {.value = 2, .sign_is_open = true});
  check_recorded<wide<dyn, dyn>>("ops2", "trace", trace, {.value = 2, .sign_is_open = true});
  for (const char* size : {"2", "3", "5", "8"})
    golden::check<of<real, dyn, dyn>>("linear", std::string("trace_") + size, trace, {.value = 4, .value_floor = 1, .sign_is_open = true});
  golden::check<of<real, dyn, dyn>>("linear", "trace_rectangular", trace, {.value = 4, .value_floor = 1, .sign_is_open = true});
}

TEST_CASE("all diagonals of a batch are those of a loop, and diag_embed puts them back") {
  using matrices = ebb::tensor<float, 2, 3, 5>;
  const auto x = test::random_array<matrices>(1);
  const ebb::tensor<float, dyn, dyn, dyn> unknown(x);
  const auto check = [&]<int Offset>(std::integral_constant<int, Offset>) {
    CAPTURE(Offset);
    const auto d = ebb::diagonal<Offset>(x);
    const auto e = ebb::diagonal<Offset>(unknown);
    std::size_t length = 0;
    for (std::size_t b = 0; b < 2; ++b) {
      length = 0;
      for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t j = 0; j < 5; ++j) {
          if (static_cast<int>(j) - static_cast<int>(i) != Offset) continue;
          CHECK(d(b, length) == x(b, i, j));
          CHECK(e(b, length++) == x(b, i, j));
        }
    }
    CHECK(d.extent(1) == length);
    CHECK(e.extent(1) == length);
    const auto back = ebb::diag_embed<Offset>(d);
    const auto also = ebb::diag_embed<Offset>(e);
    const std::size_t n = length + static_cast<std::size_t>(Offset < 0 ? -Offset : Offset);
    REQUIRE(back.extent(2) == n);
    REQUIRE(also.extent(2) == n);
    for (std::size_t b = 0; b < 2; ++b)
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) {
          const bool on = static_cast<int>(j) - static_cast<int>(i) == Offset;
          const float want = on ? d(b, std::min(i, j)) : 0.0f;
          CHECK(back(b, i, j) == want);
          CHECK(also(b, i, j) == want);
        }
  };
  check(std::integral_constant<int, -3>{});
  check(std::integral_constant<int, -1>{});
  check(std::integral_constant<int, 0>{});
  check(std::integral_constant<int, 2>{});
  check(std::integral_constant<int, 5>{});
}

TEST_CASE("a diagonal that a call does not have is an error; NaN beside the diagonal has no effect; integers have a trace") {
  const ebb::tensor<double, dyn, dyn> x(2, 3);
  CHECK(test::says(test::raised([&] { ebb::diagonal<4>(x); }), {"ebb::diagonal<4>", "[2, 3]"}));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const ebb::tensor<double, 2, 2> y{{1.0, nan}, {nan, 2.0}};
  CHECK(ebb::trace(y) == 3);
  CHECK(ebb::trace(ebb::tensor<double, dyn, dyn>(y)) == 3);
  CHECK(ebb::trace(ebb::tensor<std::int64_t, 2, 2>{{1, 5}, {7, 2}}) == 3);
  static_assert(ebb::trace(ebb::tensor<double, 2, 2>{{1.0, 4.0}, {4.0, 2.0}}) == 3);
  // On the tape, plain and captured, and in a map.
  const auto start = test::random_array<ebb::tensor<double, 3, 3>>(5);
  for (const bool captured : {false, true}) {
    ebb::variable v(start);
    ebb::backward(ebb::sum(ebb::square(ebb::diagonal(v))) + ebb::trace(v), {.compiled_autograd = captured});
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 3; ++j) CHECK(v.grad().value()(i, j) == (i == j ? 2 * start(i, i) + 1 : 0));
  }
  const auto batch = test::random_array<ebb::tensor<double, 4, 3, 3>>(6);
  const auto mapped = ebb::compile([](auto b) { return ebb::map([](auto m) { return ebb::trace(m); }, b); })(batch);
  for (std::size_t b = 0; b < 4; ++b) CHECK(mapped(b) == ebb::trace(ebb::tensor<double, 3, 3>(batch.row(b))));
}

TEST_CASE("diagonals by other axes, and diag both ways, with first and second derivatives") {
  const auto x = test::random_array<ebb::tensor<double, 4, 2, 3>>(1);
  const ebb::tensor<double, dyn, dyn, dyn> unknown(x);
  const auto check = [&](const auto& y) {
    const auto d = ebb::diagonal<1, 0, -1>(y), e = ebb::diagonal<-1, 2, 0>(y);
    CHECK((d.extent(0) == 2 && d.extent(1) == 2 && e.extent(1) == 2));
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t k = 0; k < 2; ++k) CHECK((d(i, k) == x(k, i, k + 1) && e(i, k) == x(k, i, k + 1)));
  };
  check(x);
  check(unknown);
  const ebb::tensor<double, dyn> v{2, 3};
  const ebb::tensor<double, dyn, dyn> below{{0, 0, 0}, {2, 0, 0}, {0, 3, 0}};
  CHECK(ebb::all_equal(ebb::compile([](auto a) { return ebb::diag<-1>(a); })(v), below));
  CHECK(ebb::all_equal(ebb::diag<-1>(below), v));
  CHECK(ebb::diag(ebb::tensor<float, 0, 0>{}).size() == 0);
  const auto loss = [](auto a) { return ebb::sum(ebb::diag(ebb::diag(a * a))); };  // twice: back again
  CHECK(ebb::all_equal(ebb::grad(loss)(v), ebb::tensor<double, dyn>{4, 6}));
  CHECK(ebb::all_equal(ebb::hvp(loss)(v, v), ebb::tensor<double, dyn>{4, 6}));
}

TEST_CASE("traces have the first and second derivatives of sums of diagonals") {
  const auto f = [](auto x) { return ebb::square(ebb::trace(x * x * x)); };
  const auto oracle = [](const long_numbers& x) {
    long_numbers r;
    for (std::size_t i = 0; i < 12; i += 6) r.push_back(std::pow(std::pow(x[i], 3.0L) + std::pow(x[i + 4], 3.0L), 2.0L));
    return r;
  };
  against_differences<wide<2, 2, 3>>("static", f, random_numbers(12, 4), extents_of({2, 2, 3}), oracle, 1e-10L, 1e-6L);
  against_differences<wide<dyn, dyn, dyn>>("dyn", f, random_numbers(12, 4), extents_of({2, 2, 3}), oracle, 1e-10L, 1e-6L);
}

}  // namespace

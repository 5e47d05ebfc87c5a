// test/op/gamma.cpp — values and derivatives of lgamma, digamma and polygamma.
// SPDX-License-Identifier: BSL-1.0
#include "everywhere.hpp"
#include "golden.hpp"

namespace {

const auto unary = [](const char* name, auto f, golden::bounds b) { golden::check<golden::any_vector>("elementwise", name, f, b); };
const auto exact = [](const char* name, auto f, golden::bounds b) {
  golden::check_traced("ops2", name, "/float64", ebb::trace_of<decltype(f), ebb::term<double, ebb::dyn>>::make(), b);
};

constexpr auto lgamma = [](auto x) { return ebb::lgamma(x); };
constexpr auto digamma = [](auto x) { return ebb::digamma(x); };

// PyTorch's trigamma and tetragamma are up to 5e-10 off, and so are the derivatives made of them: the next test has exact ones. At -0.99,
// element 26, its digamma is 10 units in the last place off. Next to the zeros on the negative axis the error is absolute, in units of 1.
TEST_CASE("lgamma and digamma give PyTorch's recorded values") {
  unary("lgamma", lgamma, {.value = 4, .grad = 8, .second = -1, .grad_floor = 1, .value_floor = 1, .open_at = {26}});
  unary("digamma", digamma, {.value = 4, .grad = -1, .second = -1, .value_floor = 1});
}

TEST_CASE("lgamma, digamma and trigamma are exact, and so are their derivatives") {
  exact("lgamma", lgamma, {.value = 4, .grad = 4, .second = 8, .grad_floor = 1, .value_floor = 1});
  exact("digamma", digamma, {.value = 4, .grad = 8, .second = 8, .value_floor = 1});
  exact("trigamma", [](auto x) { return ebb::polygamma<1>(x); }, {.value = 8, .grad = 8, .second = 8});
}

TEST_CASE("each order of polygamma is the derivative of the order before") {
  const ebb::tensor<double, 5> x{0.3, 1.5, 4, 20, -2.25};
  CHECK(ebb::all_equal(ebb::digamma(x), ebb::polygamma<0>(x)));
  CHECK(ebb::all_equal(ebb::grad([](auto a) { return ebb::sum(ebb::lgamma(a)); })(x), ebb::digamma(x)));
  CHECK(ebb::all_equal(ebb::grad([](auto a) { return ebb::sum(ebb::digamma(a)); })(x), ebb::polygamma<1>(x)));
  CHECK(ebb::all_equal(ebb::grad([](auto a) { return ebb::sum(ebb::polygamma<1>(a)); })(x), ebb::polygamma<2>(x)));
  CHECK(ebb::all_equal(ebb::grad([](auto a) { return ebb::sum(ebb::polygamma<2>(a)); })(x), ebb::polygamma<3>(x)));
}

TEST_CASE("integers are computed in float, and numbers are constant expressions, in lgamma and its relatives") {
  CHECK(ebb::lgamma(ebb::tensor<int, 3>{1, 2, 5})(2) == Approx(std::log(24.f)).epsilon(1e-6));
  static_assert(ebb::lgamma(1.) == 0 && ebb::lgamma(2.f) == 0 && ebb::lgamma(3) - 0.6931471805599453 < 4e-16);
  static_assert(ebb::digamma(1.) + 0.5772156649015329 < 4e-16 && ebb::digamma(1.) + 0.5772156649015329 > -4e-16);
}

TEMPLATE_TEST_CASE("lgamma and digamma have the same bits in loops, in map, on the tape and captured", "", float, double) {
  using T = TestType;
  const std::vector<T> x{T(-12.5), T(-3.1), T(-0.8), T(-0.3), T(0.1), T(0.4), T(0.9), 2,       7,
                         T(1.4),   T(1.5),  5,       8,       1,      T(2.5), 30,     T(0.75), T(3.2)};
  test::check_everywhere<T>([](auto a) { return ebb::lgamma(a) * ebb::digamma(a); }, x);
  test::check_everywhere<T>([](auto a) { return ebb::polygamma<1>(a); }, x);
}

}  // namespace

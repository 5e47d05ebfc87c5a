// test/kernel/scalar_nest.cpp — nests of one element give the bits of lanes, in each element type, and read and write nothing else.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"

#include <ebb/ebb.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

namespace {

template <class T>
const T special[] = {T(0),
                     T(-0.0),
                     T(0.3),
                     T(-0.3),
                     T(0.99),
                     T(1),
                     T(-1),
                     T(1.5),
                     T(-2.5),
                     T(7),
                     T(-40),
                     T(1e-20),
                     T(3e4),
                     std::numeric_limits<T>::infinity(),
                     -std::numeric_limits<T>::infinity(),
                     std::numeric_limits<T>::quiet_NaN()};

constexpr auto formula = [](auto x, auto y) {
  const auto ratio = x / y;
  return std::tuple(ebb::ndtr(x) * ebb::exp(-y), ebb::log_ndtr(ratio), ebb::gelu(x - y), ebb::sqrt(x) + ebb::log(y),
                    ebb::where(x < y, ratio, ebb::tanh(x)), ebb::maximum(x, y) + ebb::minimum(x, 0.5), ebb::pow(x, y), ebb::lgamma(x));
};
/// f on numbers, and on arrays whose length is known at run time: one call for all pairs of special values.
template <class T>
void same_as_lanes(auto f) {
  std::vector<T> x, y;
  for (const T a : special<T>)
    for (const T b : special<T>) {
      x.push_back(a);
      y.push_back(b);
    }
  const ebb::tensor<T, ebb::dyn> left(x), right(y);
  const auto on_arrays = f(left, right);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto on_numbers = f(x[i], y[i]);
    [&]<std::size_t... R>(std::index_sequence<R...>) {
      const auto check = [&](T number, T element) {
        INFO(x[i] << ", " << y[i] << ": " << number << " and " << element);
        CHECK((ebb::to_cell(number) == ebb::to_cell(element) || (std::isnan(number) && std::isnan(element))));
      };
      (check(static_cast<T>(std::get<R>(on_numbers)), std::get<R>(on_arrays)(i)), ...);
    }(std::make_index_sequence<std::tuple_size_v<std::remove_cvref_t<decltype(on_numbers)>>>{});
  }
}

}  // namespace

TEST_CASE("a formula of numbers has the bits of the same formula on arrays") {
  same_as_lanes<float>(ebb::compile(formula));
  same_as_lanes<double>(ebb::compile(formula));
}

TEST_CASE("the same function of two numbers has the bits of two functions, whatever waits for which") {
  constexpr auto pairs = [](auto x, auto y) {
    const auto inner = ebb::exp(x), both = ebb::exp(inner - y) + ebb::exp(y);
    return std::tuple(both, ebb::log(x) - ebb::log(y), ebb::tanh(x) * ebb::tanh(x - y), ebb::sigmoid(ebb::log(x)) + ebb::sigmoid(y),
                      ebb::erfc(x) - ebb::erfc(y), ebb::log1p(ebb::exp2(y)) + ebb::log1p(x), ebb::sinh(x) + ebb::expm1(x) * ebb::expm1(y),
                      ebb::softplus(x) - ebb::softplus(y) * ebb::softplus(x + y));
  };
  same_as_lanes<float>(ebb::compile(pairs));
  same_as_lanes<double>(ebb::compile(pairs));
}

TEST_CASE("derivatives of numbers have the bits of those of arrays") {
  same_as_lanes<double>(
      ebb::grad<0, 1>([](auto x, auto y) { return ebb::sum(ebb::ndtr(x) * ebb::exp(-y) + ebb::log_ndtr(x / y) + ebb::gelu(x - y)); }));
}

TEST_CASE("integers, bools and narrow floats are values of such a nest, and an index is 0") {
  constexpr auto mixed = [](auto i, auto b, auto h, auto l) {
    const auto at_index = ebb::iota<0>(i);
    return std::tuple(ebb::where(b, i, i * 2), ebb::cast<double>(h) + 1.0, l - ebb::cast<std::int64_t>(i), !b, h * h,
                      ebb::cast<std::int64_t>(at_index) + l);
  };
  ebb::tensor<ebb::bf16, 1> h{ebb::bf16(1.5f)};
  const auto [w, d, l, n, s, at] = ebb::compile(mixed)(ebb::tensor<std::int32_t, 1>{-7}, ebb::tensor<bool, 1>{false}, h,
                                                       ebb::tensor<std::int64_t, 1>{std::int64_t{1} << 40});
  CHECK(w(0) == -14);
  CHECK(d(0) == 2.5);
  CHECK(l(0) == (std::int64_t{1} << 40) + 7);
  CHECK(n(0));
  CHECK(static_cast<float>(s(0)) == 2.25f);
  CHECK(at(0) == std::int64_t{1} << 40);
}

TEST_CASE("a nest of one element writes one element") {
  std::vector<double> x{1, 2, 3}, to{-1, -1, -1};
  ebb::compile([](auto a) { return ebb::ndtr(a) * 2.0; })(ebb::into(ebb::view<double, 1>(to.data() + 1)),
                                                          ebb::view<const double, 1>(x.data() + 1));
  CHECK(to == std::vector<double>{-1, ebb::lane::ndtr(2.0) * 2, -1});
}

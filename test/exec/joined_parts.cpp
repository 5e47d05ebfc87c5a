// test/exec/joined_parts.cpp — parts of arrays that are joined again, as users write them: each is copied once, from where it lies.
// SPDX-License-Identifier: BSL-1.0
// covers: plan/readers.hpp op/whole.hpp run.hpp
#include <ebb/ebb.hpp>
#include <ebb/explain.hpp>

#include "../catch.hpp"

#include <cmath>
#include <cstdint>
#include <string>

namespace {

using std::size_t;

constexpr auto exchanged = [](auto x) { return ebb::concat<1>(ebb::slice<1, 5, 12>(x), ebb::slice<1, 0, 5>(x)); };
constexpr auto rotated = [](auto x) {
  const auto [left, right] = ebb::chunk<1, 2>(x);
  return ebb::concat<1>(-right, left);
};
constexpr auto shifted = [](auto x) { return ebb::pad<1, 2, 0>(ebb::slice<1, 0, 10>(x)); };
constexpr auto in_three_axes = [](auto x) {  // rows along axis 1
  return ebb::concat<1>(ebb::slice<1, 2, 6>(x), ebb::slice<2, 0, 3>(ebb::slice<1, 0, 2>(ebb::concat<2>(x, x))));
};
constexpr auto flattened = [](auto x) {  // a reshape between the slice and the concat
  const auto part = ebb::reshape<ebb::dyn, 2, 3>(ebb::slice<1, 0, 6>(x));
  return ebb::concat<1>(part, part);
};

template <class T>
using rows_of_12 = ebb::tensor<T, ebb::dyn, 12>;
template <class T>
rows_of_12<T> rows(size_t n) {
  rows_of_12<T> x(n);
  for (size_t i = 0; i < x.size(); ++i) x.mutable_data()[i] = static_cast<T>(static_cast<float>(i % 120) - 60);
  return x;
}
/// Whether element (i, j) of y is `want(i, j)`.
template <class T>
bool is_by_element(const rows_of_12<T>& y, auto&& want) {
  for (size_t i = 0; i < y.extent(0); ++i)
    for (size_t j = 0; j < 12; ++j)
      if (!(y(i, j) == want(i, j))) return false;
  return true;
}

}  // namespace

TEMPLATE_TEST_CASE("slices that are joined are copied once", "", float, double, std::int32_t, ebb::bfloat16) {
  using T = TestType;
  constexpr auto exchange = ebb::compile(exchanged);
  constexpr auto rotate = ebb::compile(rotated);
  constexpr auto shift = ebb::compile(shifted);
  for (const size_t n : {0u, 1u, 3u, 200u}) {
    const rows_of_12<T> x = rows<T>(n);
    CHECK(is_by_element<T>(exchange(x), [&](size_t i, size_t j) { return x(i, (j + 5) % 12); }));
    CHECK(is_by_element<T>(rotate(x),
                           [&](size_t i, size_t j) { return j < 6 ? static_cast<T>(-static_cast<float>(x(i, j + 6))) : x(i, j - 6); }));
    CHECK(is_by_element<T>(shift(x), [&](size_t i, size_t j) { return j < 2 ? T(0) : x(i, j - 2); }));
  }
}

TEST_CASE("parts of parts along several axes, and reshaped ones, are joined") {
  const auto x = ebb::normal<float, 4, 6, 3>(1);
  const ebb::tensor<float, 4, 6, 3> y = ebb::compile(in_three_axes)(x);
  for (size_t i = 0; i < 4; ++i)
    for (size_t j = 0; j < 6; ++j)
      for (size_t k = 0; k < 3; ++k) CHECK(y(i, j, k) == x(i, (j + 2) % 6, k));
  const rows_of_12<float> given = rows<float>(7);
  const auto twice = ebb::compile(flattened)(given);
  REQUIRE(twice.extent(1) == 4);
  for (size_t i = 0; i < 7; ++i)
    for (size_t j = 0; j < 12; ++j) CHECK(twice.data()[i * 12 + j] == given(i, j % 6));
}

TEST_CASE("gradients of parts that are joined, in a region, captured, and by blocks of rows") {
  constexpr auto cost = [](auto x, auto w) { return ebb::sum(rotated(x) * w * x + exchanged(x) * shifted(w)); };
  const auto wanted = [](const rows_of_12<double>& x, const rows_of_12<double>& w, size_t i, size_t j) {
    const double by_rotated = j < 6 ? w(i, j + 6) * x(i, j + 6) : -w(i, j - 6) * x(i, j - 6);
    const double own = w(i, j) * (j < 6 ? -x(i, j + 6) : x(i, j - 6)), place = static_cast<double>((j + 7) % 12);
    return by_rotated + own + (place < 2 ? 0 : w(i, static_cast<size_t>(place) - 2));
  };
  for (const size_t n : {1u, 9u, 3000u}) {
    const rows_of_12<double> x = ebb::normal<double, ebb::dyn, 12>(2, n), w = ebb::normal<double, ebb::dyn, 12>(3, n);
    const rows_of_12<double> g = ebb::grad(cost)(x, w);
    const auto near = [&](const auto& y) {
      bool all = true;
      for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < 12; ++j) all = all && std::abs(y(i, j) - wanted(x, w, i, j)) < 1e-14;
      return all;
    };
    CHECK(near(g));
    ebb::variable tracked(x);
    ebb::compile(cost)(tracked, w).backward();
    CHECK(near(tracked.grad().value()));
    tracked.zero_grad();
    const ebb::compiled_autograd::enable scope;
    constexpr auto rest = ebb::compile([](auto r, auto e, auto of, auto by) { return ebb::sum(r * by * of + e * shifted(by)); });
    rest(ebb::compile(rotated)(tracked), ebb::compile(exchanged)(tracked), tracked, w).backward();
    CHECK(near(tracked.grad().value()));
  }
}

TEST_CASE("explain names one copy") {
  const std::string text = ebb::explain<rows_of_12<float>>(exchanged).text();
  CHECK(text.find("1 step,") == 0);
  CHECK(text.find("reads 48*n bytes: 2 parts of argument 0") != std::string::npos);
}

// test/trace/branches.hpp — functions for cond to choose from, arrays for them, and comparisons of results.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <ebb/functional.hpp>

#include "../build.hpp"
#include "../catch.hpp"

namespace test {

struct grown {
  constexpr auto operator()(auto x, auto w) const { return ebb::tanh(ebb::matmul(w, x)) * ebb::exp(x); }
};
struct shrunk {
  constexpr auto operator()(auto x, auto w) const { return ebb::sin(x) + ebb::matmul(w * w, x); }
};
struct bent {
  constexpr auto operator()(auto x, auto w) const { return ebb::cos(ebb::matmul(w, x)) - x * x; }
};
struct either {
  constexpr auto operator()(auto x, auto w) const { return ebb::cond(ebb::sum(x) > 0, grown{}, shrunk{}, x, w); }
};
struct one_of_three {
  constexpr auto operator()(auto i, auto x, auto w) const { return ebb::switch_<3>(i, grown{}, shrunk{}, bent{}, x, w); }
};
template <class F>
struct loss_of_branch {
  constexpr auto operator()(auto... a) const { return ebb::sum(ebb::square(F{}(a...))); }
};

template <class T, std::size_t... E>
ebb::tensor<T, E...> given(std::uint64_t seed, double low = -1, double high = 1) {
  ebb::tensor<T, E...> x;
  random r{seed};
  for (std::size_t i = 0; i < x.size(); ++i) x.mutable_data()[i] = static_cast<T>(r.between(low, high));
  return x;
}
void check_bits(const auto& a, const auto& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(ebb::to_cell(a.data()[i]) == ebb::to_cell(b.data()[i]));
}
void check_values(const auto& a, const auto& b, double relative = 1e-12) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a.data()[i] == Approx(b.data()[i]).epsilon(relative).margin(relative));
}

}  // namespace test

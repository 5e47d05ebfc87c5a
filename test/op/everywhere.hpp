// test/op/everywhere.hpp — checks that a function of an array has the same bits in a loop, in map, on the tape and captured.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../catch.hpp"
#include "../same_bits.hpp"

#include <ebb/ebb.hpp>

#include <vector>

namespace test {

template <class T>
using row = ebb::tensor<T, ebb::dyn>;

template <class F>
struct total_of {
  constexpr auto operator()(auto a) const { return ebb::sum(F{}(a)); }
};

/// No lambda inside of the check: each F would compile a sum of its own.
inline constexpr auto sum_of_elements = ebb::compile([](auto a) { return ebb::sum(a); });

/// Checks values and gradients of f: a function of one array that returns an array of the same extents.
template <class T, class F>
void check_everywhere(F f, const std::vector<T>& places) {
  row<T> x(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) x.at(i) = places[i];
  constexpr total_of<F> total;
  const row<T> values = ebb::compile(f)(x), slopes = ebb::grad(total)(x);

  // map with a row for each example, and with a number for each.
  CHECK(same_bits(values, row<T>(ebb::map(f, x))));
  CHECK(same_bits(slopes, row<T>(ebb::map(ebb::grad(f), x))));

  // An array without elements.
  CHECK(ebb::compile(f)(row<T>(0)).size() == 0);
  CHECK(ebb::grad(total)(row<T>(0)).size() == 0);

  // Two backwards on the tape, plain and captured.
  constexpr auto region = ebb::compile(F{});
  const auto walk = [&](bool captured) {
    const ebb::variable<T, ebb::dyn> leaf(x);
    ebb::grad_options options{.create_graph = true};
    options.compiled_autograd = captured;
    const ebb::variable<T, ebb::dyn> y = region(leaf), first = ebb::grad(sum_of_elements(y), ebb::wrt(leaf), options);
    const ebb::variable<T, ebb::dyn> second = ebb::grad(sum_of_elements(first), ebb::wrt(leaf), {.compiled_autograd = captured});
    return std::vector<row<T>>{y.value(), first.value(), second.value()};
  };
  const auto plain = walk(false), captured = walk(true);
  CHECK(same_bits(plain[0], values));
  CHECK(same_bits(plain[1], slopes));
  for (std::size_t i = 0; i < 3; ++i) CHECK(same_bits(plain[i], captured[i]));
}

}  // namespace test

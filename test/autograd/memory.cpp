// test/autograd/memory.cpp — the peak memory of a chain: the saved values and one value or gradient.
// SPDX-License-Identifier: BSL-1.0
// covers: segment_node.hpp destroy.hpp checkpoint.hpp
#include "allocations.hpp"

#include "../catch.hpp"

#include <ebb/ebb.hpp>

#include <algorithm>
#include <cmath>
#include <optional>

namespace {

using array = ebb::tensor<float, ebb::dyn>;
using var = ebb::variable<float, ebb::dyn>;

constexpr auto hyperbolic = ebb::compile([](auto x) { return ebb::tanh(x); });
constexpr auto scaled = ebb::compile([](auto x) { return x * 1.5; });
constexpr auto product = ebb::compile([](auto x, auto y) { return x * y; });
constexpr auto total = ebb::compile([](auto x) { return ebb::sum(x); });

constexpr int links = 10;

/// Checks memory in units of arrays of n elements.
void check_chain(std::size_t n, double tolerance) {
  ebb::keep_freed_memory(0);  // freed memory is returned at once
  const auto arrays = [&](std::ptrdiff_t bytes) { return static_cast<double>(bytes) / static_cast<double>(n * sizeof(float)); };
  const auto near = [&](std::ptrdiff_t bytes, double wanted) {
    INFO(n << " elements: " << arrays(bytes) << " arrays, " << wanted << " expected");
    CHECK(arrays(bytes) >= wanted - tolerance);
    CHECK(arrays(bytes) <= wanted + tolerance * std::max(wanted, 1.));
  };
  const var x(array::full(0.5f, n));
  std::optional<ebb::variable<float>> out;

  // Each tanh saves its result, each scaling nothing: its operand is freed once the next value exists.
  near(allocations::most_bytes_in([&] {
    var v = x;
    for (int i = 0; i < links; ++i) {
      v = hyperbolic(v);
      v = scaled(v);
    }
    out = total(v);
  }), links + 1);
  // The chain holds only its saved values. One gradient passes through all of it in one block, while the saved values are freed.
  const std::ptrdiff_t before = allocations::live_bytes;
  near(allocations::most_bytes_in([&] { ebb::backward(*out, {.retain_graph = true}); }), 1);
  near(allocations::live_bytes - before, 1);  // the gradient of x
  near(allocations::most_bytes_in([&] { out->backward(); }), 1);
  near(allocations::live_bytes - before, 1 - links);
  out.reset();

  // A product saves its operands, which other nodes save anyway: as handles, not copies.
  const var w(array::full(2, n));
  near(allocations::most_bytes_in([&] {
    var v = x;
    for (int i = 0; i < links; ++i) v = product(v, w);
    out = total(v);
  }), links);
  near(allocations::most_bytes_in([&] { out->backward(); }), 2);  // the gradient that passes on, and the sum for w
  out.reset();
  ebb::keep_freed_memory(ebb::detail::default_pool_limit);
}

}  // namespace

TEST_CASE("CA-124: a chain needs the memory of its saved values and one array, and a backward frees it on the way") {
  check_chain(test::is_only_compiled ? 2'000'000 : 10'000'000, 0.01);
  check_chain(20'000, 0.02);
}

TEST_CASE("SW-23: a checkpoint saves as much memory if the backward is captured") {
  constexpr std::size_t n = 50'000;
  ebb::keep_freed_memory(0);
  const auto body = [](const var& x, const var& w) {
    var v = x;
    for (int i = 0; i < links; ++i) v = hyperbolic(product(v, w));
    return v;
  };
  const auto most = [&](auto f, bool captured) {
    var x(array::full(0.5f, n)), w(array::full(0.9f, n));
    std::ptrdiff_t bytes = 0;
    for (int run = 0; run < 3; ++run) {  // the last run is a hit
      x.zero_grad();
      w.zero_grad();
      bytes = allocations::most_bytes_in([&] { ebb::backward(total(f(f(f(x, w), w), w)), {.compiled_autograd = captured}); });
    }
    return static_cast<double>(bytes) / (n * sizeof(float));
  };
  const auto again = ebb::checkpoint(body);
  const double kept = most(body, false), kept_captured = most(body, true), plain = most(again, false), captured = most(again, true);
  INFO("arrays: " << kept << ", captured " << kept_captured << ", with checkpoints " << plain << ", captured " << captured);
  CHECK(plain < 0.6 * kept);
  CHECK(captured < 0.6 * kept_captured);
  CHECK(std::abs(captured - plain) < 0.1);
  ebb::keep_freed_memory(ebb::detail::default_pool_limit);
}

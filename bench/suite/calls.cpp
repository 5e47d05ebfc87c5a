// bench/suite/calls.cpp — what a call costs beside its work: programs so small that hardly any work is left.
// SPDX-License-Identifier: BSL-1.0
#include "data.hpp"
#include "rows.hpp"

#include <ebb/ebb.hpp>

namespace suite {
namespace {

using ebb::into, ebb::lane_count, ebb::lanes;

constexpr auto twice = ebb::compile([](auto x) { return x * 2; });

[[gnu::noinline]] void twice_by(const float* x, float* y, std::size_t n) {
  using V = lanes<float>;
  std::size_t i = 0;
  for (; i + lane_count <= n; i += lane_count) (V::load(x + i) * V::all(2)).store(y + i);
  if (const int rest = static_cast<int>(n - i)) (V::load(x + i, rest) * V::all(2)).store(y + i, rest);
}

}  // namespace

void calls(session& s) {
  for (const std::size_t n : {std::size_t{16}, std::size_t{10}}) {
    const row r{"call", "float", n, 0, 0, 0};
    if (!s.wanted(r.key, r.type, n)) continue;
    generator g(54);
    const array<float> x(g, n, -1, 1);
    array<float> y(n);
    const std::span<const float> in(x);
    const std::span<float> out(y.data(), n);
    const auto by_ebb = [&] { twice(into(out), in); };
    const auto by = [&] { twice_by(x.data(), y.data(), n); };
    const auto by_plain = [&] { plain::twice(x.data(), y.data(), n); };
    std::vector<long double> want(n);
    for (std::size_t i = 0; i < n; ++i) want[i] = 2 * static_cast<long double>(x[i]);
    by_ebb();
    by();
    s.check(r, "ebb", "result", y.data(), want.data(), n, 0);
    s.check(r, "hand", "result", y.data(), want.data(), n, 0);
    s.measure(r, by_ebb, by, by_plain);
  }
  if (s.how == session::mode::count) return;
  std::printf("\nbeside its work a call takes, in ns:\n");
  for (const auto& x : s.results)
    if (x.of.n <= 16) std::printf("  %-6s %-6s n = %-4zu %6.1f\n", x.of.key, x.of.type, x.of.n, x.ebb - x.hand);
}

}  // namespace suite

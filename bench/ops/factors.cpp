// bench/ops/factors.cpp — savings by the target ebb::lapack: functions of large matrices without it and with it, on one thread.
// SPDX-License-Identifier: BSL-1.0
#include "factors.hpp"

#include "rows.hpp"
#include "session.hpp"

#include <random>

namespace {

template <class T>
void measure(ops::session& s, const ops::factor_row& row, std::size_t n, ops::matrix_kernel<T> without, ops::matrix_kernel<T> with) {
  std::mt19937 engine(5);
  std::uniform_real_distribution<> uniform(-1, 1);
  std::vector<T> a(n * n), b(n * n), out(3 * n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) a[i * n + j] = a[j * n + i] = static_cast<T>(i == j ? static_cast<double>(n) : uniform(engine));
  for (T& x : b) x = static_cast<T>(uniform(engine));
  without(a.data(), b.data(), out.data(), n, 1);
  const std::vector<T> first = out;
  std::vector<ops::candidate> all{{"ebb", [&] { without(a.data(), b.data(), out.data(), n, 1); }}};
  if (with) {
    with(a.data(), b.data(), out.data(), n, 1);
    s.check(row.name, "lapack", out.data(), first.data(), row.values_only ? n : out.size());
    all.push_back({"lapack", [&] { with(a.data(), b.data(), out.data(), n, 1); }});
  }
  s.measure(row.name + " " + std::to_string(n), "lapack", sizeof(T) == 4 ? "float" : "double", 1, all);
}

}  // namespace

void ops::factors(session& s) {
  const auto with = factors_by_lapack();
  const auto without = all_factors();
  for (std::size_t i = 0; i < without.size(); ++i) {
    if (!s.wanted(without[i].name) && s.only != "lapack") continue;
    for (const std::size_t n : without[i].sizes) {
      if (s.smoke && n > 64) continue;
      measure<float>(s, without[i], n, without[i].f, with.empty() ? nullptr : with[i].f);
      measure<double>(s, without[i], n, without[i].d, with.empty() ? nullptr : with[i].d);
    }
  }
}

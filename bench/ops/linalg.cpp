// bench/ops/linalg.cpp — matmul, solve and cholesky beside Eigen, OpenBLAS and LAPACKE.
// SPDX-License-Identifier: BSL-1.0
#include "linalg.hpp"

#include "rows.hpp"
#include "session.hpp"

#include <ebb/functional.hpp>

#include <random>

namespace {

template <class T>
using matrices = ebb::view<const T, ebb::dyn, ebb::dyn, ebb::dyn>;
template <class T>
using vectors = ebb::view<const T, ebb::dyn, ebb::dyn>;

template <class T>
void matmul(const T* a, const T* b, T* out, std::size_t n, std::size_t batch) {
  static constexpr auto f = ebb::compile([](auto x, auto y) { return ebb::matmul(x, y); });
  f(ebb::into(ebb::view<T, ebb::dyn, ebb::dyn, ebb::dyn>(out, batch, n, n)), matrices<T>(a, batch, n, n), matrices<T>(b, batch, n, n));
}
template <class T>
void solve(const T* a, const T* b, T* out, std::size_t n, std::size_t batch) {
  static constexpr auto f = ebb::compile([](auto x, auto y) { return ebb::solve(x, y); });
  f(ebb::into(ebb::view<T, ebb::dyn, ebb::dyn>(out, batch, n)), matrices<T>(a, batch, n, n), vectors<T>(b, batch, n));
}
template <class T>
void cholesky(const T* a, const T*, T* out, std::size_t n, std::size_t batch) {
  static constexpr auto f = ebb::compile([](auto x) { return ebb::cholesky(x); });
  f(ebb::into(ebb::view<T, ebb::dyn, ebb::dyn, ebb::dyn>(out, batch, n, n)), matrices<T>(a, batch, n, n));
}

template <class T>
void rows_of(ops::session& s, const char* name, ops::matrix_kernel<T> by_ebb, ops::matrix_kernel<T> ops::matrix_peer::* of_peer, std::size_t n,
             std::size_t batch) {
  const std::size_t one = n * n, size = one * batch;
  std::mt19937 engine(5);
  std::uniform_real_distribution<> uniform(-1, 1);
  std::vector<T> a(size), b(size);
  for (std::size_t k = 0; k < batch; ++k)
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j <= i; ++j)
        a[k * one + i * n + j] = a[k * one + j * n + i] = static_cast<T>(i == j ? static_cast<double>(n) : uniform(engine));
  for (T& x : b) x = static_cast<T>(uniform(engine));

  std::vector<std::vector<T>> outputs;
  std::vector<ops::candidate> all;
  const auto peers = ops::peers_of_linalg();
  outputs.reserve(peers.size() + 1);
  const auto take = [&](const std::string& who, ops::matrix_kernel<T> f) {
    std::vector<T>& to = outputs.emplace_back(size);
    all.push_back({who, [&, f] { f(a.data(), b.data(), to.data(), n, batch); }});
    all.back().run();
    if (outputs.size() > 1) s.check(name, who, to.data(), outputs[0].data(), size);
  };
  take("ebb", by_ebb);
  for (const ops::matrix_peer& p : peers)
    if (p.name == name) take(p.who, p.*of_peer);
  s.measure(std::string(name) + " " + std::to_string(n), batch == 1 ? "x 1" : "x 100", sizeof(T) == 4 ? "float" : "double",
            static_cast<double>(batch), all);
}

}  // namespace

void ops::linalg(session& s) {
  const auto all_sizes = [&](const char* name, matrix_kernel<float> f, matrix_kernel<double> d) {
    if (!s.wanted(name)) return;
    for (const std::size_t n : {4u, 16u, 64u, 256u})
      for (const std::size_t batch : {1u, 100u}) {
        if (n == 256 && batch > 1 && s.smoke) continue;
        rows_of<float>(s, name, f, &matrix_peer::f, n, batch);
        rows_of<double>(s, name, d, &matrix_peer::d, n, batch);
      }
  };
  all_sizes("matmul", &matmul<float>, &matmul<double>);
  all_sizes("solve", &solve<float>, &solve<double>);
  all_sizes("cholesky", &cholesky<float>, &cholesky<double>);
}

// bench/ops/matrices.hpp — rows of functions of one matrix of n x n, or of a batch of them.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "linalg.hpp"
#include "session.hpp"

#include <ebb/functional.hpp>

#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace ops {

/// For 4 x 4 the extents are known, as Eigen's are. The batch is not.
template <class T, std::size_t N>
using matrices = ebb::view<T, ebb::dyn, N, N>;
template <class T, std::size_t N>
using vectors = ebb::view<T, ebb::dyn, N>;

template <template <class, std::size_t> class View, std::size_t N, class T>
View<T, N> of(T* data, std::size_t n, std::size_t batch) {
  if constexpr (N != ebb::dyn) return View<T, N>(data, batch);
  else if constexpr (std::is_same_v<View<T, N>, vectors<T, N>>) return View<T, N>(data, batch, n);
  else return View<T, N>(data, batch, n, n);
}
/// Calls run with 4 or with dyn as a constant.
void with_extent(std::size_t n, auto run) {
  if (n == 4) run(std::integral_constant<std::size_t, 4>{});
  else run(std::integral_constant<std::size_t, ebb::dyn>{});
}

/// A row. The matrices a are symmetric with n on the diagonal.
template <class T>
void matrix_rows(session& s, const std::vector<matrix_peer>& peers, const char* name, matrix_kernel<T> by_ebb,
                 matrix_kernel<T> matrix_peer::* of_peer, std::size_t n, std::size_t batch) {
  const std::size_t one = n * n, size = one * batch;
  std::mt19937 engine(5);
  std::uniform_real_distribution<> uniform(-1, 1);
  std::vector<T> a(size), b(size);
  for (std::size_t k = 0; k < batch; ++k)
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j <= i; ++j)
        a[k * one + i * n + j] = a[k * one + j * n + i] = static_cast<T>(i == j ? static_cast<double>(n) : uniform(engine));
  for (T& x : b) x = static_cast<T>(uniform(engine));

  // Not all halves of these matrices are well conditioned: the first one is.
  const std::size_t checked = std::string_view(name).starts_with("lu ") ? one / 4 : 2 * size;
  std::vector<std::vector<T>> outputs;
  std::vector<candidate> all;
  outputs.reserve(peers.size() + 1);
  const auto take = [&](const std::string& who, matrix_kernel<T> f) {
    std::vector<T>& to = outputs.emplace_back(2 * size);
    all.push_back({who, [&, f] { f(a.data(), b.data(), to.data(), n, batch); }});
    all.back().run();
    if (outputs.size() > 1) s.check(name, who, to.data(), outputs[0].data(), checked);
  };
  take("ebb", by_ebb);
  for (const matrix_peer& p : peers)
    if (p.name == name) take(p.who, p.*of_peer);
  s.measure(std::string(name) + " " + std::to_string(n), batch == 1 ? "x 1" : "x 100", sizeof(T) == 4 ? "float" : "double",
            static_cast<double>(batch), all);
}

class matrices_of_all_sizes {
 public:
  matrices_of_all_sizes(session& s, std::vector<matrix_peer> peers) : s_(s), peers_(std::move(peers)) {}

  /// `most` is the largest n.
  void add(const char* name, matrix_kernel<float> f, matrix_kernel<double> d, std::size_t most = 256,
           const std::vector<std::size_t>& sizes = {4, 16, 64, 256}) const {
    if (!s_.wanted(name)) return;
    for (const std::size_t n : sizes)
      for (const std::size_t batch : {1u, 100u}) {
        if (n > most || (n == 256 && batch > 1 && s_.smoke)) continue;
        matrix_rows<float>(s_, peers_, name, f, &matrix_peer::f, n, batch);
        matrix_rows<double>(s_, peers_, name, d, &matrix_peer::d, n, batch);
      }
  }

 private:
  session& s_;
  std::vector<matrix_peer> peers_;
};

}  // namespace ops

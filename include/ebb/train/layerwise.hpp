// ebb/train/layerwise.hpp — rules that look at a parameter as a whole: lars, adafactor, and muon for matrices.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "sgd.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ebb::inline EBB_ABI {

namespace rule {

struct lars {
  static constexpr int states = 1;
  static constexpr const char* state_names[] = {"momentum_buffer"};
  constexpr auto operator()(auto p, auto g, auto v, auto lr, auto weight_decay, auto momentum, auto trust) const {
    const auto length = norm(p), steepness = norm(g);
    const auto ratio = where(length * steepness > 0, trust * length / where(steepness > 0, steepness + weight_decay * length, 1), 1);
    const auto next = momentum * v + lr * ratio * decayed(g, p, weight_decay);
    return std::tuple(p - next, next);
  }
};

/// The state of a matrix is the product of its row means and its column means, divided by the mean of all: these means are those of the
/// squares, so one array holds both.
struct adafactor {
  static constexpr int states = 1;
  static constexpr const char* state_names[] = {"variance"};
  template <class P, class G, class V>
  constexpr auto operator()(P p, G g, V v, auto rate, auto kept, auto share, auto least_size, auto most) const {
    using number = typename P::value_type;
    constexpr number eps = std::numeric_limits<number>::epsilon();
    const auto next = factored<P::extents_type::rank>(v + share * (g * g - v), eps);
    const auto move = g / sqrt(maximum(next, eps * eps));
    const auto size = sqrt(mean(p * p)), clip = maximum(sqrt(mean(move * move)) / most, 1);
    return std::tuple(kept * p - rate * maximum(size, least_size) / clip * move, next);
  }

 private:
  template <int Rank>
  static constexpr auto factored(auto squares, auto eps) {
    if constexpr (Rank < 2) return squares;
    else {
      const auto rows = mean<-1>(squares, keep_dims);
      const auto columns = mean<-2>(squares, keep_dims);
      return rows / maximum(mean<-2>(rows, keep_dims), eps) * columns;
    }
  }
};

struct muon {
  static constexpr int states = 1;
  static constexpr const char* state_names[] = {"momentum_buffer"};
  template <class P, class G, class M>
  constexpr auto operator()(P p, G g, M m, auto lr, auto kept, auto share, auto nesterov, auto eps, auto by_size) const {
    static_assert(P::extents_type::rank == 2, "[ebb E0454] ebb::muon is for matrices: give parameters of other ranks another optimizer");
    if constexpr (P::extents_type::rank != 2) return std::tuple(p, m);
    else {
      const auto next = m + share * (g - m);
      const auto move = if_set(nesterov, g + (1 - share) * (next - g), next);
      using number = typename P::value_type;
      const auto rows = full_like(lr, cast<number>(extent<0>(p))), columns = full_like(lr, cast<number>(extent<1>(p)));
      const auto scale = where(by_size != 0, 0.2 * sqrt(maximum(rows, columns)), sqrt(maximum(rows / columns, 1)));
      return std::tuple(kept * p - lr * scale * orthogonalized(move / maximum(norm(move), eps)), next);
    }
  }

 private:
  /// Five steps x = a x + (b s + c s^2) x with s = x x^T: singular values from 0.01 to 1 come between 0.68 and 1.14. If x is known to have
  /// more rows than columns, s is x^T x, and the factors change places.
  template <class X>
  static constexpr auto orthogonalized(X x) {
    constexpr std::size_t rows = detail::declared_extent<0>(typename X::extents_type{});
    constexpr std::size_t columns = detail::declared_extent<1>(typename X::extents_type{});
    constexpr bool is_tall = rows != dyn && columns != dyn && rows > columns;
    const auto step = [](auto y) {
      constexpr double a = 3.4445, b = -4.775, c = 2.0315;
      const auto other = transpose<1, 0>(y);
      if constexpr (is_tall) {
        const auto s = matmul(other, y);
        return a * y + matmul(y, b * s + c * matmul(s, s));
      } else {
        const auto s = matmul(y, other);
        return a * y + matmul(b * s + c * matmul(s, s), y);
      }
    };
    return step(step(step(step(step(x)))));
  }
};

}  // namespace rule

/// Momentum whose step is scaled to the norm of the parameter, for large batches, see [note: update rules]:
///   v = momentum * v + lr * trust * norm(p) / (norm(g) + weight_decay * norm(p)) * (g + weight_decay * p)      p -= v
/// The ratio with `trust` is 1 if one of the norms is 0.
/// Source: You, Gitman and Ginsburg, Large batch training of convolutional networks, 2017, arXiv:1708.03888, algorithm 1.
struct lars {
  double lr = 0.1;
  double momentum = 0.9;
  double weight_decay = 0;
  double trust = 1e-3;

  using update = rule::lars;
  std::array<double, 4> values(std::uint64_t) const { return {lr, weight_decay, momentum, trust}; }
  EBB_ONCE const char* problem() const {
    if (!(lr >= 0 && trust >= 0)) return "lars: lr and trust must not be negative";
    if (!(momentum >= 0 && weight_decay >= 0)) return "lars: momentum and weight_decay must not be negative";
    return nullptr;
  }
};

/// Steps relative to the parameter's size, divided by the root of a mean of squares that is a product of rows and columns, see [note:
/// update rules]. In step t, with s = t^decay:
///   V += s * (g * g - V)      V = (means of V's rows) * (means of its columns) / (mean of V); vectors keep V as it is
///   u = g / sqrt(V)           p = (1 - lr * weight_decay) * p - rate * u / max(1, size(u) / most)
/// where rate = min(lr, 1 / sqrt(t)) * max(size(p), least_size), and size is the root of the mean square. Arrays of more axes are
/// batches of matrices. The state is one array of the parameter's extents; PyTorch keeps a column and a row instead.
/// Source: Shazeer and Stern, Adafactor, ICML 2018, arXiv:1804.04235; the algorithm in PyTorch's documentation of torch.optim.Adafactor,
/// whose defaults these are: there least_size is the second eps, most is d, and decay is beta2_decay.
struct adafactor {
  double lr = 1e-2;
  double decay = -0.8;
  double least_size = 1e-3;
  double most = 1;
  double weight_decay = 0;

  using update = rule::adafactor;
  EBB_ONCE std::array<double, 5> values(std::uint64_t step) const {
    const auto t = static_cast<double>(step);
    return {std::min(lr, 1 / std::sqrt(t)), 1 - lr * weight_decay, std::pow(t, decay), least_size, most};
  }
  EBB_ONCE const char* problem() const {
    if (!(lr >= 0 && weight_decay >= 0 && least_size >= 0)) return "adafactor: lr, weight_decay and least_size must not be negative";
    if (!(decay <= 0)) return "adafactor: decay must not be positive";
    if (!(most > 0)) return "adafactor: most must be positive";
    return nullptr;
  }
};

/// A momentum made orthogonal, for matrices that are weights of hidden layers, see [note: update rules]:
///   m += (1 - momentum) * (g - m)      u = m, with nesterov g + momentum * (m - g)
///   p = (1 - lr * weight_decay) * p - lr * sqrt(max(1, rows / columns)) * orthogonal(u)
/// orthogonal takes five steps of an iteration by Newton and Schulz. They are computed in the parameter's dtype, 16-bit ones in float;
/// PyTorch takes bf16 always. With `as_adam` the factor is 0.2 * sqrt(max(rows, columns)), so that lr and weight_decay of AdamW fit.
/// Source: Jordan et al., Muon, 2024; Liu et al., 2025, arXiv:2502.16982, for as_adam; the algorithm in PyTorch's documentation of
/// torch.optim.Muon, whose defaults these are.
struct muon {
  double lr = 1e-3;
  double weight_decay = 0.1;
  double momentum = 0.95;
  bool nesterov = true;
  bool as_adam = false;
  double eps = 1e-7;

  using update = rule::muon;
  std::array<double, 6> values(std::uint64_t) const {
    return {lr, 1 - lr * weight_decay, 1 - momentum, nesterov ? 1.0 : 0.0, eps, as_adam ? 1.0 : 0.0};
  }
  EBB_ONCE const char* problem() const {
    if (!(lr >= 0 && weight_decay >= 0)) return "muon: lr and weight_decay must not be negative";
    if (!(momentum >= 0 && momentum < 1)) return "muon: momentum must be at least 0 and below 1";
    if (!(eps > 0)) return "muon: eps must be positive";
    return nullptr;
  }
};

}  // namespace ebb::inline EBB_ABI

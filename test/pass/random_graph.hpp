// test/pass/random_graph.hpp — small random graphs with special literals and redundant equations, so that passes find work.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../build.hpp"

#include <ebb/op/contract.hpp>
#include <ebb/op/exponential.hpp>
#include <ebb/op/extremum.hpp>
#include <ebb/op/power.hpp>
#include <ebb/op/reduce.hpp>
#include <ebb/op/shape.hpp>

namespace test {

/// A graph from a seed: elementwise ops, comparisons, casts, broadcasts, sums, reshapes, permutations, products; several results.
class random_graph_of {
 public:
  constexpr explicit random_graph_of(std::uint64_t seed, int steps = 24) : r_{seed * 7919 + 1} {
    const int arguments = 2 + r_.below(3);
    for (int i = 0; i < arguments; ++i) {
      if (r_.chance(2)) argument<float>();
      else argument<double>();
    }
    for (int i = 0; i < steps; ++i) step();
    // The results are the last values and one from anywhere, so that one equation may be a result twice.
    const int results = 1 + r_.below(3);
    for (int i = 0; i < results; ++i) b_.g.out.push(known_[known_.size() - 1 - r_.below(known_.size() < 4 ? known_.size() : 4)]);
    b_.g.out.push(known_[r_.below(known_.size())]);
  }
  constexpr graph take() const { return ebb::canonical_shapes(b_.g); }

 private:
  template <class T>
  constexpr void argument() {
    constexpr int extents[] = {n, n, 2, 3, 4, 1};
    switch (r_.below(4)) {
      case 0: keep(b_.in<T>({}).id); break;
      case 1: keep(b_.in<T>({extents[r_.below(6)]}).id); break;
      case 2: keep(b_.in<T>({extents[r_.below(6)], extents[r_.below(6)]}).id); break;
      default: keep(b_.in<T>({2, extents[r_.below(6)], 3}).id);
    }
  }
  constexpr void keep(int k) {
    if (k >= 0) known_.push(k);
  }
  constexpr int any() { return known_[r_.below(known_.size())]; }
  /// An equation of the dtype and shape of k; k itself if there is no other.
  constexpr int like(int k) {
    const int start = r_.below(known_.size());
    for (int i = 0; i < known_.size(); ++i) {
      const int other = known_[(start + i) % known_.size()];
      const bool fits = b_.g.op(other).result == b_.g.op(k).result && b_.g.eq[other].shape == b_.g.eq[k].shape;
      if (fits && (other != k || r_.chance(4))) return other;
    }
    return k;
  }

  constexpr void step() {
    const int k = any();
    ebb::with_dtype(b_.g.op(k).result, [&]<class T>(T) {
      if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) real(operand<T>{&b_.g, k});
      else if constexpr (std::is_same_v<T, bool>) boolean(operand<bool>{&b_.g, k});
      else if constexpr (std::is_same_v<T, ebb::bfloat16>) keep(ebb::cast_to<float>(operand<T>{&b_.g, k}).id);
    });
  }
  template <class T>
  constexpr void real(operand<T> x) {
    const operand<T> y{x.g, like(x.id)};
    constexpr double literals[] = {0.0, -0.0, 1.0, -1.0, 2.0, 0.5};
    const auto c = ebb::literal_like(x, literals[r_.below(6)]);
    switch (r_.below(24)) {
      case 0: return keep((x + y).id);
      case 1: return keep((x - y).id);
      case 2: return keep((x * y).id);
      case 3: return keep((x / y).id);
      case 4: case 5: return keep((-x).id);
      case 6: return keep((x + c).id);
      case 7: return keep((x * c).id);
      case 8: return keep((x - c).id);
      case 9: return keep((c * x).id);
      case 10: return keep(ebb::exp(x).id);
      case 11: return keep(ebb::tanh(x).id);
      case 12: return keep(ebb::abs(x).id);
      case 13: return keep(ebb::maximum(x, y).id);
      case 14: return keep(ebb::less(x, y).id);
      case 15: return keep(ebb::cast_to<std::conditional_t<std::is_same_v<T, float>, double, float>>(x).id);
      case 16: return keep(ebb::cast_to<ebb::bfloat16>(x).id);
      case 17: return broadcast(x);
      case 18: return reduce(x);
      case 19: return reshape(x);
      case 20: case 21: return permute(x);
      case 22: return product(x);
      default: return keep(c.id);
    }
  }
  constexpr void boolean(operand<bool> c) {
    if (r_.chance(2)) return keep(ebb::logical_not(c).id);
    for (int i = 0; i < 8; ++i) {
      const int k = any();
      if (b_.g.eq[k].shape != b_.g.eq[c.id].shape || b_.g.op(k).result == ebb::dtype::boolean) continue;
      return ebb::with_dtype(b_.g.op(k).result, [&]<class T>(T) {
        if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>)
          keep(ebb::emit_on<ebb::op::where>({}, c, operand<T>{&b_.g, k}, operand<T>{&b_.g, like(k)}).id);
      });
    }
  }

  template <class T>
  constexpr void broadcast(operand<T> x) {
    if (x.rank() > 2) return;
    const int axis = r_.below(x.rank() + 1);
    ebb::shape s;
    for (int i = 0; i <= x.rank(); ++i) {
      if (i == axis) s.push(2 + r_.below(2));
      if (i < x.rank()) s.push(x.extents().e[i]);
    }
    keep(ebb::broadcast_to(x, b_.g.intern(s), std::int64_t{1} << axis).id);
  }
  template <class T>
  constexpr void reduce(operand<T> x) {
    if (x.rank() == 0) return;
    const int first = r_.below(x.rank()), last = first + 1 + r_.below(x.rank() - first);
    if (r_.chance(4)) return keep(ebb::emit_on<ebb::op::max>({first, last}, x).id);
    keep(ebb::emit_on<ebb::op::sum>({first, last}, x).id);
  }
  template <class T>
  constexpr void reshape(operand<T> x) {
    ebb::shape s;
    if (x.rank() >= 2) {  // merge two axes
      s.push(b_.g.syms.derive(ebb::extent_rule::product, x.extents().e[0], x.extents().e[1]));
      for (int i = 2; i < x.rank(); ++i) s.push(x.extents().e[i]);
    } else {
      s = x.extents();
      s.push(1);
    }
    keep(ebb::reshape_to(x, b_.g.intern(s)).id);
  }
  template <class T>
  constexpr void permute(operand<T> x) {
    int axes[] = {0, 1, 2, 3, 4, 5, 6, 7};
    for (int i = x.rank() - 1; i > 0; --i) std::swap(axes[i], axes[r_.below(i + 1)]);
    keep(ebb::emit_on<ebb::op::permute>({ebb::pack_axes(axes, x.rank())}, x).id);
  }
  template <class T>
  constexpr void product(operand<T> x) {
    if (x.rank() != 2 && x.rank() != 3) return;
    int axes[] = {0, 1, 2};
    std::swap(axes[x.rank() - 2], axes[x.rank() - 1]);
    const auto turned = ebb::emit_on<ebb::op::permute>({ebb::pack_axes(axes, x.rank())}, x);
    switch (r_.below(4)) {
      case 0: return keep(ebb::emit_on<ebb::op::matmul>({}, x, turned).id);
      case 1: return keep(ebb::emit_on<ebb::op::matmul>({}, turned, x).id);
      case 2: return keep(ebb::emit_on<ebb::op::matmul>({ebb::left_transposed}, x, x).id);
      default: return keep(ebb::emit_on<ebb::op::matmul>({ebb::right_transposed}, turned, turned).id);
    }
  }

  builder b_;
  random r_;
  ebb::vec<int> known_;
};

constexpr graph random_graph(std::uint64_t seed) { return random_graph_of(seed).take(); }

}  // namespace test

// ebb/mpi/all_reduce.hpp — gradients of the functional interface, as mean or sum over all ranks.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "summation.hpp"

#include <cmath>

namespace ebb::inline EBB_ABI::mpi {

struct all_reduce_options {
  mpi::reduce reduce = mpi::reduce::mean;
  double weight = 0;           // of this rank, with reduce::weighted_mean: how many examples its batch had
  bool deterministic = false;  // see [note: a fixed tree over ranks]
  communicator among = {};
};

namespace detail {

template <class L>
inline constexpr bool has_own_elements = requires(L& l) { l.mutable_data(); } && !requires(L& l) { l.history(); };
template <class Leaf>
struct can_be_reduced : std::bool_constant<element<Leaf> || has_own_elements<Leaf> ||
                                           std::is_same_v<Leaf, ebb::detail::unknown_length>> {};

/// f(elements, how many) for each leaf of real numbers of one dtype.
template <class T>
void each_of_type(auto& x, auto&& f) {
  each_leaf([&]<class L>(L& l) {
    if constexpr (std::is_same_v<L, T>) f(&l, std::size_t{1});
    else if constexpr (!element<L>)
      if constexpr (std::is_same_v<typename L::value_type, T>) f(l.mutable_data(), l.size());
  }, x);
}
template <class T>
void reduce_type(auto& x, const channels& c, const all_reduce_options& o, double divisor) {
  std::size_t count = 0;
  each_of_type<T>(x, [&](T*, std::size_t n) { count += n; });
  if (count == 0) return;
  summation s(dtype_of<T>, count, o.deterministic, c.ranks);
  std::byte* at = s.data();
  each_of_type<T>(x, [&](const T* from, std::size_t n) {
    if (n) std::memcpy(at, from, n * sizeof(T));
    at += n * sizeof(T);
  });
  if (o.reduce == reduce::weighted_mean) change_elements(s.type(), s.data(), count, o.weight, false);
  s.send(c);
  s.is_done(true);
  s.combine(c);
  s.is_done(true);
  s.divide(divisor);
  at = s.data();
  each_of_type<T>(x, [&](T* to, std::size_t n) {
    if (n) std::memcpy(static_cast<void*>(to), at, n * sizeof(T));
    at += n * sizeof(T);
  });
}

/// The divisor of the sum.
inline double divisor_of(reduce how, double weight, const channels& c) {
  if (how == reduce::sum) return 1;
  if (how == reduce::mean) return c.ranks;
  double all = 0;
  check("MPI_Allreduce", MPI_Allreduce(&weight, &all, 1, MPI_DOUBLE, MPI_SUM, c.sums));
  return all;
}
/// Throws: error for what is no weight.
inline void require_weight(const char* call, double w) {
  if (!(w >= 0) || !std::isfinite(w)) raise(std::string(call) + ": a weight is a number of examples, 0 or more");
}

}  // namespace detail

/// Replaces gradients by their mean, sum or weighted mean over all ranks, which all call it: an array, a number, or a struct, tuple or
/// vector of them. Integers, whose gradients are zeros, stay as they are.
///   auto g = ebb::grad<0>(loss)(net, x, y);   ebb::mpi::all_reduce(g);
/// Dtype: float16 and bfloat16 are added in the fixed tree, each sum rounded.
/// Throws: error if the weights of all ranks are 0, or one is negative or not finite.
template <class X>
void all_reduce(X& gradients, const all_reduce_options& options = {}) {
  constexpr bool fits = ebb::detail::all_leaves<X, detail::can_be_reduced>;
  static_assert(fits, "[ebb E0342] ebb::mpi::all_reduce takes arrays and numbers, and structures of them: ebb::mpi::data_parallel "
                      "exchanges the gradients of variables");
  if constexpr (fits) {
    if (options.reduce == reduce::weighted_mean) detail::require_weight("ebb::mpi::all_reduce", options.weight);
    const detail::channels c(options.among);
    const double divisor = detail::divisor_of(options.reduce, options.weight, c);
    if (!(divisor > 0)) raise("ebb::mpi::all_reduce: the weights of all ranks are 0");
    detail::reduce_type<float>(gradients, c, options, divisor);
    detail::reduce_type<double>(gradients, c, options, divisor);
    detail::reduce_type<bfloat16>(gradients, c, options, divisor);
    detail::reduce_type<float16>(gradients, c, options, divisor);
  }
}

}  // namespace ebb::inline EBB_ABI::mpi

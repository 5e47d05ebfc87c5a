// ebb/mpi/broadcast.hpp — sends parameters, arrays, random keys and optimizers from one rank to all, and runs code on one rank alone.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "communicator.hpp"

#include "../autograd/parameters.hpp"
#include "../base/hash.hpp"
#include "../random/philox.hpp"
#include "../train/optimizer.hpp"

#include <algorithm>
#include <cstdint>
#include <sstream>

namespace ebb::inline EBB_ABI::mpi {

struct broadcast_options {
  int from = 0;  // whose values all get
  communicator among = {};
};

namespace detail {

inline void broadcast_bytes(void* bytes, std::size_t count, const broadcast_options& o) {
  constexpr std::size_t most = std::size_t{1} << 30;  // MPI counts with an int
  for (std::size_t at = 0; at < count; at += most)
    check("MPI_Bcast", MPI_Bcast(static_cast<char*>(bytes) + at, static_cast<int>(std::min(most, count - at)), MPI_BYTE, o.from,
                                 o.among.handle()));
}
/// Throws: error on a rank on which it is another number.
inline void require_same(const char* call, std::uint64_t number, const broadcast_options& o) {
  std::uint64_t theirs = number;
  broadcast_bytes(&theirs, sizeof theirs, o);
  if (theirs != number)
    raise(std::string(call) + ": rank " + std::to_string(o.among.rank()) + " has arrays of other dtypes, extents or number than rank " +
          std::to_string(o.from));
}

inline std::uint64_t add_to_hash(std::uint64_t hash, std::uint64_t number) { return (hash ^ number) * 1099511628211u ^ (hash >> 29); }

template <class L>
inline constexpr bool is_key = std::is_same_v<std::remove_cvref_t<L>, random_key>;
/// Whether an L is an array or a variable, which have elements to write.
template <class L>
inline constexpr bool has_elements = requires(std::remove_const_t<L>& l) { l.mutable_data(); };
template <class Leaf>
struct can_be_sent : std::bool_constant<is_key<Leaf> || element<Leaf> || has_elements<Leaf> ||
                                        std::is_same_v<Leaf, ebb::detail::unknown_length>> {};

/// f(bytes, count, hash of dtype and extents) for each leaf.
template <class X>
void each_block(X& x, auto&& f, bool writes) {
  each_leaf([&]<class L>(L& l) {
    if constexpr (is_key<L> || element<L>) f(&l, sizeof l, std::uint64_t{sizeof l});
    else {
      using T = typename L::value_type;
      std::uint64_t shape = static_cast<std::uint64_t>(dtype_of<T>) + 1;
      for (const std::size_t extent : l.layout().shape()) shape = add_to_hash(shape, extent);
      void* to = nullptr;
      if constexpr (requires { l.history(); }) {  // a handle: its leaf is written
        auto handle = l;
        if (writes) to = handle.mutable_data();
      } else if (writes) to = l.mutable_data();
      f(to, l.size() * sizeof(T), shape);
    }
  }, x);
}

}  // namespace detail

/// All ranks get the values of rank `from`. x is an array, a leaf variable, a number, an ebb::random_key, or a struct, tuple or vector of
/// such things. A key that is equal on all ranks gives equal numbers: key.fold_in(ebb::mpi::rank()) gives each rank its own.
/// Throws: error on a rank whose arrays have other dtypes, extents or number; nothing has changed there.
template <class X>
void broadcast(X& x, const broadcast_options& options = {}) {
  constexpr bool fits = ebb::detail::all_leaves<X, detail::can_be_sent>;
  static_assert(fits, "[ebb E0341] ebb::mpi::broadcast takes arrays, leaf variables, numbers and random keys, and structures of them");
  if constexpr (fits) {
    std::uint64_t shapes = 1;
    detail::each_block(x, [&](void*, std::size_t, std::uint64_t shape) { shapes = detail::add_to_hash(shapes, shape); }, false);
    detail::require_same("ebb::mpi::broadcast", shapes, options);
    detail::each_block(x, [&](void* to, std::size_t bytes, std::uint64_t) { detail::broadcast_bytes(to, bytes, options); }, true);
  }
}
/// The same for what an optimizer keeps of its parameters: its hyperparameters and the parameters are not sent.
template <class Rule>
void broadcast(optimizer<Rule>& opt, const broadcast_options& options = {}) {
  std::string bytes;
  const bool sends = options.among.rank() == options.from;
  if (sends) {
    std::ostringstream to;
    opt.save(to);
    bytes = to.str();
  }
  std::uint64_t count = bytes.size();
  detail::broadcast_bytes(&count, sizeof count, options);
  bytes.resize(static_cast<std::size_t>(count));
  detail::broadcast_bytes(bytes.data(), bytes.size(), options);
  if (sends) return;
  std::istringstream from(bytes);
  opt.load(from);
}

/// f() on rank 0 alone; all others wait until it is done: checkpoints are written like this, and read before a broadcast.
///   ebb::mpi::on_first([&] { opt.save("adam.state"); });
///   ebb::mpi::on_first([&] { opt.load("adam.state"); });   ebb::mpi::broadcast(opt);
template <class F>
void on_first(F&& f, const communicator& among = {}) {
  if (among.rank() == 0) f();
  detail::check("MPI_Barrier", MPI_Barrier(among.handle()));
}

}  // namespace ebb::inline EBB_ABI::mpi

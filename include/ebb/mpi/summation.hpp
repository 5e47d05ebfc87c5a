// ebb/mpi/summation.hpp — numbers of all ranks, added in the order of the MPI library or in a fixed tree; all_reduce for gradients.
// SPDX-License-Identifier: BSL-1.0
//
// [note: a fixed tree over ranks]
// MPI_Allreduce adds in an order that depends on the library, the number of bytes and the network. In deterministic mode the order is
//   sum(0 ... n-1) = sum(0 ... m-1) + sum(m ... n-1), where m is the largest power of two below n
//   four ranks: (0 + 1) + (2 + 3)     five: ((0 + 1) + (2 + 3)) + 4
// Ranks send each other their parts of the array (MPI_Ialltoall), each adds up its own part in this order, and all collect the sums
// (MPI_Iallgather): a reduce-scatter and an allgather. MPI moves bytes and adds nothing, so any library and network give the same bits.
// An allreduce sends as many bytes, 2 (n - 1) / n of the array; this one needs n - 1 messages a rank for each of its halves and twice the
// memory.
//
// The sum is divided at the end. So, bit for bit:
//   two ranks, each with a backward over its half of a batch = one process that runs two backwards, one for each half, without zero_grad
//     between them, and divides the sum by two
//   four ranks, with a quarter each = two ranks that run two backwards each = data_parallel with parts = 4 on one, two or four ranks
// A single backward over the whole batch is another sum: a product adds up rows in one chain, see [note: order of a product], and the
// rounding errors differ.
#pragma once

#include "communicator.hpp"

#include "../autograd/sum.hpp"
#include "../tensor/storage.hpp"
#include "../trace/form.hpp"

#include <climits>
#include <cstdint>
#include <cstring>
#include <thread>

namespace ebb::inline EBB_ABI::mpi {

/// The sum or mean that is made of the gradients g of n ranks.
enum class reduce : std::uint8_t {
  mean,           // sum(g) / n: of losses that are means over equally large batches
  sum,            // sum(g): of losses that are sums
  weighted_mean,  // sum(w * g) / sum(w): of losses that are means over batches of w examples
};

namespace detail {

/// All elements times a number, or divided by it; of 16 bits in float.
inline void change_elements(dtype type, void* x, std::size_t count, double by, bool divides) {
  const auto as = [&]<class T>(T) {
    using wide = std::conditional_t<sizeof(T) == 2, float, T>;
    const auto b = static_cast<wide>(by);
    T* const e = static_cast<T*>(x);
    for (std::size_t i = 0; i < count; ++i) {
      const auto v = static_cast<wide>(e[i]);
      e[i] = static_cast<T>(divides ? v / b : v * b);
    }
  };
  switch (type) {
    case dtype::f32: return as(float{});
    case dtype::f64: return as(double{});
    case dtype::bf16: return as(bfloat16{});
    default: return as(float16{});
  }
}

/// The communicators for collective calls. All ranks call one communicator in the same order, so sums and gathers need one each.
struct channels {
  MPI_Comm sums = MPI_COMM_NULL, gathers = MPI_COMM_NULL;
  int ranks = 1, rank = 0;

  channels() = default;
  /// For calls that are waited for one by one.
  explicit channels(const communicator& of) : sums(of.handle()), gathers(of.handle()), ranks(of.size()), rank(of.rank()) {}
};
/// Of its own: calls of the program's do not meet them, and errors return.
class own_channels : public channels {
 public:
  explicit own_channels(const communicator& of) : channels(of) {
    for (MPI_Comm* c : {&sums, &gathers}) {
      check("MPI_Comm_dup", MPI_Comm_dup(of.handle(), c));
      MPI_Comm_set_errhandler(*c, MPI_ERRORS_RETURN);
    }
  }
  own_channels(const own_channels&) = delete;
  own_channels& operator=(const own_channels&) = delete;
  /// Freeing is collective: not where a rank is thrown out of its work.
  ~own_channels() {
    if (std::uncaught_exceptions() > thrown_ || !is_running()) return;
    MPI_Comm_free(&sums);
    MPI_Comm_free(&gathers);
  }

 private:
  int thrown_ = std::uncaught_exceptions();
};

/// Whether the request is done; waits for it if asked to. MPI_Wait would hold its core for as long as it waits, and the rank that it waits
/// for may need that core.
inline bool is_done(MPI_Request& r, bool waits) {
  for (;;) {
    int done = 1;
    check("MPI_Test", MPI_Test(&r, &done, MPI_STATUS_IGNORE));
    if (done || !waits) return done != 0;
    std::this_thread::yield();
  }
}

/// The numbers of one array, of each rank, on their way to their sum.
class summation {
 public:
  /// MPI has no types of 16 bits: those are always added in the tree.
  summation(dtype type, std::size_t count, bool tree, int ranks) : type_(type), count_(count), tree_(tree || size_of(type) == 2) {
    constexpr std::size_t words = storage::alignment;
    const std::size_t bytes = count * size_of(type), n = static_cast<std::size_t>(ranks);
    part_ = ((bytes + n - 1) / n + words - 1) / words * words;
    const std::size_t sent = tree_ ? part_ / sizeof(std::uint64_t) : count;
    if (sent > INT_MAX) raise("ebb::mpi: an array of " + std::to_string(bytes) + " bytes is too large for one call of MPI");
    all_ = storage(tree_ ? part_ * n : bytes);
    if (tree_) arrived_ = storage(part_ * n);
    if (all_.bytes()) std::memset(all_.data(), 0, all_.bytes());
  }

  dtype type() const { return type_; }
  std::size_t count() const { return count_; }
  std::size_t bytes() const { return count_ * size_of(type_); }
  bool is_tree() const { return tree_; }
  /// The numbers of this rank before `send`, the sums after the end.
  std::byte* data() const { return all_.data(); }
  storage& block() { return all_; }

  void send(const channels& c) {
    if (c.ranks == 1 || count_ == 0) return;
    if (tree_) {
      const int words = static_cast<int>(part_ / sizeof(std::uint64_t));
      check("MPI_Ialltoall", MPI_Ialltoall(all_.data(), words, MPI_UINT64_T, arrived_.data(), words, MPI_UINT64_T, c.sums, &request_));
    } else {
      MPI_Datatype type = type_ == dtype::f64 ? MPI_DOUBLE : MPI_FLOAT;
      const int count = static_cast<int>(count_);
      check("MPI_Iallreduce", MPI_Iallreduce(MPI_IN_PLACE, all_.data(), count, type, MPI_SUM, c.sums, &request_));
    }
  }
  bool is_done(bool waits) { return detail::is_done(request_, waits); }
  /// Of a tree, when all parts have arrived: this rank adds up its own and sends the sum to all.
  void combine(const channels& c) {
    if (!tree_ || c.ranks == 1 || count_ == 0) return;
    const auto part = [&](int r) { return arrived_.data() + static_cast<std::size_t>(r) * part_; };
    for (int step = 1; step < c.ranks; step *= 2)
      for (int r = 0; r + step < c.ranks; r += 2 * step) ebb::detail::add_elements(type_, part(r), part(r + step), part(r), part_);
    std::memcpy(all_.data() + static_cast<std::size_t>(c.rank) * part_, part(0), part_);
    check("MPI_Iallgather", MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all_.data(), static_cast<int>(part_ / sizeof(std::uint64_t)),
                                           MPI_UINT64_T, c.gathers, &request_));
  }
  void divide(double by) {
    if (by != 1) change_elements(type_, all_.data(), count_, by, true);
  }

 private:
  dtype type_;
  std::size_t count_;
  bool tree_;
  std::size_t part_ = 0;   // bytes that each rank adds up
  storage all_, arrived_;  // n parts; of a tree: one part from each rank
  MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace detail
}  // namespace ebb::inline EBB_ABI::mpi

// examples/digits_mpi/cost.hpp — the cost of an exchange of gradients: a model of latency and bandwidth, and the two measured.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <ebb/mpi.hpp>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <vector>

/// Of one message between two ranks: seconds before its first byte, and seconds a byte.
struct network_cost {
  double latency = 0, a_byte = 0;
};

/// An exchange of so many bytes over n ranks, in buckets.
/// Deterministic: each rank sends n - 1 messages, receives as many, and sends its sums to n - 1 ranks. Else as MPICH's allreduce for long
/// arrays, recursive halving and doubling (R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in
/// MPICH", 2005): 2 log2(n) messages. Both send 2 (n - 1) / n of the bytes. Additions cost a byte read and written, which is left out.
inline double exchange_cost(const network_cost& c, double ranks, double bytes, double buckets, bool deterministic) {
  const double messages = deterministic ? 2 * (ranks - 1) : 2 * std::ceil(std::log2(ranks));
  return buckets * messages * c.latency + 2 * (ranks - 1) / ranks * bytes * c.a_byte;
}

inline double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// The shortest of some runs of f, in seconds a call. All ranks begin a run together.
inline double shortest(int runs, int calls, auto&& f) {
  double best = HUGE_VAL;
  for (int i = 0; i < runs; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = now();
    for (int j = 0; j < calls; ++j) f();
    best = std::min(best, (now() - start) / calls);
  }
  MPI_Allreduce(MPI_IN_PLACE, &best, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);  // the slowest rank's
  return best;
}

/// Messages to and fro between ranks 0 and 1.
inline network_cost measured_network() {
  const auto one_way = [](int bytes) {
    std::vector<char> data(static_cast<std::size_t>(bytes));
    return shortest(5, 20, [&] {
      if (const int rank = ebb::mpi::rank(); rank < 2) {
        for (int turn = 0; turn < 2; ++turn) {
          if (turn == rank) MPI_Send(data.data(), bytes, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD);
          else MPI_Recv(data.data(), bytes, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
      }
    }) / 2;
  };
  constexpr int large = 1 << 20;
  const double latency = one_way(8);
  return {latency, std::max(0.0, one_way(large) - latency) / large};
}

/// The model on a cluster that this program has not seen: 2 us and 12.5 GB/s (100 Gbit/s) between any two ranks, one rank a machine.
inline void print_paper() {
  constexpr network_cost cluster{2e-6, 1 / 12.5e9};
  struct network {
    const char* name;
    double bytes, buckets, backward;
  };
  std::printf("%-28s %6s %14s %14s %14s\n", "", "ranks", "backward (ms)", "allreduce (ms)", "tree (ms)");
  for (const network& n : {network{"digits, 38 KB, 2 buckets", 38.7e3, 2, 50e-6}, network{"100 MB, 96 buckets", 100e6, 96, 100e-3},
                           network{"100 MB, 4 buckets", 100e6, 4, 100e-3}})
    for (const int ranks : {2, 4, 64, 1024})
      std::printf("%-28s %6d %14.3f %14.3f %14.3f\n", n.name, ranks, n.backward * 1e3,
                  exchange_cost(cluster, ranks, n.bytes, n.buckets, false) * 1e3,
                  exchange_cost(cluster, ranks, n.bytes, n.buckets, true) * 1e3);
}

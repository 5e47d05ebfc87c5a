// ebb/profile/machine.hpp — the limits of this machine, measured once: bytes a second by working set, and operations a second.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "recorder.hpp"

#include "../kernel/lanes.hpp"
#include "../tensor/storage.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace ebb::inline EBB_ABI {

/// The limits of one core. Bytes a second: the better of reading a whole working set and of std::memcpy from one half to the other.
/// Operations a second: multiplications and additions of floats in registers, by fma where there is one. They are measured with this
/// program's flags: without optimization they are low.
/// Source: Williams, Waterman, Patterson, Roofline: an insightful visual performance model for multicore architectures, CACM 2009.
struct machine_limits {
  struct level {
    double bytes = 0;  // of the working set
    double bytes_per_second = 0;
  };
  std::array<level, 7> levels{};
  double operations_per_second = 0;

  /// The bandwidth for a working set of so many bytes: that of the smallest level that holds it.
  EBB_COLD double bytes_per_second(double bytes) const {
    for (const level& l : levels)
      if (bytes <= l.bytes) return l.bytes_per_second;
    return levels.back().bytes_per_second;
  }
};

/// The shortest time for the work of a row, in seconds: for its bytes at full bandwidth, and for its operations at full speed.
struct least_time {
  double moving = 0, computing = 0;
  double seconds() const { return std::max(moving, computing); }
};
EBB_COLD least_time least_time_of(const profile_row& r, const machine_limits& m) {
  const double bytes = r.work.read + r.work.written, calls = static_cast<double>(std::max<std::uint64_t>(r.calls, 1));
  return {bytes / m.bytes_per_second(bytes / calls), r.work.operations / m.operations_per_second};
}

namespace detail {

/// The shortest of several runs of f, in seconds.
EBB_COLD double shortest_run(int runs, auto&& f) {
  std::int64_t best = 0;
  for (int i = 0; i < runs; ++i) {
    const std::int64_t begin = nanoseconds_now();
    f();
    const std::int64_t time = std::max<std::int64_t>(nanoseconds_now() - begin, 1);
    best = i == 0 ? time : std::min(best, time);
  }
  return static_cast<double>(best) * 1e-9;
}
/// Eight chains, which hide the latency of fma. Each is a variable: g++ would leave an array of them in memory.
EBB_ONCE_APART float multiply_and_add(int rounds, float by) {
  using x = lanes<float>;
  const x half = x::all(by);
  x a = half, b = half, c = half, d = half, e = half, f = half, g = half, h = half;
  for (int r = 0; r < rounds; ++r) {
    a = x::fma(a, half, half), b = x::fma(b, half, half), c = x::fma(c, half, half), d = x::fma(d, half, half);
    e = x::fma(e, half, half), f = x::fma(f, half, half), g = x::fma(g, half, half), h = x::fma(h, half, half);
  }
  return (a + b + c + d + e + f + g + h)[0];
}
/// Reads `count` floats; count is a multiple of 8 * lane_count.
EBB_ONCE_APART float read_all(const float* p, std::size_t count) {
  using x = lanes<float>;
  constexpr std::size_t one = lane_count;
  x a = x::all(0), b = a, c = a, d = a, e = a, f = a, g = a, h = a;
  for (const float* const end = p + count; p != end; p += 8 * one) {
    a = a + x::load(p), b = b + x::load(p + one), c = c + x::load(p + 2 * one), d = d + x::load(p + 3 * one);
    e = e + x::load(p + 4 * one), f = f + x::load(p + 5 * one), g = g + x::load(p + 6 * one), h = h + x::load(p + 7 * one);
  }
  return (a + b + c + d + e + f + g + h)[0];
}
EBB_COLD machine_limits measured_limits() {
  machine_limits m;
  constexpr std::size_t smallest = 16384, all = smallest << 12;
  const storage memory(all);
  std::memset(memory.data(), 0, all);
  volatile float sink = 0;
  for (std::size_t i = 0; i < m.levels.size(); ++i) {
    const std::size_t bytes = smallest << (2 * i), times = std::max<std::size_t>((all >> 4) / bytes, 1);
    const double copying = shortest_run(5, [&] {
      for (std::size_t t = 0; t < times; ++t) {
        std::memcpy(memory.data() + bytes / 2, memory.data(), bytes / 2);
        sink = *reinterpret_cast<const float*>(memory.data() + bytes - sizeof(float));
      }
    });
    const double reading = shortest_run(5, [&] {
      for (std::size_t t = 0; t < times; ++t) sink = read_all(reinterpret_cast<const float*>(memory.data()), bytes / sizeof(float));
    });
    m.levels[i] = {static_cast<double>(bytes), static_cast<double>(bytes * times) / std::min(copying, reading)};
  }
  constexpr int rounds = 20000;
  volatile float by = 0.5f;
  const double seconds = shortest_run(10, [&] { sink = multiply_and_add(rounds, by); });
  m.operations_per_second = 2.0 * 8 * lane_count * rounds / seconds;
  static_cast<void>(sink);
  return m;
}

}  // namespace detail

}  // namespace ebb::inline EBB_ABI

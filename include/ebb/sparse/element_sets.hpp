// ebb/sparse/element_sets.hpp — a set of numbers for each element of an array, and which elements are always zero.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../base/config.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ebb::inline EBB_ABI {

namespace detail {

/// A set of numbers for each element of an array, each in rising order.
struct element_sets {
  std::vector<std::size_t> starts{0};
  std::vector<std::uint32_t> number;
  std::vector<char> zero;  // by element: whether it is zero in each call. Empty: none is
  constexpr std::size_t size() const { return starts.size() - 1; }
  constexpr const std::uint32_t* begin(std::size_t i) const { return number.data() + starts[i]; }
  constexpr const std::uint32_t* end(std::size_t i) const { return number.data() + starts[i + 1]; }
  constexpr bool is_zero(std::size_t i) const { return !zero.empty() && zero[i]; }
  constexpr bool says_nothing() const { return number.empty() && zero.empty(); }
  constexpr bool operator==(const element_sets&) const = default;

  /// Appends elements [first, first + count) of s.
  constexpr void append(const element_sets& s, std::size_t first, std::size_t count) {
    const std::size_t before = size(), from = s.starts[first];
    if (!zero.empty() || !s.zero.empty()) {
      zero.resize(before, 0);
      for (std::size_t i = first; i < first + count; ++i) zero.push_back(s.is_zero(i));
    }
    number.insert(number.end(), s.begin(first), s.number.data() + s.starts[first + count]);
    const std::size_t shift = starts.back();
    for (std::size_t i = first + 1; i <= first + count; ++i) starts.push_back(s.starts[i] - from + shift);
  }
  constexpr void append(const element_sets& s) { append(s, 0, s.size()); }
};

/// Empty sets for n elements.
constexpr element_sets empty_sets(std::size_t n, bool are_zero = false) {
  element_sets r;
  r.starts.assign(n + 1, 0);
  if (are_zero) r.zero.assign(n, 1);
  return r;
}

/// A set that is being united.
class united_set {
 public:
  constexpr void clear() { all_.clear(); }
  constexpr void add(const element_sets& s, std::size_t i) {
    const std::uint32_t *from = s.begin(i), *to = s.end(i);
    if (from == to || (static_cast<std::size_t>(to - from) == all_.size() && std::equal(from, to, all_.begin()))) return;
    sorted_ = all_.empty();
    all_.insert(all_.end(), from, to);
    if (all_.size() > limit_) sort();
  }
  constexpr void append_to(element_sets& s) {
    sort();
    s.number.insert(s.number.end(), all_.begin(), all_.end());
    s.starts.push_back(s.number.size());
  }
  /// n sets: unite(i) adds to set i. If it returns a bool, that says whether element i is always zero: then its set is empty.
  constexpr element_sets one_by_one(std::size_t n, auto&& unite) {
    element_sets r;
    r.starts.reserve(n + 1);
    bool any = false;
    for (std::size_t i = 0; i < n; ++i) {
      clear();
      if constexpr (requires { static_cast<bool>(unite(i)); }) {
        const bool zero = unite(i);
        if (zero && !any) r.zero.assign(n, 0);
        any = any || zero;
        if (zero) {
          r.zero[i] = 1;
          clear();
        }
      } else unite(i);
      append_to(r);
    }
    return r;
  }

 private:
  constexpr void sort() {
    if (!sorted_) {
      std::sort(all_.begin(), all_.end());
      all_.erase(std::unique(all_.begin(), all_.end()), all_.end());
    }
    sorted_ = true;
    limit_ = 4 * all_.size() + 1024;
  }
  std::vector<std::uint32_t> all_;
  bool sorted_ = true;
  std::size_t limit_ = 1024;
};

}  // namespace detail

}  // namespace ebb::inline EBB_ABI

// ebb/capture/cache.hpp — the captured backwards of a thread: few, the least recently used goes first.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "captured.hpp"

#include <algorithm>
#include <cstdint>

namespace ebb::inline EBB_ABI {

/// Found by a hash of the graph, then by comparing all of it. Who runs holds what it runs: it may be evicted meanwhile.
class capture_cache {
 public:
  static constexpr std::size_t default_limit = 256;

  /// Null if there is none. The pass then has not been touched.
  EBB_ONCE captured* find(backward_pass& pass, std::uint32_t hash) {
    if (last_ && last_hash_ == hash && last_->key().match(pass)) return last_;
    vec<slot>& list = lists_[hash % list_count];
    for (int i = 0; i < list.size(); ++i) {
      if (list[i].hash != hash || !list[i].of->key().match(pass)) continue;
      list[i].used = ++now_;
      if (i > 0) std::swap(list[i], list[0]);
      note_last(hash, list[0]);
      return last_;
    }
    return nullptr;
  }
  EBB_ONCE void add(std::uint32_t hash, counted<captured> c) {
    while (size_ > 0 && size_ >= limit_) evict();
    vec<slot>& list = lists_[hash % list_count];
    list.push({hash, ++now_, std::move(c)});
    ++size_;
    note_last(hash, list.back());
  }
  /// `c` stands for `old` from now on, if that is still there.
  EBB_ONCE void replace(std::uint32_t hash, const captured& old, const counted<captured>& c) {
    last_ = nullptr;
    for (slot& s : lists_[hash % list_count])
      if (s.of.get() == &old) return void(s.of = c);
    add(hash, c);
  }
  /// f(const captured&, when it was last used) for each: later ones have larger numbers.
  void each(auto&& f) const {
    for (const vec<slot>& list : lists_)
      for (const slot& s : list) f(*s.of, s.used);
  }
  std::size_t size() const { return size_; }
  EBB_ONCE void clear() {
    last_ = nullptr;
    for (vec<slot>& list : lists_) list = {};
    size_ = 0;
  }
  /// At least one.
  EBB_ONCE void set_limit(std::size_t limit) {
    limit_ = std::max<std::size_t>(limit, 1);
    while (size_ > limit_) evict();
  }

 private:
  struct slot {
    std::uint32_t hash = 0;
    std::uint64_t used = 0;
    counted<captured> of;
  };
  static constexpr std::size_t list_count = 256;

  EBB_ONCE void note_last(std::uint32_t hash, const slot& s) {
    last_ = s.of.get();
    last_hash_ = hash;
  }
  EBB_ONCE void evict() {
    last_ = nullptr;
    vec<slot>* list = nullptr;
    int oldest = 0;
    for (vec<slot>& l : lists_)
      for (int i = 0; i < l.size(); ++i)
        if (!list || l[i].used < (*list)[oldest].used) list = &l, oldest = i;
    const counted<captured> last = std::move((*list)[oldest].of);  // ends when the list is in order again
    if (oldest + 1 < list->size()) (*list)[oldest] = std::move(list->back());
    list->pop();
    --size_;
    detail::counting().evictions.fetch_add(1, std::memory_order_relaxed);
  }

  // The one that was used last, or null: most often it is the next one, too, and it is newer than all others already. What the way to it
  // through its list takes is memory that has long left the first cache: 4 % of a hit on three segments of 1,000 elements.
  captured* last_ = nullptr;
  std::uint32_t last_hash_ = 0;
  vec<slot> lists_[list_count];
  std::size_t size_ = 0, limit_ = default_limit;
  std::uint64_t now_ = 0;
};

/// Of this thread: captures need no lock.
inline capture_cache& this_cache() {
  static thread_local capture_cache c;
  return c;
}

}  // namespace ebb::inline EBB_ABI

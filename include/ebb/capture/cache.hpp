// ebb/capture/cache.hpp — captured backwards with key and plan, and those that a thread keeps: the least recently used goes first.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "plan.hpp"

#include "../autograd/counters.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

namespace ebb::inline EBB_ABI {

class captured final : public captured_backward {
 public:
  captured(recording r, bool merges) : recorded_(std::move(r)), plan_(recorded_, merges) {}
  /// A second plan of the same backward, which keeps what is known of its sizes.
  captured(const captured& other, bool merges) : sizes_(other.sizes_), recorded_(other.recorded_), plan_(recorded_, merges) {}

  const recording& recorded() const { return recorded_; }

  const backward_plan& plan() const { return plan_; }

  void run(backward_pass& pass) override { plan_.run(pass); }

  /// Counts it for unique_graphs: once since the counters were cleared. Only that first time takes a lock.
  EBB_ONCE void note() {
    const std::uint64_t now = detail::counting().clears.load(std::memory_order_relaxed);
    if (std::exchange(noted_, now) != now) detail::counting().note(number_);
  }

  /// Sizes are part of the structure until they change. Returns the numbers of those that have changed and were static so far.
  EBB_ONCE vec<int> note_sizes(const walk& w) {
    vec<int> changed;
    int number = 0;
    for (int i = 0; i < recorded_.nodes(); ++i) {
      const node& n = static_cast<const node&>(*w.at(i).at);
      for (int s = 0; s < n.program->symbols; ++s, ++number) {
        const std::size_t now = n.symbols()[s];
        if (number == sizes_.size()) sizes_.push({now, false});
        size& was = sizes_[number];
        if (was.value != now && !std::exchange(was.is_dynamic, true)) changed.push(static_cast<int>(number));
        was.value = now;
      }
    }
    return changed;
  }
  /// Numbers of sizes that have changed so far.
  EBB_ONCE vec<int> dynamic_sizes() const {
    vec<int> r;
    for (int i = 0; i < sizes_.size(); ++i)
      if (sizes_[i].is_dynamic) r.push(static_cast<int>(i));
    return r;
  }

 private:
  struct size {
    std::size_t value;
    bool is_dynamic;
  };
  // Not the address: another one may have it later.
  static std::uintptr_t next_number() {
    static std::atomic<std::uintptr_t> last{1};
    return last.fetch_add(2, std::memory_order_relaxed);
  }

  vec<size> sizes_;
  recording recorded_;
  backward_plan plan_;
  std::uintptr_t number_ = next_number();
  std::uint64_t noted_ = 0;
};

/// The captured backwards of one thread. One is found by a hash of the graph, then by comparing the whole graph. A caller that runs one
/// must own it: it may be evicted meanwhile.
class capture_cache {
 public:
  static constexpr std::size_t default_limit = 256;

  /// Null if there is none: the pass has not changed then.
  EBB_ONCE captured* find(backward_pass& pass, std::uint32_t hash) {
    if (last_ && last_hash_ == hash && last_->recorded().match(pass)) return last_;
    vec<slot>& list = lists_[hash % list_count];
    for (int i = 0; i < list.size(); ++i) {
      if (list[i].hash != hash || !list[i].of->recorded().match(pass)) continue;
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
  /// `c` replaces `old`, if that is still there.
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
  /// The limit is at least one.
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
    const counted<captured> last = std::move((*list)[oldest].of);  // destroyed once the list is in order again
    if (oldest + 1 < list->size()) (*list)[oldest] = std::move(list->back());
    list->pop();
    --size_;
    detail::counting().evictions.fetch_add(1, std::memory_order_relaxed);
  }

  // The one that was used last, or null. Most often it is the next one, too, and it is already newer than all others. Its list has long
  // left the first cache: to find it there takes 4 % of a hit on three segments of 1,000 elements.
  captured* last_ = nullptr;
  std::uint32_t last_hash_ = 0;
  vec<slot> lists_[list_count];
  std::size_t size_ = 0, limit_ = default_limit;
  std::uint64_t now_ = 0;
};

/// This thread's cache: captures need no lock.
inline capture_cache& this_cache() {
  static thread_local capture_cache c;
  return c;
}

}  // namespace ebb::inline EBB_ABI

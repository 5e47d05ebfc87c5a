// ebb/exec/ambient.hpp — the autocast context of a thread: scopes that set it, and what a region is told that does not know it.
// SPDX-License-Identifier: BSL-1.0
//
// [note: a scope selects, it does not change]
// A region's type knows the contexts that it may be called in; a scope only selects among them. Whether a context would change a region
// at all is a constant of its graph: only then is a call asked in which context it is, for the price of one look at a thread-local
// variable. A context that changes the region and that it does not declare is an error, never a silent fallback.
#pragma once

#include "../base/error.hpp"
#include "../base/settings.hpp"
#include "../graph/frozen.hpp"

#include <atomic>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

namespace ebb::inline EBB_ABI {

namespace detail {
inline constinit thread_local int thread_context = 0;
}

/// The number of this thread's autocast context, as number_of_context has it; 0: off.
EBB_INLINE int current_context() { return detail::thread_context; }
/// The dtype that autocast computes in, in this thread; nothing where it is off.
inline std::optional<dtype> current_autocast() {
  return current_context() ? std::optional(low_of_context(current_context())) : std::nullopt;
}

/// Sets this thread's context for its lifetime.
class context_switch {
 public:
  explicit context_switch(int number) : was_(std::exchange(detail::thread_context, number)) {}
  context_switch(const context_switch&) = delete;
  context_switch& operator=(const context_switch&) = delete;
  ~context_switch() { detail::thread_context = was_; }

 private:
  int was_;
};

/// While it lives, regions that this thread calls run in autocast<Low>: those that declare it, see ebb::ambient.
///   { ebb::autocast_scope<ebb::bf16> scope;  y = region(x, w); }
template <class Low>
struct autocast_scope : context_switch {
  autocast_scope() : context_switch(number_of_context<autocast<Low>>) { static_cast<void>(autocast<Low>{}); }
};
/// Inside such a scope: off again.
struct no_autocast_scope : context_switch {
  no_autocast_scope() : context_switch(0) {}
};

namespace detail {

/// The first op of a program that would compute in other dtypes in context `b` than in context `a`. Names only: a graph that is read at
/// run time would bring the functions of all its ops with it.
struct first_difference {
  std::string_view op = "a function of class `full`, or one that asks for the context,";
  dtype in_a = dtype::f32, in_b = dtype::f32;

  constexpr first_difference(const graph& g, int a, int b) {
    for (int k = 0; k < g.size(); ++k) {
      const precision p = g.op(k).autocast;
      const dtype d = g.op(k).operand;
      if ((p != precision::low && p != precision::full) || dtype_in_context(a, p, d) == dtype_in_context(b, p, d)) continue;
      op = g.op(k).name;
      in_a = dtype_in_context(a, p, d);
      in_b = dtype_in_context(b, p, d);
      return;
    }
  }
  std::string text() const {
    const std::string name(op);
    if (in_a == in_b) return name + " would compute otherwise";
    return name + " would compute in " + std::string(name_of(in_b)) + ", not in " + std::string(name_of(in_a));
  }
};

/// As a user writes it.
inline std::string context_text(int number) {
  return number == 0 ? "ebb::off" : "ebb::autocast<ebb::" + std::string(name_of(low_of_context(number))) + ">";
}

[[noreturn, gnu::cold, gnu::noinline]] inline void raise_undeclared(const char* call, const first_difference& first, int context) {
  const std::string name = context_text(context);
  raise(std::string(call) + ": called in " + name + ", which the function does not declare: " + first.text() +
        "; declare it, ebb::compile<ebb::ambient<ebb::off, " + name + ">>(f), or choose, ebb::under<" + name +
        ">(f) or ebb::no_autocast(f)");
}

/// G: the frozen program of a function that is called where it may meet a context.
template <class G>
EBB_INLINE void refuse_undeclared(const char* call) {
  if constexpr (G::g.asked.ever_differs()) {
    static constexpr first_difference first[] = {{G::g.thaw(), 0, 1}, {G::g.thaw(), 0, 2}};
    if (const int now = current_context(); now != 0 && G::g.asked.differs(0, now)) [[unlikely]]
      raise_undeclared(call, first[now - 1], now);
  }
}

/// "a matmul of f32 operands computes in f32, and would in bf16"
inline std::string what_differs(const casts_asked& asked, int assumed, int now) {
  for (int i = 0; i <= static_cast<int>(dtype::f64); ++i) {
    const auto d = static_cast<dtype>(i);
    const dtype is = dtype_in_context(assumed, precision::low, d), would_be = dtype_in_context(now, precision::low, d);
    if ((asked.low >> i & 1) && is != would_be)
      return "a matmul of " + std::string(name_of(d)) + " operands computes in " + std::string(name_of(is)) + ", and would in " +
             std::string(name_of(would_be));
  }
  return "a pull asks for the context";
}

/// What is wrong with calling the backward of `name` in context `now`, and what to do about it.
[[gnu::cold, gnu::noinline]] inline std::string mismatch_text(const char* name, const casts_assumed& assumed, int now) {
  std::string text = std::string("the backward of ") + name;
  if (assumed.contradictory()) {
    text += " holds products that were compiled for calls in ";
    for (int a = 0, count = 0; a < contexts; ++a)
      if (assumed.matters_if(a)) text += (count++ ? " and in " : "") + context_text(a);
    return text + ": no context is right for all of them. Give the regions in it one policy, or <ebb::as_recorded>, which assumes nothing";
  }
  const int a = assumed.wrong_in[now];
  return text + " was compiled for a call in " + context_text(a) + ", but is called in " + context_text(now) + ": there " +
         what_differs(assumed.asked[a], a, now) + ". Call backward in the other context, compile the region with " +
         "ebb::backward_pass_autocast<" + context_text(now) + ">, or with <ebb::as_recorded>, which assumes nothing";
}

/// Whether nobody has asked so for `what` before, in any thread.
inline bool is_first_time(const void* what) {
  struct entry {
    const void* what;
    const entry* next;
  };
  static std::atomic<const entry*> newest = nullptr;  // entries stay
  const entry *first = newest.load(std::memory_order_acquire), *known = nullptr;
  entry* own = nullptr;
  do {
    for (const entry* e = first; e != known; e = e->next)
      if (e->what == what) {
        delete own;
        return false;
      }
    if (!own) own = new entry{what, nullptr};
    own->next = known = first;
  } while (!newest.compare_exchange_weak(first, own, std::memory_order_acq_rel, std::memory_order_acquire));
  return true;
}

/// The backward of `name` is called in context `now`, and it matters that something else was assumed. A warning is given once.
[[gnu::cold, gnu::noinline]] inline void report_mismatch(const char* call, const char* name, const casts_assumed& assumed, int now) {
  const on_mismatch how = config().autocast_mismatch.load(std::memory_order_relaxed);
  if (how == on_mismatch::ignore || (how == on_mismatch::warn && !is_first_time(&assumed))) return;
  const std::string text = std::string(call) + ": " + mismatch_text(name, assumed, now);
  if (how == on_mismatch::error) raise(text);
  std::fprintf(stderr, "warning: %s\n", text.c_str());
}

/// G: the frozen program of a backward that is called by itself.
template <class G>
EBB_INLINE void refuse_mismatch(const char* call) {
  static constexpr casts_assumed assumed{G::g.asked_in_pulls};
  if constexpr (assumed.matters) {
    const int now = current_context();
    if (assumed.wrong_in[now] >= 0) [[unlikely]] report_mismatch(call, "a function", assumed, now);
  }
}

}  // namespace detail

}  // namespace ebb::inline EBB_ABI

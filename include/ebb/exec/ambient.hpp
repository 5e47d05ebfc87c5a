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
  autocast_scope() : context_switch(number_of_context<autocast<Low>>) { static_cast<void>(detail::refuse_dtype<autocast<Low>>{}); }
};
/// Inside such a scope: off again.
struct no_autocast_scope : context_switch {
  no_autocast_scope() : context_switch(0) {}
};

namespace detail {

/// As a user writes it.
inline std::string context_text(int number) {
  return number == 0 ? "ebb::off" : "ebb::autocast<ebb::" + std::string(name_of(low_of_context(number))) + ">";
}

/// Whether a program is a function together with derivatives of it.
template <class G>
inline constexpr bool holds_derivatives = true;

[[noreturn, gnu::cold, gnu::noinline]] inline void raise_undeclared(const char* call, const casts_asked& asked, int context,
                                                                      bool derivatives) {
  const std::string name = context_text(context), by(call);
  const auto first = asked.first_difference(0, context);
  std::string what = "a function that asks for the context would compute otherwise";
  if (!first.op.empty())
    what = std::string(first.op) + " would compute in " + std::string(name_of(dtype_in_context(context, first.under, first.operand))) +
           ", not in " + std::string(name_of(first.operand));
  const std::string f = derivatives ? by + "(f)" : "f";  // around all of it, so that pulls are inside, too
  raise(by + ": called in " + name + ", which the function does not declare: " + what +
        "; declare it, ebb::compile<ebb::ambient<ebb::off, " + name + ">>(f), or choose, ebb::under<" + name +
        ">(f) or ebb::no_autocast(" + f + ")");
}

/// G: the frozen program of a function that is called where it may meet a context.
template <class G>
EBB_INLINE void refuse_undeclared(const char* call) {
  static constexpr casts_asked asked = G::g.asked;
  if constexpr (asked.ever_differs())
    if (const int now = current_context(); now != 0 && asked.differs(0, now)) [[unlikely]]
      raise_undeclared(call, asked, now, holds_derivatives<G>);
}

/// "a matmul of f32 operands computes in f32, and would in bf16"
inline std::string what_differs(const casts_asked& asked, int assumed, int now) {
  const auto first = asked.first_difference(assumed, now);
  if (first.op.empty()) return "a pull asks for the context";
  const auto in = [&](int context) { return std::string(name_of(dtype_in_context(context, first.under, first.operand))); };
  return "a " + std::string(first.op) + " of " + std::string(name_of(first.operand)) + " operands computes in " + in(assumed) +
         ", and would in " + in(now);
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

/// G: the frozen program of a backward that is called by itself; Trace: its function.
template <class G, class Trace>
EBB_INLINE void refuse_mismatch(const char* call) {
  static constexpr casts_assumed assumed{G::g.asked_in_pulls};
  if constexpr (assumed.matters) {
    const int now = current_context();
    if (assumed.wrong_in[now] >= 0) [[unlikely]] report_mismatch(call, joined_names<Trace>.data(), assumed, now);
  }
}

}  // namespace detail

}  // namespace ebb::inline EBB_ABI

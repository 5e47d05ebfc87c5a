// ebb/autocast/scope.hpp — the autocast context of a thread: the scopes that set it, and the errors for regions that did not declare it.
// SPDX-License-Identifier: BSL-1.0
//
// [note: a scope selects, it does not change]
// A region's type knows the contexts that it may be called in; a scope only selects among them. Whether a context would change a region
// at all is a constant of its graph: only then is a call asked in which context it is, for the price of one look at a thread-local
// variable. A context that changes the region and that it does not declare is an error, never a silent fallback.
#pragma once

#include "questions.hpp"

#include "../base/error.hpp"
#include "../base/settings.hpp"

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
  EBB_SCOPE autocast_scope() : context_switch(number_of_context<autocast<Low>>) {
    static_cast<void>(detail::refuse_dtype<autocast<Low>>{});
  }
};
/// Inside such a scope: off again.
struct no_autocast_scope : context_switch {
  EBB_SCOPE no_autocast_scope() : context_switch(0) {}
};

namespace detail {

/// A context as a user writes it.
struct written_context {
  int number = 0;
  bool shares = false;

  EBB_COLD std::string text() const {
    if (number == 0) return "ebb::off";
    return "ebb::autocast<ebb::" + std::string(name_of(low_of_context(number))) + (shares ? ", ebb::shared_casts>" : ">");
  }
};
template <class C>
inline constexpr bool shares_casts = false;
template <class Low>
inline constexpr bool shares_casts<autocast<Low, shared_casts>> = true;
/// The contexts that a region declares.
template <class... C>
inline constexpr written_context declaration[] = {{number_of_context<C>, shares_casts<C>}...};

inline std::string context_text(int number) { return written_context{number}.text(); }

/// A function that is called, and the contexts that it declares.
struct called_function {
  const char* call;
  const char* name;
  const written_context* declared = declaration<off>;
  std::size_t count = 1;

  /// The declaration to write, with one more context; off comes first.
  EBB_ONCE std::string declared_with(int context) const {
    std::string text = context == 0 ? "ebb::off" : "";
    for (std::size_t i = 0; i < count; ++i) text += (text.empty() ? "" : ", ") + declared[i].text();
    return "ebb::compile<ebb::ambient<" + text + (context == 0 ? "" : ", " + context_text(context)) + ">>(f)";
  }
  std::string text() const { return std::string(call) + " of " + name; }
};
template <class Trace, class... C>
constexpr called_function declared_by(const char* call) {
  if constexpr (sizeof...(C) == 0) return {call, joined_names<Trace>.data()};
  else return {call, joined_names<Trace>.data(), declaration<C...>, sizeof...(C)};
}

/// Whether a program is a function together with derivatives of it.
template <class G>
inline constexpr bool holds_derivatives = true;

[[noreturn]] EBB_COLD void raise_undeclared(const called_function& f, const casts_asked& asked, int context,
                                            bool derivatives) {
  const std::string name = context_text(context);
  const auto first = asked.first_difference(0, context);
  std::string what = "a function that asks for the context would compute otherwise";
  if (!first.op.empty())
    what = std::string(first.op) + " would compute in " + std::string(name_of(dtype_in_context(context, first.under, first.operand))) +
           ", not in " + std::string(name_of(first.operand));
  const std::string around = derivatives ? std::string(f.call) + "(f)" : "f";  // all of it, so that pulls are inside, too
  raise(f.text() + ": called in " + name + ", which the function does not declare: " + what + "; declare it, " +
        f.declared_with(context) + ", or choose, ebb::under<" + name + ">(f) or ebb::no_autocast(" + around + ")");
}

/// Outside of all contexts, where a region does not declare that.
[[noreturn]] EBB_COLD void raise_off_undeclared(const called_function& f) {
  raise(f.text() + ": called outside of autocast, which the region does not declare; declare it, " + f.declared_with(0) +
        ", or call it in a scope of " + f.declared[0].text());
}

/// G: the frozen program of a function that is called where it may meet a context; Trace: the function.
template <class G, class Trace, class... C>
EBB_INLINE void refuse_undeclared(const char* call) {
  static constexpr casts_asked asked = G::g.casts.asked;
  if constexpr (asked.ever_differs())
    if (const int now = current_context(); now != 0 && asked.differs(0, now)) [[unlikely]]
      raise_undeclared(declared_by<Trace, C...>(call), asked, now, holds_derivatives<G>);
}

/// The first equation that would be another one; where it is none of the backward's own, since the forward computes the same and saves
/// it, the op and its operands.
EBB_COLD std::string what_differs(const casts_assumed& of, int assumed, int now) {
  if (const asked_equation* e = of.first_that_differs(now)) {
    const cast_question q = e->asked;
    const std::string line = "the first equation to differ is `" + to_string(e->equation) + '`';
    if (q.is_by_name()) return line + ", of a pull that asks for the context";
    return line + ", which computes in " + std::string(name_of(q.answer(q.context()))) + ", and would in " +
           std::string(name_of(q.answer(now)));
  }
  const auto first = of.asked[assumed].first_difference(assumed, now);
  if (first.op.empty()) return "a pull asks for the context";
  const auto in = [&](int context) { return std::string(name_of(dtype_in_context(context, first.under, first.operand))); };
  return "a " + std::string(first.op) + " of " + std::string(name_of(first.operand)) + " operands computes in " + in(assumed) +
         ", and would in " + in(now);
}

/// The error of calling the backward of `name` in context `now`, and how to mend it.
EBB_COLD std::string mismatch_text(const char* name, const casts_assumed& assumed, int now) {
  std::string text = std::string("the backward of ") + name;
  if (assumed.contradictory()) {
    text += " holds products that were compiled for calls in ";
    for (int a = 0, count = 0; a < contexts; ++a)
      if (assumed.matters_if(a)) text += (count++ ? " and in " : "") + context_text(a);
    return text + ": no context is right for all of them; in " + context_text(now) + ' ' +
           what_differs(assumed, assumed.wrong_in[now], now) + ". Give the regions in it one policy, or <ebb::as_recorded>, " +
           "which assumes nothing";
  }
  const int a = assumed.wrong_in[now];
  return text + " was compiled for a call in " + context_text(a) + ", but is called in " + context_text(now) + ": there " +
         what_differs(assumed, a, now) + ". Call backward in the other context, compile the region with " +
         "ebb::backward_pass_autocast<" + context_text(now) + ">, or with <ebb::as_recorded>, which assumes nothing";
}

/// Whether this is the first call with `what`, in any thread.
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
EBB_COLD void report_mismatch(const char* call, const char* name, const casts_assumed& assumed, int now) {
  const on_mismatch how = config().autocast_mismatch.load(std::memory_order_relaxed);
  if (how == on_mismatch::ignore || (how == on_mismatch::warn && !is_first_time(&assumed))) return;
  const std::string text = std::string(call) + ": " + mismatch_text(name, assumed, now);
  if (how == on_mismatch::error) raise(text);
  std::fprintf(stderr, "warning: %s\n", text.c_str());
}

/// G: the frozen program of a backward that is called by itself; Trace: its function.
template <class G, class Trace>
EBB_INLINE void refuse_mismatch(const char* call) {
  if constexpr (assumed_by<G>.matters) {
    static constexpr const casts_assumed& assumed = assumed_by<G>;
    const int now = current_context();
    if (assumed.wrong_in[now] >= 0) [[unlikely]] report_mismatch(call, joined_names<Trace>.data(), assumed, now);
  }
}

}  // namespace detail

}  // namespace ebb::inline EBB_ABI

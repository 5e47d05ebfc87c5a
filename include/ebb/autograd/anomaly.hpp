// ebb/autograd/anomaly.hpp — a backward that stops where a gradient becomes NaN, and says which node made it.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "hook_list.hpp"
#include "thread.hpp"

#include "../base/error.hpp"
#include "../num/dtype.hpp"

#include <string>

namespace ebb::inline EBB_ABI {

/// While it lives, backwards of this thread check each gradient that a node returns, and the gradients that leaves have already:
///   ebb::detect_anomaly scope;   loss.backward();
/// Gradients of functions, ebb::grad(f), have no nodes and no such mode: call f with variables to look for a NaN.
/// Throws, in a backward: error if one of them holds a NaN; before anything has run if it is a leaf's. See [note: state after a throw].
class detect_anomaly {
 public:
  EBB_SCOPE explicit detect_anomaly(bool on = true) : was_(std::exchange(this_tape().checks, on)) {}
  detect_anomaly(const detect_anomaly&) = delete;
  detect_anomaly& operator=(const detect_anomaly&) = delete;
  ~detect_anomaly() { this_tape().checks = was_; }

 private:
  bool was_;
};

namespace detail {

EBB_ONCE bool holds_nan(dtype type, const gradient& g) {
  if (!g.defined) return false;
  return with_dtype(type, [&]<class T>(T) {
    bool nan = false;
    if constexpr (real_element<T>) {
      const T* const x = reinterpret_cast<const T*>(g.value.data());
      for (std::size_t i = 0; i < g.value.bytes() / sizeof(T); ++i) {
        const auto wide = static_cast<std::conditional_t<sizeof(T) == 8, double, float>>(x[i]);
        nan |= wide != wide;
      }
    }
    return nan;
  });
}

/// The usual cause of a NaN that a node with `where` returns.
EBB_ONCE std::string advice_on(const std::string& node) {
  if (node.find("where") == node.npos) return {};
  return "; what `where` does not select gets 0 times its derivative, which is NaN if that is infinite: "
         "write where(c, f(where(c, x, 1)), y) for where(c, f(x), y)";
}
/// Throws: error if n has returned a NaN for any of its operands.
EBB_COLD void refuse_nan_from(const char* call, const node& n, const gradient* out) {
  for (int j = 0; j < n.program->edges; ++j)
    if (const edge e = n.edges()[j]; e.to && holds_nan(dtype_at(*e.to, e.output), out[j]))
      raise(std::string(call) + ": " + name_of(n) + " returned NaN as gradient " + std::to_string(j) + ", which goes to " + name_of(*e.to) +
            advice_on(name_of(n)));
}
/// Throws: error if the leaf's gradient, or the arriving gradient after its hooks, holds a NaN.
EBB_COLD void refuse_nan_at(const char* call, const leaf& l, const gradient& g, const char* when) {
  if (holds_nan(l.gradient_type, g)) raise(std::string(call) + ": the gradient of " + name_of(l) + when);
}

}  // namespace detail

}  // namespace ebb::inline EBB_ABI

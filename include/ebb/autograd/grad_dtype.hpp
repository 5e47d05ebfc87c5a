// ebb/autograd/grad_dtype.hpp — a leaf of 16 bits whose gradient is float.
// SPDX-License-Identifier: BSL-1.0
//
// [note: gradients of another dtype]
// A leaf of 16 bits may have its gradient in float. The engine then converts each part when it arrives from a node. Everything after that
// is float: the sum with other parts of this backward, the leaf's tensor hooks and the hooks of its accumulation, the sum with the gradient
// that the leaf has, update rules. Post-hooks of nodes see the results of their node, in the dtype of its operand. ebb::grad returns
// variables of wrt's type: it rounds the float sum once, at the end. 300 backwards of 1 give 256 in bfloat16 and 300 in float.
// Source: PyTorch's Tensor.grad_dtype (2.13; pull request 162815). Its engine, too, converts after the node that returns a gradient, then
// adds and calls hooks, and it refuses grad_dtype for results and next to a gradient of another dtype. Its None (any dtype) does not exist
// here: the types of nodes fix the dtype.
#pragma once

#include "hook_list.hpp"
#include "thread.hpp"

#include "../base/error.hpp"

#include <string>

namespace ebb::inline EBB_ABI {

/// Names the dtype of a leaf's gradient: ebb::variable w(x, ebb::grad_dtype<float>), w.set_grad_dtype(ebb::grad_dtype<float>).
template <class G>
struct grad_dtype_of {};
template <class G>
inline constexpr grad_dtype_of<G> grad_dtype{};

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::detail {

[[noreturn]] EBB_COLD void raise_gradient_type(const char* call, const std::string& name, dtype is, dtype asked) {
  raise(std::string(call) + ": the gradient of " + name + " is " + std::string(name_of(is)) + ", not " + std::string(name_of(asked)) +
        ": say so, as in w.grad<" + (is == dtype::f32 ? "float" : is == dtype::bf16 ? "ebb::bfloat16" : "ebb::float16") + ">()");
}

/// Throws: error if the leaf has a gradient of another dtype, or hooks that expect one.
EBB_COLD void change_gradient_type(leaf& l, dtype type) {
  if (l.gradient_type == type) return;
  const std::string was(name_of(l.gradient_type)), name = name_of(l);
  const auto refuse = [](const std::string& problem) { raise("ebb::variable::set_grad_dtype: " + problem); };
  if (this_tape().pass) refuse("a backward is running in this thread");
  if (l.grad.defined) refuse("the gradient of " + name + " is there, as " + was + ": call zero_grad first");
  if (l.hooks && !l.hooks->entries.empty()) refuse("hooks of " + name + " take gradients of " + was + ": register them afterwards");
  l.gradient_type = type;
  l.widens = type != l.type;
}

}  // namespace ebb::inline EBB_ABI::detail

// ebb/autograd/packed.hpp — hooks on saved values: pack is called when a node saves a value, unpack when its backward reads it.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "any_tensor.hpp"
#include "thread.hpp"
#include "vertex.hpp"

#include "../base/objects.hpp"
#include "../base/owned.hpp"

#include <any>
#include <memory>

namespace ebb::inline EBB_ABI {

/// A pair of hooks on saved values. The pair of a thread's innermost scope is called.
struct saved_hooks {
  virtual ~saved_hooks() = default;
  virtual std::any pack(const any_tensor&) = 0;
  virtual any_tensor unpack(const std::any&) = 0;
};

/// The packed values of a node, and their hooks.
struct packed_values {
  std::shared_ptr<saved_hooks> hooks;
  objects<std::any> values;
};

inline void drop_packed(node& n) noexcept { delete n.packed.exchange(nullptr); }

namespace detail {

/// The scopes of a thread, the innermost last.
inline objects<std::shared_ptr<saved_hooks>>& packing_scopes() {
  static thread_local objects<std::shared_ptr<saved_hooks>> scopes;
  return scopes;
}

/// Passes n's saved values to the innermost pack hook. Called when the node is complete, before it has owners.
EBB_ONCE void pack_saved(node& n) {
  if (n.program->saved == 0) return;
  const recording_scope off(false);
  auto packed = make_owned<packed_values>();
  packed->hooks = packing_scopes().back();
  for (int i = 0; i < n.program->saved; ++i)
    packed->values.push_back(
        packed->hooks->pack({n.program->saved_type(n, i), n.program->extents(n, n.program->outputs + i), n.saved()[i]}));
  for (int i = 0; i < n.program->saved; ++i) n.saved()[i] = {};
  n.packed.store(packed.release(), std::memory_order_relaxed);
}

[[noreturn]] EBB_COLD void raise_released(const char* call, const node& n) {
  raise(std::string(call) + ": what " + n.program->name +
        " saved is gone: this graph has been differentiated before; say retain_graph = true in the first call");
}

EBB_ONCE_APART storage unpacked_value(node& n, int i) {
  std::shared_ptr<saved_hooks> hooks;
  std::any packed;
  {
    const exclusive alone(n);
    const packed_values* const there = n.packed.load(std::memory_order_relaxed);
    if (!there) raise_released("ebb::backward", n);
    hooks = there->hooks;
    packed = there->values[static_cast<std::size_t>(i)];
  }
  const any_tensor given = hooks->unpack(packed);
  const any_tensor wanted(n.program->saved_type(n, i), n.program->extents(n, n.program->outputs + i), {});
  if (!given.defined() || given.type() != wanted.type() || !same_extents(given.extents(), wanted.extents()))
    raise("ebb::saved_tensors_hooks: the unpack hook returned " + given.text() + " for a saved " + wanted.text() + " of " +
          n.program->name);
  return given.block();
}
/// Saved value `i`, through the unpack hook if it is packed. The hook may run any code, even another pass over this node.
/// Throws: error if the hook returns another dtype or other extents, or if another pass has released the node since this pass began.
EBB_INLINE storage saved_value(node& n, int i) {
  {
    const exclusive alone(n);
    if (n.released.load(std::memory_order_relaxed)) [[unlikely]] raise_released("ebb::backward", n);
    if (!n.packed.load(std::memory_order_relaxed)) return n.saved()[i];
  }
  return unpacked_value(n, i);
}

template <class Pack, class Unpack>
struct typed_saved_hooks final : saved_hooks {
  typed_saved_hooks(Pack p, Unpack u) : pack_(std::move(p)), unpack_(std::move(u)) {}
  std::any pack(const any_tensor& x) override { return pack_(x); }
  any_tensor unpack(const std::any& packed) override {
    using value = std::decay_t<std::invoke_result_t<Pack&, const any_tensor&>>;
    return unpack_(*std::any_cast<value>(&packed));
  }

 private:
  Pack pack_;
  Unpack unpack_;
};

}  // namespace detail

/// While it lives, these hooks are called for the values that the thread's calls save.
class packing_scope {
 public:
  EBB_ONCE_CTOR explicit packing_scope(std::shared_ptr<saved_hooks> hooks) {
    detail::packing_scopes().push_back(std::move(hooks));
    this_tape().packing = detail::packing_scopes().back().get();
  }
  packing_scope(const packing_scope&) = delete;
  packing_scope& operator=(const packing_scope&) = delete;
  EBB_ONCE_CTOR ~packing_scope() {
    detail::packing_scopes().pop_back();
    this_tape().packing = detail::packing_scopes().empty() ? nullptr : detail::packing_scopes().back().get();
  }
};

/// While it lives, pack is called with each value that the thread's calls save for their backward, and unpack when the backward reads it:
/// to store values in a file, in a narrower dtype, or in a memory pool.
///   ebb::saved_tensors_hooks scope([](const ebb::any_tensor& x) { return store(x); }, [](int place) { return load(place); });
/// pack returns anything that can be copied. Both run without recording; unpack runs each time a backward reads the value.
class saved_tensors_hooks : packing_scope {
 public:
  template <class Pack, class Unpack>
  EBB_SCOPE saved_tensors_hooks(Pack pack, Unpack unpack)
      : packing_scope(std::make_shared<detail::typed_saved_hooks<Pack, Unpack>>(std::move(pack), std::move(unpack))) {}
};

}  // namespace ebb::inline EBB_ABI

// ebb/autograd/variable.hpp — a tracked array: its value, its gradient and its hooks.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "any_tensor.hpp"
#include "destroy.hpp"
#include "grad_dtype.hpp"

#include "../exec/function.hpp"
#include "../tensor/print.hpp"

#include <optional>

namespace ebb::inline EBB_ABI {

struct backward_options;
template <class T, class Extents, class F, class... A>
class expression;

namespace detail {

// Not inlined: g++ 12 warns of array bounds if it sees strings of known length added.
[[noreturn]] EBB_COLD void raise_variable(const char* call, const char* why) {
  raise(std::string("ebb::variable::") + call + why);
}
[[noreturn]] EBB_COLD void raise_extents_of_variable(const char* call, const std::size_t* given,
                                                     const std::size_t* wanted, int rank) {
  raise_bad_shape((std::string("ebb::variable::") + call).c_str(), given, wanted, rank);
}

}  // namespace detail

namespace detail {

/// See autograd/expression.hpp.
template <class X, class... I>
auto subscript_on_tape(const X& x, const I&... i);

}  // namespace detail

/// A handle to an array with a gradient. Copies are the same variable: the same value, gradient and hooks.
///
/// A *leaf* is made from a tensor; it keeps its gradient and may be updated in place. Other variables are results of calls with variables:
/// they refer to the node that made them. The type says that a gradient is needed: tensors among a call's arguments cost nothing in its
/// backward. A default-constructed variable is undefined, like a gradient that has not arrived.
template <class T, std::size_t... E>
class variable {
 public:
  using value_type = T;
  using extents_type = ebb::extents<E...>;
  using layout_type = ebb::layout<E...>;
  using tensor_type = tensor<T, E...>;
  static constexpr int rank = sizeof...(E);

  variable() = default;
  /// A leaf. Shares the elements with the tensor until one of the two is written.
  explicit variable(const tensor_type& value) : shape_(value.layout()) {
    leaf* const l = new_leaf();
    vertex_ = counted<vertex>(l);
    l->type = l->gradient_type = dtype_of<T>;
    l->extents = detail::extents_of_layout(shape_);
    l->value = detail::to_storage(value);
  }
  /// A leaf whose gradient is an array of Gs: see set_grad_dtype.
  template <class G>
  variable(const tensor_type& value, grad_dtype_of<G> type) : variable(value) {
    set_grad_dtype(type);
  }
  /// A leaf of rank 0, from a number.
  template <class N>
    requires(rank == 0 && (number<N> || std::same_as<N, T>))
  variable(N value) : variable(tensor_type(as_element<T>(value))) {}
  /// A handle to a leaf of these extents.
  variable(const layout_type& shape, counted<vertex> leaf) : vertex_(std::move(leaf)), shape_(shape) {}
  /// A result of a call: output `output` of `from`, or without a history if `from` is null.
  variable(const layout_type& shape, storage value, counted<vertex> from, std::uint32_t output)
      : vertex_(std::move(from)), value_(std::move(value)), shape_(shape), output_(output), defined_(true) {}

  /// The result of a refused call.
  variable(refused_result) {}
  /// The variable that an expression becomes.
  template <class F, class... A>
  variable(const expression<T, ebb::extents<E...>, F, A...>& e) : variable(static_cast<const variable&>(e.get())) {}

  template <array_like A>
    requires(!detail::is_tracked<A>)
  variable& operator=(const A&) {
    constexpr bool assigned = sizeof(A) == 0;
    static_assert(assigned, "[ebb E0195] v.assign(array) writes a leaf, v = ebb::variable(array) makes v another one: say which");
    return *this;
  }
  /// Refused: assigning a number in braces would silently make another variable.
  template <number N>
  variable& operator=(std::initializer_list<N> list) {
    return *this = *list.begin();
  }
  explicit operator bool() const {
    constexpr bool asked = sizeof(T) == 0;
    static_assert(asked, "[ebb E0196] a variable is no condition: compare it, and of an array ask whether ebb::any or ebb::all are true");
    return asked;
  }

  /// Refused: a gradient that ends at a number would end silently.
  operator T() const
    requires(rank == 0)
  {
    constexpr bool is_number = sizeof(T) == 0;
    static_assert(is_number, "[ebb E0212] a variable is no number: v.item() is its value, and through that no gradient flows");
    return {};
  }

  bool defined() const { return defined_ || vertex_; }
  bool is_leaf() const { return !vertex_ || vertex_->is_leaf; }
  /// Whether a gradient flows through it: false for results of calls under no_grad.
  bool requires_grad() const { return static_cast<bool>(vertex_); }

  /// An element or a row, as another variable: see [note: subscripts].   Throws: error if the index is out of range.
  template <class... I>
    requires(sizeof...(I) > 0 && ((std::integral<I> || borrowable<I>) && ...))
  auto operator()(const I&... i) const {
    return detail::subscript_on_tape(*this, i...);
  }
  auto operator[](const auto& i) const { return detail::subscript_on_tape(*this, i); }

  const layout_type& layout() const { return shape_; }
  auto shape() const { return shape_.shape(); }
  std::size_t extent(int axis) const { return shape_.extent(axis); }
  std::size_t size() const { return shape_.size(); }
  const storage& block() const { return vertex_ && vertex_->is_leaf && !defined_ ? as_leaf().value : value_; }
  const T* data() const { return reinterpret_cast<const T*>(block().data()); }

  /// The same variable with its present value, which later writes do not change; undefined if this is.
  variable as_of_now() const {
    variable v = *this;
    v.value_ = block();
    v.defined_ = defined();
    return v;
  }

  /// Whether as_of_now made this from a leaf: the leaf cannot be written through it.
  bool was_leaf() const { return vertex_ && vertex_->is_leaf && defined_; }

  /// The array. Shares the elements if the type allows it. Throws: error if undefined.
  tensor_type value() const {
    require_defined("value");
    return detail::to_tensor<T>(shape_, block());
  }
  /// The same array without a history.
  tensor_type detach() const { return value(); }
  T item() const
    requires(rank == 0)
  {
    require_defined("item");
    return *data();
  }

  /// The gradient of a leaf, or of another variable after retain_grad; undefined if none has arrived.   Dtype: of the variable; for a leaf
  /// whose gradient is float call w.grad<float>().   Throws: error if the gradient has another dtype than G.
  template <class G = T>
  auto grad() const {
    if constexpr (may_have_gradient<G>()) {
      require_grad_dtype<G>("ebb::variable::grad");
      const gradient* const g = stored_gradient();
      return g && g->defined ? variable<G, E...>(shape_, g->value, g->from, g->output) : variable<G, E...>();
    } else return variable();
  }
  /// Throws: error if this is no leaf, or if the extents differ.
  void set_grad(const tensor_type& value) { set_gradient<T>(value); }
  /// The same from the value of any array; set_grad<float> if the gradient is float.
  template <class G = T, class A>
    requires(!std::is_same_v<G, T> || !std::is_convertible_v<const A&, const tensor_type&>)
  void set_grad(const A& value) {
    constexpr bool fits = detail::may_become<A, G, extents_type>;
    static_assert(fits, "[ebb E0170] set_grad: a gradient is an array of the dtype and extents of its variable");
    if constexpr (may_have_gradient<G>() && fits) set_gradient<G>(detail::to_tensor_of<tensor<G, E...>>(value));
  }
  /// The dtype of the gradient.
  dtype grad_dtype() const { return vertex_ && vertex_->is_leaf ? as_leaf().gradient_type : dtype_of<T>; }
  /// Sets the dtype of this leaf's gradient: T, or float if T has 16 bits. See [note: gradients of another dtype].
  /// Throws: error if this is no leaf, if it has a gradient of another dtype or hooks registered for one, and in a backward.
  template <class G>
  void set_grad_dtype(grad_dtype_of<G>) {
    if constexpr (may_have_gradient<G>()) {
      leaf& l = leaf_for("set_grad_dtype", ": only a leaf keeps its gradient in a dtype of its own");
      detail::change_gradient_type(l, dtype_of<G>);
    }
  }
  /// Throws: error if gradients of this variable do not have dtype G.
  template <class G>
  void require_grad_dtype(const char* call) const {
    if constexpr (sizeof(T) == 2)
      if (grad_dtype() != dtype_of<G>) detail::raise_gradient_type(call, name(), grad_dtype(), dtype_of<G>);
  }
  /// Sets the gradient to undefined and frees its memory.
  void zero_grad() {
    if (gradient* const g = stored_gradient()) *g = {};
  }
  /// Keeps the gradient that arrives here. Leaves always do.
  void retain_grad() const {
    require_history("retain_grad");
    if (!vertex_->is_leaf) retain(*vertex_, output_);
  }

  /// Writes a leaf. Saved values of it are unchanged. Throws: error if this is no leaf, or if the extents differ.
  void assign(const tensor_type& value) {
    leaf& l = leaf_for("assign", ": only a leaf can be assigned to: a result keeps its value", value.layout());
    l.value = detail::to_storage(value);
    l.version.fetch_add(1, std::memory_order_relaxed);
  }
  /// The same from any array: its value, without a history.
  template <class A>
    requires(!std::is_convertible_v<const A&, const tensor_type&>)
  void assign(const A& value) {
    constexpr bool fits = detail::may_become<A, T, extents_type>;
    static_assert(fits, "[ebb E0171] assign: the value is an array of the dtype and extents of its variable");
    if constexpr (fits) assign(detail::to_tensor_of<tensor_type>(value));
  }
  /// The elements of a leaf, to write to. Other owners of the array do not see the changes. Otherwise as assign.
  T* mutable_data() {
    leaf& l = leaf_for("mutable_data", ": only a leaf can be written: a result keeps its value");
    l.value.detach();
    l.version.fetch_add(1, std::memory_order_relaxed);
    return reinterpret_cast<T*>(l.value.data());
  }
  /// How often a leaf has been written.
  std::uint64_t version() const { return vertex_ && vertex_->is_leaf ? as_leaf().version.load(std::memory_order_relaxed) : 0; }

  /// The name in messages and dumps: the op or region that made it, or the name given by set_name.
  std::string name() const { return vertex_ ? name_of(*vertex_) : defined_ ? "constant" : "undefined"; }
  void set_name(std::string name) {
    require_history("set_name");
    hooks_of(*vertex_).name = std::move(name);
  }

  /// Adds the gradients of this variable to those of all leaves that it depends on. See ebb::backward.
  void backward() const;
  /// The same with a seed: an array of these extents or, for rank 0, a number.
  template <class Seed>
  void backward(const Seed& seed) const;
  void backward(std::initializer_list<T> seed) const
    requires(rank == 1)
  {
    if (seed.size() == 0) backward();  // {}: no seed
    else backward(tensor_type(seed));
  }
  void backward(const backward_options&) const;

  /// f is called with the gradient that has arrived here, and may return another one. See [note: hooks].
  /// For a leaf whose gradient is float write register_hook<float>(f); likewise for the functions below.
  template <class G = T, class F>
  hook_handle register_hook(F f) const;
  /// For a leaf: f runs after its gradient has been added. f is an update rule or a function of the leaf. See [note: hooks].
  template <class G = T, class F>
  hook_handle register_post_accumulate_grad_hook(F f) const;
  /// The node that made this: its hooks see all gradients at once. ebb::grad_fn(y, operands...) gives them types.
  /// Throws: error if no node made it.
  template <class... X>
  auto grad_fn(const X&... operands) const;
  /// The accumulation into this leaf's gradient. Throws: error if this is no leaf.
  template <class G = T>
  auto accumulate_node() const;
  void require_node() const {
    if (!vertex_ || vertex_->is_leaf)
      raise("ebb::variable::grad_fn: " + name() + " was made by no node; the node of a leaf is accumulate_node");
  }

  /// The name given by set_name, or an empty string.
  friend std::string given_name(const variable& v) { return v.vertex_ && v.vertex_->hooks ? v.vertex_->hooks->name : std::string(); }

  vertex* history() const { return vertex_.get(); }
  std::uint32_t output() const { return output_; }
  /// Whether it is the same variable.
  bool is_same(const variable& other) const {
    return vertex_ == other.vertex_ && output_ == other.output_ && value_.data() == other.value_.data();
  }

 private:
  leaf& as_leaf() const { return static_cast<leaf&>(*vertex_); }
  template <class G>
  static constexpr bool may_have_gradient() {
    constexpr bool fits = std::is_same_v<G, T> || (std::is_same_v<G, float> && sizeof(T) == 2);
    static_assert(fits, "[ebb E0268] a gradient has the dtype of its variable, or is float where that has 16 bits");
    return fits;
  }
  template <class G>
  void set_gradient(const tensor<G, E...>& value) {
    leaf& l = leaf_for("set_grad", ": only a leaf can be given a gradient", value.layout());
    require_grad_dtype<G>("ebb::variable::set_grad");
    l.grad = {detail::to_storage(value), nullptr, 0, true};
  }
  /// The leaf that `call` writes to. Throws: error if this is no leaf (`why` is the sentence), or if the extents differ.
  leaf& leaf_for(const char* call, const char* why) const {
    if (!vertex_ || !vertex_->is_leaf) detail::raise_variable(call, why);
    return as_leaf();
  }
  leaf& leaf_for(const char* call, const char* why, const layout_type& written) const {
    leaf& l = leaf_for(call, why);
    if (written != shape_) detail::raise_extents_of_variable(call, written.shape().data(), shape_.shape().data(), rank);
    return l;
  }
  gradient* stored_gradient() const {
    if (!vertex_) return nullptr;
    if (vertex_->is_leaf) return &as_leaf().grad;
    hook_list* const h = vertex_->hooks;
    return h && output_ < h->retained.size() ? &h->retained[output_].value : nullptr;
  }
  void require_defined(const char* call) const {
    if (!defined()) detail::raise_variable(call, ": the variable is undefined");
  }
  void require_history(const char* call) const {
    if (!vertex_) detail::raise_variable(call, ": the variable has no history: it was made under no_grad, or is undefined");
  }

  counted<vertex> vertex_;
  storage value_;  // of a result; a leaf keeps its own
  [[no_unique_address]] layout_type shape_;
  std::uint32_t output_ = 0;
  bool defined_ = false;
};

/// An array of integers or bools in a struct of variables: it has no gradient.
///   params<ebb::variable> p{ebb::variable(w), labels};
template <class T, std::size_t... E>
  requires(!real_element<T>)
class variable<T, E...> : public tensor<T, E...> {
 public:
  variable() = default;
  template <std::same_as<tensor<T, E...>> A>
  variable(const A& value) : tensor<T, E...>(value) {}
  /// Refused: on its own it is not a variable.
  explicit variable(const tensor<T, E...>&) {
    static_assert(real_element<T>, "[ebb E0152] only variables of floating-point type can have a gradient");
  }
};

template <class T, std::size_t... E>
variable(const tensor<T, E...>&) -> variable<T, E...>;
template <class T, std::size_t... E, class G>
variable(const tensor<T, E...>&, grad_dtype_of<G>) -> variable<T, E...>;
template <element T>
variable(T) -> variable<T>;
variable(refused_result) -> variable<float>;

template <class T, std::size_t... E>
struct borrow<variable<T, E...>> {
  using element = T;
  using extents_type = extents<E...>;
  static const T* data(const variable<T, E...>& a) { return a.data(); }
  static std::size_t extent(const variable<T, E...>& a, int axis) { return a.extent(axis); }
};

namespace detail {

template <class T, std::size_t... E>
inline constexpr bool is_tracked<variable<T, E...>> = real_element<T>;

template <class T, class Extents>
struct make_variable;
template <class T, std::size_t... E>
struct make_variable<T, extents<E...>> {
  using type = variable<T, E...>;
};
template <class T, class Extents>
using variable_of = typename make_variable<T, Extents>::type;

template <class A>
inline constexpr bool is_variable = false;
template <class T, std::size_t... E>
inline constexpr bool is_variable<variable<T, E...>> = real_element<T>;

/// From a variable to its handle on the tape, and back.
template <class T, std::size_t... E>
variable<T, E...> as_variable(const layout<E...>& shape, const gradient& g) {
  return {shape, g.value, g.from, g.output};
}
template <class T, std::size_t... E>
gradient as_gradient(const variable<T, E...>& v) {
  return {v.block(), counted<vertex>(v.history()), v.output(), true};
}

}  // namespace detail

template <class Traits, class T, std::size_t... E>
  requires real_element<T>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const variable<T, E...>& v) {
  return v.defined() ? out << to_string(v) : out << "undefined";
}

}  // namespace ebb::inline EBB_ABI

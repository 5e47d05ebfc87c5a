// ebb/autograd/backward.hpp — backward and grad: from roots and seeds to gradients in leaves, or in the caller's hands.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "engine.hpp"
#include "hooks.hpp"
#include "parameters.hpp"

#include <initializer_list>

namespace ebb::inline EBB_ABI {

/// Any variable, in lists of them.
struct variable_ref {
  counted<vertex> at;
  std::uint32_t output = 0;

  template <class T, std::size_t... E>
  variable_ref(const variable<T, E...>& v) : at(v.history()), output(v.output()) {}
};

/// Variables, tuples and structs of variables with respect to which gradients are wanted: see ebb::wrt.
template <class... V>
struct wrt_list {
  std::tuple<V...> of;
};
template <class... V>
auto wrt(const V&... v) {
  constexpr bool fits = (parameters<V> && ...) && sizeof...(V) > 0;
  static_assert(fits, "[ebb E0156] ebb::wrt: name variables, or tuples, vectors and structs of them");
  if constexpr (fits) return wrt_list<V...>{{v...}};
  else return wrt_list<>{};
}

/// `.inputs = {w, b}` or `.inputs = ebb::wrt(params)`: gradients go there and nowhere else.
class input_list {
 public:
  input_list() = default;
  input_list(std::initializer_list<variable_ref> v) : list_(v), given_(true) {}
  template <class... V>
  input_list(const wrt_list<V...>& w) : given_(true) {
    std::apply([&](const auto&... v) { each_variable([&](const auto& x) { list_.push_back(x); }, v...); }, w.of);
  }
  bool given() const { return given_; }
  const std::vector<variable_ref>& list() const { return list_; }

 private:
  std::vector<variable_ref> list_;
  bool given_ = false;
};

/// With create_graph the gradient of a leaf leads back to the leaf, and neither ends before zero_grad parts them; grad has no such circle.
struct backward_options {
  std::vector<any_tensor> seeds = {};       // one for each root; none: ones, for roots with one element
  std::optional<bool> retain_graph = {};    // whether another backward may follow; as create_graph if not said
  bool create_graph = false;                // whether the gradients have a history
  input_list inputs = {};                   // if given: only paths to these run
};
struct grad_options {
  std::vector<any_tensor> seeds = {};
  std::optional<bool> retain_graph = {};
  bool create_graph = false;
  bool allow_unused = false;       // a variable that the outputs do not depend on: its gradient is undefined, not an error
  bool materialize_grads = false;  // zeros instead of undefined
};

namespace detail {

/// The seed of a root: what was given, or one. Throws: error if it does not fit.
template <class V>
gradient seed_for(const pass_options& options, const V& root, const any_tensor* given, int number) {
  const char* const call = options.call;
  const std::string what = std::string(call) + ": ";
  if (!root.requires_grad())
    raise(what + "root " + std::to_string(number) + " has no history: nothing that it was computed from needs a gradient");
  const extent_list x = extents_of_layout(root.layout());
  using T = typename V::value_type;
  if (given && given->defined()) {
    if (given->type() != dtype_of<T> || !same_extents(given->extents(), x))
      raise(what + "seed " + std::to_string(number) + " is " + given->text() + ", its root is " + text_of(dtype_of<T>, x));
    if (options.create_graph) return {given->block(), given->history(), given->output(), true};
    return {given->block(), nullptr, 0, true};
  }
  if (root.size() != 1)
    raise(what + "a seed can be left out only for roots with one element; root " + std::to_string(number) + " is " +
          text_of(dtype_of<T>, x));
  storage one(sizeof(T));
  *reinterpret_cast<T*>(one.data()) = as_element<T>(1);
  return {std::move(one), nullptr, 0, true};
}

template <class... V>
void add_roots(backward_pass& pass, const std::vector<any_tensor>& seeds, const V&... roots) {
  const char* const call = pass.options().call;
  if (!seeds.empty() && seeds.size() != sizeof...(V))
    raise(std::string(call) + ": there are " + std::to_string(sizeof...(V)) + " roots and " + std::to_string(seeds.size()) + " seeds");
  int number = 0;
  const auto add = [&](const auto& root) {
    const any_tensor* const seed = seeds.empty() ? nullptr : &seeds[static_cast<std::size_t>(number)];
    gradient g = seed_for(pass.options(), root, seed, number++);
    pass.add_root(*root.history(), root.output(), std::move(g));
  };
  (add(roots), ...);
}

/// Of one root, with a seed or without: no list is made.
template <class V>
void run_backward_of(const V& root, const any_tensor* seed) {
  backward_pass pass({});
  gradient g = seed_for(pass.options(), root, seed, 0);
  pass.add_root(*root.history(), root.output(), std::move(g));
  pass.prepare();
  pass.run();
}

template <class Roots>
void run_backward(const Roots& roots, const backward_options& o) {
  backward_pass pass({.retain_graph = o.retain_graph.value_or(o.create_graph),
                      .create_graph = o.create_graph,
                      .restricted = o.inputs.given(),
                      .call = "ebb::backward"});
  std::apply([&](const auto&... root) { add_roots(pass, o.seeds, root...); }, roots);
  if (o.inputs.given() && o.inputs.list().empty()) raise("ebb::backward: inputs is empty: name at least one variable, or leave it out");
  for (const variable_ref& v : o.inputs.list()) {
    if (!v.at) raise("ebb::backward: a variable among the inputs has no history and gets no gradient");
    pass.want(*v.at, v.output);
  }
  pass.prepare();
  for (const variable_ref& v : o.inputs.list())
    if (!v.at->is_leaf) retain(*v.at, v.output);
  pass.run();
}

template <class Outputs, class... V>
auto run_grad(const Outputs& outputs, const wrt_list<V...>& w, const grad_options& o) {
  backward_pass pass({.retain_graph = o.retain_graph.value_or(o.create_graph),
                      .create_graph = o.create_graph,
                      .accumulates = false,
                      .restricted = true,
                      .call = "ebb::grad"});
  std::apply([&](const auto&... root) { add_roots(pass, o.seeds, root...); }, outputs);
  std::vector<int> wishes;
  const auto wish = [&](const auto& x) {
    if (!x.history()) raise("ebb::grad: variable " + std::to_string(wishes.size()) + " of wrt has no history and gets no gradient");
    wishes.push_back(pass.want(*x.history(), x.output()));
  };
  std::apply([&](const auto&... v) { each_variable(wish, v...); }, w.of);
  pass.prepare();
  for (std::size_t i = 0; i < wishes.size(); ++i)
    if (!o.allow_unused && !o.materialize_grads && !pass.reaches(wishes[i]))
      raise("ebb::grad: no output depends on variable " + std::to_string(i) + " of wrt; say allow_unused = true if that is meant");
  pass.run();
  std::size_t next = 0;
  const auto taken = [&]<class X>(const X& x) -> X {
    gradient& g = pass.taken(wishes[next++]);
    if (g.defined) return as_variable<typename X::value_type>(x.layout(), g);
    if (!o.materialize_grads) return {};
    return X(x.layout(), to_storage(typename X::tensor_type(x.layout())), {}, 0);
  };
  auto all = std::apply([&](const auto&... v) { return std::tuple<V...>{parameters_in<V>::map(v, taken)...}; }, w.of);
  if constexpr (sizeof...(V) == 1) return std::get<0>(std::move(all));
  else return all;
}

template <class V>
constexpr auto tuple_of_roots(const V& root) {
  return std::tuple<const V&>(root);
}
template <class... V>
constexpr auto tuple_of_roots(const std::tuple<V...>& roots) {
  return std::apply([](const auto&... root) { return std::tie(as_region_argument(root)...); }, roots);
}

}  // namespace detail

/// Adds the gradients of a root to those of the leaves it depends on, or only to those named in `inputs`.
///   ebb::backward(loss);   ebb::backward(y, {.seeds = {v}, .retain_graph = true});   ebb::backward(std::tuple(a, b));
/// Saves: nothing; what the nodes saved goes as they run, unless the graph is retained.
/// Throws: error before anything has run or changed, for a root without a history, seeds that do not fit, an empty list of inputs,
/// and a graph that has been differentiated before. What hooks and functions of the user throw comes through: see
/// [note: what a throw leaves].
template <class Roots>
void backward(const Roots& roots, const backward_options& options = {}) {
  detail::run_backward(detail::tuple_of_roots(as_region_argument(roots)), options);
}

/// The gradients of the outputs with respect to variables; no leaf's own gradient is touched.
///   auto [dx, dw] = ebb::grad(loss, ebb::wrt(x, w));   auto d = ebb::grad(std::tuple(a, b), ebb::wrt(params), {.seeds = {u, v}});
/// In the form of what wrt lists: variables, undefined where nothing arrived; with a history if create_graph.
/// Throws: as backward, and if an output does not depend on one of them, unless unused ones are allowed.
template <class Outputs, class... V>
auto grad(const Outputs& outputs, const wrt_list<V...>& inputs, const grad_options& options = {}) {
  return detail::run_grad(detail::tuple_of_roots(as_region_argument(outputs)), inputs, options);
}

/// The names of what a backward from this root would run, in its order: see [note: the order of a backward].
/// Throws: as backward.
template <class Root>
std::vector<std::string> execution_order(const Root& root) {
  const auto& r = as_region_argument(root);
  if (!r.history()) raise("ebb::execution_order: the root has no history: nothing that it was computed from needs a gradient");
  backward_pass pass({.retain_graph = true, .call = "ebb::execution_order"});
  pass.add_root(*r.history(), r.output(), {});
  pass.prepare();
  return pass.order();
}

/// Runs f when the backward that is running now has finished, after all gradients.
/// Throws: error outside of a backward.
inline void queue_callback(std::function<void()> f) {
  backward_pass* const pass = this_tape().pass;
  if (!pass) raise("ebb::queue_callback: no backward is running in this thread");
  pass->add_callback(std::move(f));
}

template <class T, std::size_t... E>
void variable<T, E...>::backward() const {
  detail::run_backward_of(*this, nullptr);
}
template <class T, std::size_t... E>
template <std::same_as<tensor<T, E...>> Seed>
void variable<T, E...>::backward(const Seed& seed) const {
  const any_tensor given(seed);
  detail::run_backward_of(*this, &given);
}
template <class T, std::size_t... E>
void variable<T, E...>::backward(const backward_options& options) const {
  ebb::backward(*this, options);
}

}  // namespace ebb::inline EBB_ABI

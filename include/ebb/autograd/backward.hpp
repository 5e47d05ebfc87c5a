// ebb/autograd/backward.hpp — backward and grad: add gradients of roots to leaves, or return them.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "one_node.hpp"
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

/// The variables, tuples and structs of variables with respect to which a gradient is computed: see ebb::wrt.
template <class... V>
struct wrt_list {
  std::tuple<V...> of;
};
namespace detail {
template <class W>
inline constexpr bool is_wrt_list = false;
template <class... V>
inline constexpr bool is_wrt_list<wrt_list<V...>> = true;
}  // namespace detail

template <class... V>
auto wrt(const V&... v) {
  constexpr bool fits = (parameters<V> && ...) && sizeof...(V) > 0;
  static_assert(fits, "[ebb E0156] ebb::wrt: name variables, or tuples, vectors and structs of them");
  if constexpr (fits) return wrt_list<V...>{{v...}};
  else return wrt_list<>{};
}

/// `.inputs = {w, b}` or `.inputs = ebb::wrt(params)`: only these receive gradients. `{}` is refused: a list without variables.
class input_list {
 public:
  input_list() = default;
  input_list(std::initializer_list<variable_ref> v) : list_(v) {}
  template <class... V>
  input_list(const wrt_list<V...>& w) {
    std::apply([&](const auto&... v) { each_variable([&](const auto& x) { list_.push_back(x); }, v...); }, w.of);
  }
  /// The default: all leaves.
  EBB_ONCE static input_list all() {
    input_list l;
    l.given_ = false;
    return l;
  }
  bool given() const { return given_; }
  const std::vector<variable_ref>& list() const { return list_; }

 private:
  std::vector<variable_ref> list_;
  bool given_ = true;
};

/// With create_graph the gradient of a leaf refers to the leaf: both live until zero_grad breaks this cycle. grad makes no cycle.
struct backward_options {
  std::vector<any_tensor> seeds = {};       // one for each root; default: 1 for roots with one element
  std::optional<bool> retain_graph = {};    // whether another backward may follow; default: create_graph
  graph_wanted create_graph = {};           // whether the gradients have a history
  input_list inputs = input_list::all();    // if given: only paths to these run
  engine_wanted compiled_autograd = {};     // overrides the scope and the process; true, false or options
};
struct grad_options {
  std::vector<any_tensor> seeds = {};
  std::optional<bool> retain_graph = {};
  graph_wanted create_graph = {};
  bool allow_unused = false;       // the gradient by a variable that the outputs do not depend on is undefined, not an error
  bool materialize_grads = false;  // zeros instead of undefined
  engine_wanted compiled_autograd = {};
};

namespace detail {

/// "1 root", "2 roots"
inline std::string count_text(std::size_t n, const char* what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); }
/// "root 1 (loss)", or without the name if the user gave none.
inline std::string with_name(const std::string& what, const vertex* v) {
  return v->hooks && !v->hooks->name.empty() ? what + " (" + v->hooks->name + ")" : what;
}
inline std::string with_name(const char* what, std::size_t number, const vertex* v) {
  return with_name(what + std::string(" ") + std::to_string(number), v);
}

[[noreturn]] EBB_COLD void raise_no_history(const char* call, std::size_t number) {
  raise(std::string(call) + ": root " + std::to_string(number) + " has no history: nothing that it was computed from needs a gradient");
}
[[noreturn]] EBB_COLD void raise_seed(const char* call, std::size_t number, const vertex* v, const any_tensor& root,
                                      const any_tensor& seed) {
  raise(std::string(call) + ": seed " + std::to_string(number) + " is " + seed.text() + ", its " + with_name("root", v) + " is " +
        root.text());
}
[[noreturn]] EBB_COLD void raise_no_seed(const char* call, std::size_t number, const vertex* v,
                                         const any_tensor& root) {
  raise(std::string(call) + ": a seed can be left out only for roots with one element; " + with_name("root", number, v) + " is " +
        root.text());
}

/// One, for a root with one element. Throws: error for others.
template <class V>
gradient one_for(const char* call, const V& root, std::size_t number) {
  using T = typename V::value_type;
  if (!root.requires_grad()) raise_no_history(call, number);
  if (root.size() != 1) raise_no_seed(call, number, root.history(), {dtype_of<T>, extents_of_layout(root.layout()), {}});
  storage one(sizeof(T));
  *reinterpret_cast<T*>(one.data()) = as_element<T>(1);
  return {std::move(one), nullptr, 0, true};
}
/// The seed of a root: the given one, or the number 1. Throws: error if it does not fit.
template <class V>
gradient seed_for(const pass_options& options, const V& root, const any_tensor* given, std::size_t number) {
  if (!root.requires_grad()) raise_no_history(options.call, number);
  using T = typename V::value_type;
  if (given && given->defined()) {
    const extent_list x = extents_of_layout(root.layout());
    if (given->type() != dtype_of<T> || !same_extents(given->extents(), x))
      raise_seed(options.call, number, root.history(), {dtype_of<T>, x, {}}, *given);
    if (options.graph) return {given->block(), given->history(), given->output(), true};
    return {given->block(), nullptr, 0, true};
  }
  return one_for(options.call, root, number);
}

template <class... V>
void add_roots(backward_pass& pass, const std::vector<any_tensor>& seeds, const V&... roots) {
  const char* const call = pass.options().call;
  if (!seeds.empty() && seeds.size() != sizeof...(V))
    raise(std::string(call) + ": " + count_text(seeds.size(), "seed") + " for " + count_text(sizeof...(V), "root"));
  std::size_t number = 0;
  const auto add = [&](const auto& root) {
    const any_tensor* const seed = seeds.empty() ? nullptr : &seeds[number];
    gradient g = seed_for(pass.options(), root, seed, number++);
    pass.add_root(*root.history(), root.output(), std::move(g));
  };
  (add(roots), ...);
}

/// For one root: makes no list.
EBB_ONCE void run_backward_of(vertex& root, std::uint32_t output, gradient&& seed, bool retain_graph = false) {
  tape_state& t = this_tape();
  if (node* const n = as_one_node(root, t)) return run_one_node(*n, seed, retain_graph, "ebb::backward", t);
  EBB_PROBE(const probe here({probed::backward, "ebb::backward"});)
  backward_pass pass({.retain_graph = retain_graph}, t);
  pass.add_root(root, output, std::move(seed));
  pass.prepare();
  pass.run();
}

/// Whether only the seed and retain_graph are set.
inline bool is_plain(const backward_options& o) {
  return !o.create_graph && !o.inputs.given() && !o.compiled_autograd.engine() && o.seeds.size() <= 1;
}
template <class Roots>
void run_backward(const Roots& roots, const backward_options& o) {
  if constexpr (std::tuple_size_v<Roots> == 1)
    if (is_plain(o)) {
      const auto& root = std::get<0>(roots);
      gradient seed = seed_for({.call = "ebb::backward"}, root, o.seeds.empty() ? nullptr : o.seeds.data(), 0);
      return run_backward_of(*root.history(), root.output(), std::move(seed), o.retain_graph.value_or(false));
    }
  EBB_PROBE(const probe here({probed::backward, "ebb::backward"});)
  backward_pass pass({.retain_graph = o.retain_graph.value_or(o.create_graph),
                      .graph = o.create_graph.how(),
                      .restricted = o.inputs.given(),
                      .call = "ebb::backward",
                      .engine = o.compiled_autograd.engine()});
  std::apply([&](const auto&... root) { add_roots(pass, o.seeds, root...); }, roots);
  if (o.inputs.given() && o.inputs.list().empty()) raise("ebb::backward: inputs is empty: name at least one variable, or leave it out");
  std::size_t number = 0;
  for (const variable_ref& v : o.inputs.list()) {
    if (!v.at) raise("ebb::backward: variable " + std::to_string(number) + " of inputs has no history and gets no gradient");
    pass.want(*v.at, v.output);
    ++number;
  }
  pass.prepare();
  for (const variable_ref& v : o.inputs.list())
    if (!v.at->is_leaf) retain(*v.at, v.output);
  pass.run();
}

template <class Outputs, class... V>
auto run_grad(const Outputs& outputs, const wrt_list<V...>& w, const grad_options& o) {
  EBB_PROBE(const probe here({probed::backward, "ebb::grad"});)
  backward_pass pass({.retain_graph = o.retain_graph.value_or(o.create_graph),
                      .graph = o.create_graph.how(),
                      .accumulates = false,
                      .restricted = true,
                      .call = "ebb::grad",
                      .engine = o.compiled_autograd.engine()});
  std::apply([&](const auto&... root) { add_roots(pass, o.seeds, root...); }, outputs);
  std::vector<int> wishes;
  const auto wish = [&](const auto& x) {
    if (!x.history()) raise("ebb::grad: variable " + std::to_string(wishes.size()) + " of wrt has no history and gets no gradient");
    wishes.push_back(pass.want(*x.history(), x.output()));
  };
  std::apply([&](const auto&... v) { each_variable(wish, v...); }, w.of);
  if (wishes.empty()) raise("ebb::grad: wrt is empty: name at least one variable");
  pass.prepare();
  for (std::size_t i = 0; i < wishes.size(); ++i)
    if (!o.allow_unused && !o.materialize_grads && !pass.reaches(wishes[i]))
      raise("ebb::grad: no output depends on " + with_name("variable", i, &pass.asked(wishes[i])) +
            " of wrt; say allow_unused = true if that is meant");
  pass.run();
  for (std::size_t i = 0; i < wishes.size(); ++i)
    if (!o.allow_unused && !o.materialize_grads && !pass.taken(wishes[i]).defined)
      raise("ebb::grad: no gradient arrived at " + with_name("variable", i, &pass.asked(wishes[i])) +
            " of wrt; say allow_unused = true if that is meant");
  std::size_t next = 0;
  const auto taken = [&]<class X>(const X& x) -> X {
    gradient& g = pass.taken(wishes[next++]);
    if (g.defined) {
      if (x.history()->widens) narrow(*x.history(), g, o.create_graph.how());
      return as_variable<typename X::value_type>(x.layout(), g);
    }
    if (!o.materialize_grads) return {};
    return X(x.layout(), to_storage(typename X::tensor_type(x.layout())), {}, 0);
  };
  auto all = std::apply([&](const auto&... v) { return std::tuple<V...>{mapped_parameters(v, taken)...}; }, w.of);
  if constexpr (sizeof...(V) == 1) return std::get<0>(std::move(all));
  else return all;
}

/// Whether a backward can begin at a T: variables, expressions that become one, and tuples of both.
template <class R>
inline constexpr bool are_roots = is_variable<R>;
template <class R>
  requires requires { typename R::result_type; }
inline constexpr bool are_roots<R> = is_variable<typename R::result_type>;
template <class... R>
inline constexpr bool are_roots<std::tuple<R...>> = sizeof...(R) > 0 && (are_roots<std::remove_cvref_t<R>> && ...);

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
/// Saves: nothing. Frees the saved values of each node after it has run, unless the graph is retained.
/// Throws: error before anything has run or changed, for a root without a history, seeds that do not fit, an empty list of inputs,
/// and a graph that has been differentiated before. Exceptions of hooks and custom functions pass through: see [note: state after a throw].
template <class Roots>
void backward(const Roots& roots, const backward_options& options = {}) {
  constexpr bool fits = detail::are_roots<Roots>;
  static_assert(fits, "[ebb E0149] a backward begins at a variable, or a tuple of some: what is computed from arrays alone is none");
  if constexpr (fits) detail::run_backward(detail::tuple_of_roots(as_region_argument(roots)), options);
}

/// The gradients of the outputs with respect to variables. The gradients that leaves keep are unchanged.
///   auto [dx, dw] = ebb::grad(loss, ebb::wrt(x, w));   auto d = ebb::grad(std::tuple(a, b), ebb::wrt(params), {.seeds = {u, v}});
/// Shape: the form of wrt's arguments: a variable for each one, undefined if no gradient arrived, with a history if create_graph. Integers
/// in a struct are zeros.
/// Throws: as backward. Also error if no output depends on one of them, or if no gradient has arrived there after the backward (a custom
/// function returned nothing, a region reads it for other outputs only), unless allow_unused or materialize_grads is set. Also error by one
/// result of a region if another result that is computed from it is reached: see [note: results of one region].
template <class Outputs, class... V>
auto grad(const Outputs& outputs, const wrt_list<V...>& inputs, const grad_options& options = {}) {
  constexpr bool fits = detail::are_roots<Outputs>;
  static_assert(fits, "[ebb E0149] a backward begins at a variable, or a tuple of some: what is computed from arrays alone is none");
  if constexpr (fits) return detail::run_grad(detail::tuple_of_roots(as_region_argument(outputs)), inputs, options);
  else return refused_result{};
}

/// Refused: variables without wrt.
template <int... I, class F>
  requires detail::holds_variables<F>
constexpr auto grad(F) {
  constexpr bool named = sizeof(F) == 0;
  static_assert(named, "[ebb E0139] ebb::grad of a variable: name those that it is with respect to, ebb::grad(loss, ebb::wrt(w, b))");
  return refused_result{};
}
template <class Outputs, class First, class... X>
  requires(detail::holds_variables<Outputs> && !detail::is_wrt_list<First>)
auto grad(const Outputs&, const First&, const X&...) {
  constexpr bool named = sizeof(First) == 0;
  static_assert(named, "[ebb E0139] ebb::grad of a variable: name those that it is with respect to, ebb::grad(loss, ebb::wrt(w, b))");
  return refused_result{};
}

/// The names of the nodes that a backward from this root would run, in order: see [note: the order of a backward].
/// Throws: as backward.
template <class Root>
std::vector<std::string> execution_order(const Root& root) {
  const auto& r = as_region_argument(root);
  if (!r.history()) raise("ebb::execution_order: the root has no history: nothing that it was computed from needs a gradient");
  backward_pass pass({.retain_graph = true, .call = "ebb::execution_order"});
  pass.add_root(*r.history(), r.output(), {});
  pass.explore();
  return pass.order();
}

/// Runs f at the end of the backward that is running now, after all gradients.
/// Throws: error outside of a backward.
EBB_ONCE void queue_callback(std::function<void()> f) {
  backward_pass* const pass = this_tape().pass;
  if (!pass) raise("ebb::queue_callback: no backward is running in this thread");
  pass->add_callback(std::move(f));
}

template <class T, std::size_t... E>
void variable<T, E...>::backward() const {
  gradient one = detail::one_for("ebb::backward", *this, 0);
  detail::run_backward_of(*vertex_, output_, std::move(one));
}
template <class T, std::size_t... E>
template <class Seed>
void variable<T, E...>::backward(const Seed& seed) const {
  constexpr bool weak = rank == 0 && number<Seed> && !std::is_same_v<Seed, bool>;
  constexpr bool fits = weak || detail::may_become<Seed, T, extents_type>;
  static_assert(fits, "[ebb E0138] a seed is an array of the dtype and extents of the root, or a number for a root of rank 0");
  if constexpr (weak) backward(tensor_type(as_element<T>(seed)));
  else if constexpr (fits) {
    if (!vertex_) detail::raise_no_history("ebb::backward", 0);
    bool same = true;
    for (int axis = 0; axis < rank; ++axis) same = same && borrow<Seed>::extent(seed, axis) == extent(axis);
    if (!same) detail::raise_seed("ebb::backward", 0, vertex_.get(), {dtype_of<T>, detail::extents_of_layout(shape_), {}}, seed);
    detail::run_backward_of(*vertex_, output_, {detail::to_storage(seed), nullptr, 0, true});
  }
}
template <class T, std::size_t... E>
void variable<T, E...>::backward(const backward_options& options) const {
  ebb::backward(*this, options);
}

}  // namespace ebb::inline EBB_ABI

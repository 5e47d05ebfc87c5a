// ebb/autograd/graph_function.hpp — a graph made at run time as a function on the tape: runs block by block, and is recorded.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "derivation.hpp"
#include "thread.hpp"

#include "../autocast/scope.hpp"
#include "../base/objects.hpp"
#include "../base/owned.hpp"
#include "../exec/blocks.hpp"
#include "../exec/stage_texts.hpp"

#include <algorithm>
#include <mutex>

namespace ebb::inline EBB_ABI {

namespace detail {

/// A graph that several threads may run, one at a time. Outputs that are inputs are shared.
class runnable {
 public:
  explicit runnable(const graph& g) : distinct_(distinct_outputs(g)), program_(distinct_.g) {
    note_stage<watched>(stage::planned, distinct_.g);
  }

  /// Throws: the errors of the graph's ops.
  EBB_ONCE void run(const storage* in, const std::size_t* kept_symbols, storage* out, const char* call) {
    const graph& g = distinct_.g;
    const vec<std::size_t> symbols = all_symbols(g.syms, kept_symbols);
    vec<storage> results(g.out.size(), storage());
    vec<void*> from(g.inputs + 1, nullptr), to(g.out.size() + 1, nullptr);
    for (int i = 0; i < g.inputs; ++i) from[i] = in[i].data();
    for (int o = 0; o < g.out.size(); ++o) {
      results[o] = storage(volume(g.shape_of(g.out[o]), symbols.data()) * size_of(g.op(g.out[o]).result));
      to[o] = results[o].data();
    }
    {
      const std::lock_guard<std::mutex> alone(mutex_);
      if (!results.empty()) program_.run(from.data(), to.data(), symbols.data(), call);
    }
    for (int o = 0; o < distinct_.from.size(); ++o) out[o] = distinct_.from[o] < 0 ? in[~distinct_.from[o]] : results[distinct_.from[o]];
  }

 private:
  distinct_results distinct_;
  block_program program_;
  std::mutex mutex_;
};

/// The first `count` gradients of n, and room for those of all its outputs and kept values.
EBB_ONCE objects<gradient> with_room_for_kept(const node& n, const gradient* in, int count) {
  objects<gradient> all(in, in + count);
  all.resize(static_cast<std::size_t>(n.program->outputs) + n.program->saved);
  return all;
}
/// The backward of n from gradients at its program's outputs. `in` has only these: n has more outputs if a hook or another thread
/// differentiates it twice meanwhile.
inline void pull_outputs(const twice_differentiable& backward, node& n, const gradient* in, gradient* out) {
  backward.pull(n, with_room_for_kept(n, in, n.program->outputs).data(), out, false);
}

}  // namespace detail

class derived_backward;

/// A function as a graph. Called with a history it makes a node whose backward is derived at run time, and so on to any order.
class graph_function : public node_program {
 public:
  /// `followed`: by number, the contexts in which its backward runs when it is called there; see followed.hpp.
  EBB_ONCE_CTOR explicit graph_function(const graph& g, const char* name, const cast_context* const* followed = nullptr);

  /// From inputs to outputs; recorded if any input has a history. `symbols`: the extents that the graph's arguments had.
  EBB_ONCE void call(const gradient* in, const std::size_t* symbols, gradient* out, bool records);
  /// Whether its results are enough to record a call: no other computed value is saved.
  EBB_ONCE bool records_results();
  /// Records a call that returned these results, some of them undefined. Returns false, and does nothing, if an undefined one is saved.
  EBB_ONCE bool record(const gradient* in, const std::size_t* symbols, gradient* out);
  const graph& program() const { return g_; }
  EBB_ONCE const derived_backward& derived();
  /// The same for this thread's autocast context.
  EBB_ONCE const derived_backward& derived_here();

 private:
  /// saved(i): saved value i of the forward half.
  template <class Saved>
  EBB_ONCE void record(const gradient* in, const std::size_t* symbols, const Saved& saved, gradient* out);
  static graph_function& of(const node& n) { return *static_cast<graph_function*>(const_cast<node_program*>(n.program)); }
  EBB_ONCE static extent_list extents_in(const node& n, int number);
  EBB_ONCE static dtype type_of_saved(const node& n, int number);
  static void run_node(node& n, gradient* in, gradient* out);
  static const twice_differentiable& twice_of(const node& n, const higher_order*);

  graph g_;
  vec<dtype> output_types_;
  const cast_context* const* followed_;
  std::once_flag once_[contexts];
  owned<derived_backward> derived_[contexts];
};

/// A derivation that is ready to run: its forward half, its backward, and the extended backward, made on first use.
class derived_backward final : public twice_differentiable {
 public:
  EBB_ONCE_CTOR explicit derived_backward(derivation d, const char* name)
      : d_(std::move(d)), name_(name), forward_(d_.forward), backward_(d_.backward, name), with_gradient_(detail::kept_with_gradient(d_)) {
    const vec<int>& out = d_.forward.out;
    for (int i = d_.results; i < out.size(); ++i) {
      const auto same = std::find(out.begin(), out.begin() + d_.results, out[i]);
      saved_result_.push(same == out.begin() + d_.results ? -1 : static_cast<int>(same - out.begin()));
    }
  }

  const derivation& graphs() const { return d_; }
  /// By number of the saved value: the result that is the same value, or -1.
  const vec<int>& saved_results() const { return saved_result_; }
  void run_forward(const storage* in, const std::size_t* symbols, storage* out) const { forward_.run(in, symbols, out, name_); }

  /// The backward of n, recorded or not, from its kept values and from gradients at its results and, if there are some, at kept values.
  /// If it is recorded, n's own compiled program computes the values, unless `out` has them already.
  EBB_ONCE void pull(node& n, gradient* in, gradient* out, bool records) const override {
    const bool extended = has_gradient_of_kept(n, in);
    graph_function& f = extended ? this->extended() : backward_;
    const int kept = d_.kept.size();
    objects<gradient> x;
    std::uint64_t arrived = 0;
    for (int i = 0; i < kept; ++i) x.push_back(kept_value(n, i, records));
    const auto add_seed = [&](int output) {
      const bool there = output >= 0 && output < n.outputs && in[output].defined;
      const auto number = static_cast<int>(x.size());
      if (there) arrived |= std::uint64_t{1} << std::min(number - kept, 63);
      x.push_back(there ? in[output] : zeros(f.program(), number, n.symbols()));
    };
    if (extended) {
      for (int o : d_.outputs) add_seed(o);
      for (int i : with_gradient_) add_seed(n.program->outputs + i);
    } else {
      for (int s : d_.read_seeds) add_seed(d_.outputs[s]);
    }
    if (records) n.outputs.store(static_cast<std::uint16_t>(n.program->outputs + n.program->saved), std::memory_order_relaxed);
    if (arrived == 0) return;
    if (!records || extended || !f.records_results() || !has_results(n, in, out) || !f.record(x.data(), n.symbols(), out))
      f.call(x.data(), n.symbols(), out, records);
    const vec<std::uint64_t> depends = dependences(f.program(), kept, static_cast<int>(x.size()) - kept);
    for (int e = 0; e < depends.size(); ++e)
      if (!(depends[e] & arrived)) out[e] = {};
  }

 private:
  EBB_ONCE bool has_gradient_of_kept(const node& n, const gradient* in) const {
    for (int i : with_gradient_)
      if (n.program->outputs + i < n.outputs && in[n.program->outputs + i].defined) return true;
    return false;
  }
  /// Whether `out` has the results of n's own program, if need be after running it.
  EBB_ONCE static bool has_results(node& n, gradient* in, gradient* out) {
    if (std::any_of(out, out + n.program->edges, [](const gradient& g) { return g.defined; })) return true;
    if (n.packed.load(std::memory_order_relaxed)) return false;  // unpack hooks are called once
    n.program->run(n, in, out);
    return true;
  }
  /// The history of an argument is its edge's target, that of a saved value is the node itself.
  EBB_ONCE gradient kept_value(node& n, int i, bool records) const {
    gradient g{detail::saved_value(n, i), nullptr, 0, true};
    if (!records) return g;
    const int number = d_.kept[i];
    if (number >= d_.arguments) {
      bool real = false;
      for (int w : with_gradient_) real = real || w == i;
      if (real) return {std::move(g.value), counted<vertex>(&n), static_cast<std::uint32_t>(n.program->outputs + i), true};
      return g;
    }
    for (int e = 0; e < d_.edges.size(); ++e)
      if (d_.edges[e] == number && n.edges()[e].to)
        return {std::move(g.value), counted<vertex>(n.edges()[e].to), n.edges()[e].output, true};
    return g;
  }
  EBB_ONCE static gradient zeros(const graph& g, int input, const std::size_t* symbols) {
    const int k = g.input(input);
    if (k < 0) return {storage(), nullptr, 0, true};
    const vec<std::size_t> values = detail::all_symbols(g.syms, symbols);
    storage z(volume(g.shape_of(k), values.data()) * size_of(g.op(k).result));
    if (z.bytes()) std::memset(z.data(), 0, z.bytes());
    return {std::move(z), nullptr, 0, true};
  }
  EBB_ONCE graph_function& extended() const {
    std::call_once(once_, [&] {
      const pass_log said("an extended backward", name_);
      const graph g = detail::backward_from_kept(d_, true);
      if (g.out.size() != d_.edges.size())
        raise(std::string("ebb::backward: ") + name_ +
              " cannot be differentiated twice: a pull in it mentions an operand that it gives no gradient; use ebb::stop_gradient there");
      extended_ = make_owned<graph_function>(g, name_);
    });
    return *extended_;
  }

  derivation d_;
  const char* name_;
  mutable detail::runnable forward_;
  mutable graph_function backward_;
  vec<int> with_gradient_, saved_result_;
  mutable std::once_flag once_;
  mutable owned<graph_function> extended_;
};

EBB_ONCE_CTOR graph_function::graph_function(const graph& g, const char* node_name, const cast_context* const* followed)
    : node_program{.name = node_name,
                   .outputs = static_cast<std::uint16_t>(g.out.size()),
                   .edges = static_cast<std::uint16_t>(detail::real_inputs(g).size()),
                   .saved = 0,
                   .symbols = static_cast<std::uint16_t>(detail::argument_symbols(g.syms)),
                   .types = nullptr,
                   .extents = extents_in,
                   .saved_type = type_of_saved,
                   .run = run_node,
                   .twice = twice_of},
      g_(g),
      followed_(followed) {
  for (int o : g_.out) output_types_.push(g_.op(o).result);
  types = output_types_.data();
}

EBB_ONCE const derived_backward& graph_function::derived() {
  std::call_once(once_[0], [&] {
    const pass_log said("a derivative", name);
    derived_[0] = make_owned<derived_backward>(detail::derive(g_, detail::real_inputs(g_)), name);
    saved = static_cast<std::uint16_t>(derived_[0]->graphs().kept.size());
  });
  return *derived_[0];
}
EBB_ONCE const derived_backward& graph_function::derived_here() {
  const int now = followed_ ? current_context() : 0;
  if (now == 0) return derived();
  std::call_once(once_[now], [&] {
    derived_[now] = make_owned<derived_backward>(detail::in_other_context(derived().graphs(), *followed_[now]), name);
  });
  return *derived_[now];
}

EBB_ONCE void graph_function::call(const gradient* in, const std::size_t* symbol_values, gradient* out, bool records) {
  const derived_backward& t = derived();
  const derivation& d = t.graphs();
  objects<storage> x, y(static_cast<std::size_t>(d.forward.out.size()));
  for (int i = 0; i < g_.inputs; ++i) x.push_back(in[i].value);
  t.run_forward(x.data(), symbol_values, y.data());
  for (int o = 0; o < d.results; ++o) out[o] = {y[static_cast<std::size_t>(o)], nullptr, 0, true};
  if (records) record(in, symbol_values, [&](int i) { return y[static_cast<std::size_t>(d.results + i)]; }, out);
}
EBB_ONCE bool graph_function::records_results() {
  const vec<int>& saved_in = derived().saved_results();
  return std::none_of(saved_in.begin(), saved_in.end(), [](int result) { return result < 0; });
}
EBB_ONCE bool graph_function::record(const gradient* in, const std::size_t* symbol_values, gradient* out) {
  const vec<int>& saved_in = derived().saved_results();
  if (std::any_of(saved_in.begin(), saved_in.end(), [&](int result) { return !out[result].defined; })) return false;
  record(in, symbol_values, [&](int i) { return out[saved_in[i]].value; }, out);
  return true;
}
template <class Saved>
void graph_function::record(const gradient* in, const std::size_t* symbol_values, const Saved& saved_at, gradient* out) {
  const derivation& d = derived().graphs();
  if (std::none_of(d.edges.begin(), d.edges.end(), [&](int e) { return in[e].from; })) return;
  const counted<vertex> history = new_node(*this);
  node& n = static_cast<node&>(*history);
  for (int e = 0; e < d.edges.size(); ++e) n.connect(e, in[d.edges[e]].from.get(), in[d.edges[e]].output);
  for (int i = 0; i < d.kept.size(); ++i)
    n.saved()[i] = d.kept[i] < d.arguments ? in[d.kept[i]].value : saved_at(d.kept[i] - d.arguments);
  for (int s = 0; s < symbols; ++s) n.symbols()[s] = symbol_values[s];
  detail::put_on_tape(this_tape(), n);
  for (int o = 0; o < d.results; ++o)
    if (out[o].defined) out[o].from = history, out[o].output = static_cast<std::uint32_t>(o);
}

EBB_ONCE extent_list graph_function::extents_in(const node& n, int number) {
  graph_function& f = of(n);
  const derivation& d = f.derived().graphs();
  const bool is_output = number < f.outputs;
  const graph& g = is_output ? f.g_ : d.backward;
  const int k = is_output ? g.out[number] : g.input(number - f.outputs);
  return extents_at(g.shape_of(k), detail::all_symbols(g.syms, n.symbols()).data());
}
EBB_ONCE dtype graph_function::type_of_saved(const node& n, int number) {
  const graph& b = of(n).derived().graphs().backward;
  return b.op(b.input(number)).result;
}
inline void graph_function::run_node(node& n, gradient* in, gradient* out) { detail::pull_outputs(of(n).derived_here(), n, in, out); }
inline const twice_differentiable& graph_function::twice_of(const node& n, const higher_order*) { return of(n).derived_here(); }

}  // namespace ebb::inline EBB_ABI

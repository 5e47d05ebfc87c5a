// test/autograd/random_tape.hpp — runs a random program on the tape and writes down everything observable.
// SPDX-License-Identifier: BSL-1.0
//
// Observable are gradients of leaves, retained gradients, the results of grad, the calls of hooks with their arguments in order, and the
// calls that were refused or threw, with the reason. Arrays that were handed out are read again at the end.
#pragma once

#include "random_programs.hpp"

#include <ebb/ebb.hpp>

#include <bit>
#include <cstdio>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace random_programs {

using floats = std::vector<float>;
using array = ebb::tensor<float, ebb::dyn>;
using var = ebb::variable<float, ebb::dyn>;
using scalar = ebb::variable<float>;

inline constexpr auto mul_region = ebb::compile([](auto x, auto y) { return x * y; });
inline constexpr auto plus_region = ebb::compile([](auto x, auto y) { return x + y; });
inline constexpr auto tanh_region = ebb::compile([](auto x, auto c) { return ebb::tanh(x) * c; });
inline constexpr auto scale_region = ebb::compile([](auto x) { return x * 1.5; });
inline constexpr auto two_region = ebb::compile([](auto x, auto y) { return std::tuple(x * y, x + y); });
inline constexpr auto through_region = ebb::compile([](auto x) { return std::tuple(x, x * 3); });
inline constexpr auto blocked_region = ebb::compile([](auto x, auto y) { return x * ebb::stop_gradient(y); });
inline constexpr auto split_region = ebb::compile([](auto x, auto y) { return std::tuple(x * x, y * 0.5); });
inline constexpr auto total_region = ebb::compile([](auto x) { return ebb::sum(x); });

/// A long array is compared by this text.
std::string digest(const auto& v) {
  std::uint64_t hash = 14695981039346656037u;
  for (const auto x : v) {
    const double wide = static_cast<double>(x);
    hash = (hash ^ (wide != wide ? 1 : std::bit_cast<std::uint64_t>(wide))) * 1099511628211u;
  }
  return std::to_string(v.size()) + " elements like " + std::to_string(hash);
}
inline std::string text(const floats& v) {
  if (v.size() > 1000) return digest(v);
  std::string s = "[";
  for (float x : v) {
    char c[40];
    std::snprintf(c, sizeof c, x != x ? "nan " : "%a ", static_cast<double>(x));
    s += c;
  }
  return s + "]";
}

struct thrown_by_hook {
  int id;
};

struct journal {
  std::vector<std::string> lines;
  int depth = 0;  // of nested backwards

  void operator()(const std::string& what, int id, const std::string& more = "") {
    lines.push_back(what + " " + std::to_string(id) + " " + more);
  }
};

inline floats constant(const program& p) { return values_of(p, -1, p.extent); }

/// The first of these reasons that a message contains.
inline std::string reason(const std::string& message) {
  for (const char* why : {"saved is gone", "has no history", "a seed can be left out", "no output depends", "no gradient arrived",
                          "only a leaf", "is no leaf", "wrt is empty", "while a graph of the backward"})
    if (message.find(why) != std::string::npos) return why;
  return message;
}

inline array to_array(const floats& v) { return array(std::span<const float>(v)); }
inline floats to_floats(const array& a) { return floats(a.data(), a.data() + a.size()); }
inline floats to_floats(const ebb::tensor<float>& a) { return {a()}; }
inline floats to_floats(const ebb::any_tensor& a) {
  return a.extents().rank == 1 ? to_floats(a.as<float, ebb::dyn>()) : floats{a.as<float>()()};
}
inline ebb::any_tensor like(const ebb::any_tensor& a, const floats& v) {
  return a.extents().rank == 1 ? ebb::any_tensor(to_array(v)) : ebb::any_tensor(ebb::tensor<float>(v[0]));
}
inline floats doubled(floats v) {
  for (float& x : v) x = x * 2;
  return v;
}
std::string text(const auto& v) { return v.defined() ? text(to_floats(v.value())) : "undefined"; }
inline std::string text(const ebb::any_tensor& v) { return v.defined() ? text(to_floats(v)) : "undefined"; }
inline std::string text(const ebb::gradients& g) {
  std::string s;
  for (int i = 0; i < g.size(); ++i) s += text(g.get(i));
  return s;
}

/// Runs programs on the tape; the surrounding scope decides whether backwards are captured.
class on_ebb {
 public:
  explicit on_ebb(const program& p) : p_(p) {
    for (const step& s : p.steps) {
      const bool has_nested = s.what == op::hook && static_cast<hook_kind>(s.b) == hook_kind::nested;
      makes_graphs_ = makes_graphs_ || has_nested || (s.flags & create_graph);
    }
  }
  on_ebb(const on_ebb&) = delete;
  on_ebb& operator=(const on_ebb&) = delete;
  /// A gradient with a history refers to the variable it is the gradient of: both are released.
  virtual ~on_ebb() {
    for (auto& [id, v] : vectors_) v.zero_grad();
    for (auto& [id, v] : scalars_) v.zero_grad();
  }

  std::vector<std::string> run() {
    for (const step& s : p_.steps) guarded(s);
    for (const auto& [id, v] : vectors_)
      if (id >= 0) log("value", id, text(to_floats(v.value())) + " gradient " + text(v.grad()));
    for (const auto& [id, v] : scalars_)
      if (id >= 0) log("value", id, text(to_floats(v.value())) + " gradient " + text(v.grad()));
    for (const array& a : kept_) log("kept", 0, text(to_floats(a)));
    for (const var& v : held_) log("held", 0, text(v));
    finish();
    return std::move(log.lines);
  }

 protected:
  /// Runs other steps than those below. Returns whether it knew the step.
  virtual bool run_other(const step&) { return false; }
  virtual void finish() {}

  void guarded(const step& s) {
    try {
      run(s);
    } catch (const ebb::error& e) {
      log("refused", s.id, reason(e.what()));
    } catch (const thrown_by_hook& e) {
      log("threw", s.id, std::to_string(e.id));
    }
  }
  /// A variable that may be part of a cycle is only forgotten.
  void drop(int id) {
    if (const auto n = vectors_.extract(id); n && makes_graphs_) vectors_[-2 - id] = n.mapped();
    if (const auto n = scalars_.extract(id); n && makes_graphs_) scalars_[-2 - id] = n.mapped();
  }
  var* vector(int id) {
    const auto i = vectors_.find(id);
    return i == vectors_.end() ? nullptr : &i->second;
  }
  scalar* single(int id) {
    const auto i = scalars_.find(id);
    return i == scalars_.end() ? nullptr : &i->second;
  }
  void run(const step& s) {
    if (run_other(s)) return;
    switch (s.what) {
      case op::leaf: vectors_.insert_or_assign(s.id, var(to_array(values_of(p_, s.id, p_.extent)))); return;
      case op::unhook: hooks_[s.a].remove(); return;
      case op::drop: return drop(s.a);
      case op::backward:
      case op::grad: return walk(s);
      default: break;
    }
    if (scalar* const x = single(s.a)) {
      if (s.what == op::hook) add_hook(*x, s);
      if (s.what == op::retain) x->retain_grad();
      return;
    }
    var* const x = vector(s.a);
    if (!x) return;
    switch (s.what) {
      case op::hook: return add_hook(*x, s);
      case op::retain: return x->retain_grad();
      case op::assign: return x->assign(to_array(values_of(p_, s.id, p_.extent)));
      case op::write: {
        float* const to = x->mutable_data();
        if (p_.extent) to[s.id % static_cast<int>(p_.extent)] = 0.375f;
        return;
      }
      case op::set_grad: return x->set_grad(to_array(values_of(p_, s.id, p_.extent)));
      case op::zero_grad: return x->zero_grad();
      case op::hold_grad: held_.push_back(x->grad()); return;
      default: return call(s, *x, vector(s.b));
    }
  }
  void call(const step& s, const var x, const var* b) {
    const ebb::recording_scope recording(!(s.flags & unrecorded) && ebb::this_tape().records);
    const auto both = [&](const auto& r) {
      vectors_.insert_or_assign(s.id, std::get<0>(r));
      vectors_.insert_or_assign(s.id + 1, std::get<1>(r));
    };
    switch (s.what) {
      case op::tanh_c: vectors_.insert_or_assign(s.id, tanh_region(x, to_array(constant(p_)))); return;
      case op::scale: vectors_.insert_or_assign(s.id, scale_region(x)); return;
      case op::through: return both(through_region(x));
      case op::total: scalars_.insert_or_assign(s.id, total_region(x)); return;
      default: break;
    }
    if (!b) return;
    const var y = *b;
    switch (s.what) {
      case op::mul: vectors_.insert_or_assign(s.id, mul_region(x, y)); return;
      case op::plus: vectors_.insert_or_assign(s.id, plus_region(x, y)); return;
      case op::two: return both(two_region(x, y));
      case op::blocked: vectors_.insert_or_assign(s.id, blocked_region(x, y)); return;
      case op::split: return both(split_region(x, y));
      default: return;
    }
  }

  template <std::size_t... E>
  void add_hook(const ebb::variable<float, E...>& v, const step& s) {
    using value = ebb::tensor<float, E...>;
    constexpr bool is_vector = sizeof...(E) == 1;
    const auto with = [&](auto f) { hooks_.insert_or_assign(s.id, v.register_hook(std::move(f))); };
    const auto after_sum = [&](auto f) { hooks_.insert_or_assign(s.id, v.register_post_accumulate_grad_hook(ebb::opaque(std::move(f)))); };
    const auto traced_behind = [&](auto f) { hooks_.insert_or_assign(s.id, v.register_post_accumulate_grad_hook(std::move(f))); };
    const auto node = [&](auto add) { hooks_.insert_or_assign(s.id, add(v.is_leaf() ? v.accumulate_node() : v.grad_fn())); };
    const int id = s.id;
    switch (static_cast<hook_kind>(s.b)) {
      case hook_kind::look: return with([this, id](const value& g) { log("look", id, text(to_floats(g))); });
      case hook_kind::look_and_double:
        return with([this, id](const value& g) -> value {
          log("double", id, text(to_floats(g)));
          if constexpr (is_vector) return to_array(doubled(to_floats(g)));
          else return value(g() * 2);
        });
      case hook_kind::keep:
        if constexpr (is_vector) with([this](const value& g) { kept_.push_back(g); });
        return;
      case hook_kind::once:
        return with([this, id](const value& g) {
          log("once", id, text(to_floats(g)));
          hooks_[id].remove();
        });
      case hook_kind::adds_another:
        return with([this, id, at = s.a](const value&) {
          log("adds", id);
          guarded({op::hook, id + 1, at, static_cast<int>(hook_kind::look)});
        });
      case hook_kind::throws:
        return with([this, id](const value&) {
          log("throws", id);
          throw thrown_by_hook{id};
        });
      case hook_kind::queues:
        return with([this, id](const value&) { ebb::queue_callback([this, id] { log("callback", id); }); });
      case hook_kind::nested:
        return with([this, s](const value&) {
          if (log.depth == 1) walk(nested_grad(s));
        });
      case hook_kind::half:
        if constexpr (is_vector) with([](auto g) { return g * 0.5; });
        return;
      case hook_kind::plus_bound:
        if constexpr (is_vector) with(ebb::bind(to_array(values_of(p_, id, p_.extent)), [](auto c, auto g) { return g + c; }));
        return;
      case hook_kind::plus_number:
        if constexpr (is_vector) with(ebb::bind(values_of(p_, id, 1)[0], [](auto c, auto g) { return g + c; }));
        return;
      case hook_kind::on_tape:
        if constexpr (is_vector) with([](const var& g) { return scale_region(g); });
        return;
      case hook_kind::meddles:
        return with([this, s](const value&) {
          log("meddles", s.id);
          guarded(meddling(s));
        });
      case hook_kind::before_look:
        return node([&](const ebb::node_handle& n) {
          return n.register_prehook([this, id](ebb::gradients& in) { log("before", id, text(in)); });
        });
      case hook_kind::before_double:
        return node([&](const ebb::node_handle& n) {
          return n.register_prehook([](ebb::gradients& in) {
            if (in.defined(0)) in.set(0, like(in.get(0), doubled(to_floats(in.get(0)))));
          });
        });
      case hook_kind::before_clear:
        return node([&](const ebb::node_handle& n) { return n.register_prehook([](ebb::gradients& in) { in.clear(0); }); });
      case hook_kind::after_look:
        return node([&](const ebb::node_handle& n) {
          return n.register_hook([this, id](ebb::gradients& out, const ebb::gradients& in) {
            log("after", id, text(out) + " from " + text(in));
          });
        });
      case hook_kind::after_double:
        return node([&](const ebb::node_handle& n) {
          return n.register_hook([](ebb::gradients& out, const ebb::gradients&) {
            if (out.size() && out.defined(0)) out.set(0, like(out.get(0), doubled(to_floats(out.get(0)))));
          });
        });
      case hook_kind::after_throws:
        return node([&](const ebb::node_handle& n) {
          return n.register_hook([this, id](ebb::gradients&, const ebb::gradients&) {
            log("throws", id);
            throw thrown_by_hook{id};
          });
        });
      case hook_kind::accumulated_look:
        after_sum([this, id](const auto& x) {
          log("accumulated", id, text(x.grad()));
        });
        return;
      case hook_kind::accumulated_double:
        after_sum([](auto& x) {
          if constexpr (is_vector)
            if (x.grad().defined()) x.set_grad(to_array(doubled(to_floats(x.grad().value()))));
        });
        return;
      case hook_kind::before_both:
      case hook_kind::after_mixed: return;  // of variety mixed
      case hook_kind::traced_step: return traced_behind([](auto x, auto g) { return x - g * 0.25; });
      case hook_kind::traced_clear: return traced_behind([](auto x, auto g) { return std::tuple(x - g * 0.25, ebb::nothing); });
      case hook_kind::traced_gradient: return traced_behind([](auto x, auto g) { return std::tuple(x, g * 0.5); });
      case hook_kind::accumulated_step:
        after_sum([](auto& x) {
          if constexpr (is_vector) {
            if (!x.grad().defined()) return;
            floats w = to_floats(x.value());
            const floats g = to_floats(x.grad().value());
            for (std::size_t i = 0; i < w.size(); ++i) w[i] -= 0.25f * g[i];
            x.assign(to_array(w));
            x.zero_grad();
          }
        });
        return;
    }
  }

  void walk(const step& s) {
    const var* const a = vector(s.a);
    const scalar* const b = single(s.b);
    const ebb::any_tensor seed = s.flags & seed_b ? ebb::any_tensor(ebb::tensor<float>(1.25f)) : ebb::any_tensor();
    if (a && b) walk(s, std::tuple(*b, *a), {seed, seed_for_a(s)});
    else if (a) walk(s, *a, {seed_for_a(s)});
    else if (b) walk(s, *b, std::vector<ebb::any_tensor>(s.flags & seed_b ? 1 : 0, seed));
  }
  ebb::any_tensor seed_for_a(const step& s) {
    if (!(s.flags & seed_a)) return {};
    kept_.push_back(to_array(values_of(p_, s.id, p_.extent)));
    return kept_.back();
  }
  void walk(const step& s, const auto& roots, std::vector<ebb::any_tensor> seeds) {
    ++log.depth;
    struct leave {
      int& depth;
      ~leave() { --depth; }
    } const left{log.depth};
    std::vector<var> list;
    for (int id : s.list)
      if (const var* const v = vector(id)) list.push_back(*v);
    const bool retains = s.flags & retain_graph, creates = s.flags & create_graph;
    if (s.what == op::grad) {
      const ebb::grad_options o{.seeds = std::move(seeds), .retain_graph = retains, .create_graph = creates,
                                .allow_unused = (s.flags & allow_unused) != 0, .materialize_grads = (s.flags & materialize) != 0};
      for (const var& v : ebb::grad(roots, ebb::wrt(list), o)) log("grad", s.id, text(v));
    } else {
      ebb::backward_options o{.seeds = std::move(seeds), .retain_graph = retains, .create_graph = creates};
      if (s.flags & with_inputs && !list.empty()) o.inputs = ebb::wrt(list);
      ebb::backward(roots, o);
    }
  }

  const program& p_;
  bool makes_graphs_ = false;
  journal log;
  std::map<int, var> vectors_;  // forgotten ones below -1
  std::map<int, scalar> scalars_;
  std::map<int, ebb::hook_handle> hooks_;
  std::vector<array> kept_;
  std::vector<var> held_;
};

}  // namespace random_programs

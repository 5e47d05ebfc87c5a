// test/capture/random_mixed.hpp — random programs with arrays of double among those of float, and masks that are saved.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../autograd/random_tape.hpp"

namespace random_programs {

using doubles = ebb::tensor<double, ebb::dyn>;
using wide_var = ebb::variable<double, ebb::dyn>;

inline constexpr auto masked_region = ebb::compile([](auto x, auto y) { return ebb::where(x > y, x * 2, y * x); });
inline constexpr auto by_sum_region = ebb::compile([](auto x, auto y) { return x * (y / (2 + ebb::sum(x * x))); });  // no chain
inline constexpr auto widen_region = ebb::compile([](auto x) { return ebb::cast<double>(x) * 1.25; });
inline constexpr auto mul_wide_region = ebb::compile([](auto x, auto y) { return ebb::tanh(x) * y; });
inline constexpr auto narrowed_region = ebb::compile([](auto x) { return ebb::cast<float>(x * 0.75); });

inline std::string text(const doubles& v) {
  if (v.size() > 1000) return digest(std::span(v.data(), v.size()));
  std::string s = "[";
  for (std::size_t i = 0; i < v.size(); ++i) {
    char c[40];
    std::snprintf(c, sizeof c, v(i) != v(i) ? "nan " : "%a ", v(i));
    s += c;
  }
  return s + "]";
}

class on_ebb_mixed final : public on_ebb {
 public:
  using on_ebb::on_ebb;
  ~on_ebb_mixed() override {
    for (auto& [id, v] : wides_) v.zero_grad();
  }

 private:
  wide_var* wide(int id) {
    const auto i = wides_.find(id);
    return i == wides_.end() ? nullptr : &i->second;
  }
  bool run_other(const step& s) override {
    if (s.what == op::hook && s.b >= static_cast<int>(hook_kind::before_both)) {
      if (const var* const v = vector(s.a); v && !v->is_leaf()) hook_on_node(*v, s);
      return true;
    }
    const bool is_made = s.what >= op::masked;
    wide_var *const x = wide(s.a), *const y = wide(s.b);
    if (!is_made && !x) return false;
    if (s.what == op::masked) {
      const var *const a = vector(s.a), *const b = vector(s.b);
      if (a && b) make(s.id, s.id % 2 ? masked_region(*a, *b) : by_sum_region(*a, *b));  // a chain, or no chain
    } else if (s.what == op::leaf_wide) {
      const floats v = values_of(p_, s.id, p_.extent);
      wides_.insert_or_assign(s.id, wide_var(doubles::generate([&](std::size_t i) { return static_cast<double>(v[i]) / 3; }, v.size())));
    } else if (s.what == op::widen) {
      if (vector(s.a)) wides_.insert_or_assign(s.id, widen_region(*vector(s.a)));
    } else if (s.what == op::mul_wide) {
      if (x && y) wides_.insert_or_assign(s.id, mul_wide_region(*x, *y));
    } else if (s.what == op::narrowed) {
      if (x) make(s.id, narrowed_region(*x));
    } else if (s.what == op::retain) {
      x->retain_grad();
    } else if (s.what == op::zero_grad) {
      x->zero_grad();
    } else if (s.what == op::hook) {
      hook(*x, s);
    } else {
      return false;
    }
    return true;
  }
  /// Hooks that see both gradients of a node, or those of its operands and its own.
  void hook_on_node(const var& v, const step& s) {
    if (static_cast<hook_kind>(s.b) == hook_kind::before_both) {
      for (const auto& [id, w] : vectors_) {
        if (w.history() != v.history() || w.output() == v.output()) continue;
        const auto results = v.output() < w.output() ? std::tuple(v, w) : std::tuple(w, v);
        const auto mix = [](auto g) { return std::tuple(std::get<0>(g) + std::get<1>(g) * 0.5, std::get<1>(g) * 0.75); };
        return keep(s.id, ebb::grad_fn(results).register_prehook(mix));
      }
      return;
    }
    for (const step& made : p_.steps) {
      if (made.id != s.a) continue;
      const var *const x = vector(made.a), *const y = vector(made.b);
      if ((made.what == op::mul || made.what == op::plus) && x && y) {
        const auto mix = [](auto out, auto in) { return std::tuple(std::get<0>(out) + in * 0.5, std::get<1>(out) * 0.25); };
        keep(s.id, v.grad_fn(*x, *y).register_hook(mix));
      } else if ((made.what == op::scale || made.what == op::tanh_c) && x) {
        keep(s.id, v.grad_fn(*x).register_hook(ebb::bind(0.125f, [](auto c, auto out, auto in) { return out - in * c; })));
      }
    }
  }
  void hook(const wide_var& x, const step& s) {
    switch (static_cast<hook_kind>(s.b)) {
      case hook_kind::look:
        return keep(s.id, x.register_hook([this, id = s.id](const doubles& g) { log("look", id, random_programs::text(g)); }));
      case hook_kind::half: return keep(s.id, x.register_hook([](auto g) { return g * 0.5; }));
      case hook_kind::before_double:
        if (x.is_leaf()) return keep(s.id, x.accumulate_node().register_prehook([](auto g) { return g * 2; }));
        return keep(s.id, x.grad_fn().register_prehook([](auto g) { return g * 2; }));
      default: return keep(s.id, x.register_hook(ebb::bind(0.1 * s.id, [](auto c, auto g) { return g + c; })));
    }
  }
  void make(int id, const var& v) { vectors_.insert_or_assign(id, v); }
  void keep(int id, const ebb::hook_handle& h) { hooks_.insert_or_assign(id, h); }
  void finish() override {
    for (const auto& [id, v] : wides_) {
      const std::string gradient = v.grad().defined() ? random_programs::text(v.grad().value()) : "undefined";
      log("wide", id, random_programs::text(v.value()) + " gradient " + gradient);
    }
  }

  std::map<int, wide_var> wides_;
};

}  // namespace random_programs

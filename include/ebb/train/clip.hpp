// ebb/train/clip.hpp — clips gradients by norms or element by element, and adds noise to them.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../autograd/parameters.hpp"
#include "../exec/gradient.hpp"
#include "../random/random.hpp"
#include "../trace/functions.hpp"

#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

namespace ebb::inline EBB_ABI {

namespace detail {

struct sum_of_squares {
  constexpr auto operator()(auto g) const {
    const auto wide = cast<double>(g);
    return sum(wide * wide);
  }
};
struct scaled {
  constexpr auto operator()(auto g, auto factor) const { return g * factor; }
};
struct clamped {
  constexpr auto operator()(auto g, auto bound) const { return clamp(g, -bound, bound); }
};

[[noreturn]] EBB_COLD void raise_no_leaf(const char* call, const std::string& name) {
  raise(std::string(call) + ": " + name + " is no leaf: name parameters");
}

[[noreturn]] EBB_COLD void raise_no_deviation(double deviation) {
  raise("ebb::add_grad_noise: " + number_text(deviation) + " is no standard deviation");
}

/// f(gradient, the type of its elements, their number) for each parameter that has a gradient.
/// Throws: error for variables that are not leaves, before the first call.
template <class P>
void each_gradient(const char* call, const P& p, auto&& f) {
  each_variable([&](const auto& v) {
    if (!v.history() || !v.is_leaf()) raise_no_leaf(call, v.name());
  }, p);
  each_variable([&]<class T, std::size_t... E>(const variable<T, E...>& v) {
    leaf& l = static_cast<leaf&>(*v.history());
    if (!l.grad.defined) return;
    with_gradient_type<T>(l.gradient_type, [&]<class G>(G) { f(l.grad, std::type_identity<G>{}, v.size()); });
  }, p);
}
/// The sum of the squares of the elements, as one row.
template <class T>
EBB_TEMPLATE double squares_of(const view<const T, dyn>& all) {
  return program_function<compile_spec<sum_of_squares>>{}(all);
}
template <class Function, class T>
EBB_TEMPLATE void change_elements(const view<T, dyn>& all, double number) {
  program_function<compile_spec<Function>>{}(into(all), all, as_element<T>(number));
}
EBB_ONCE_FOR_ALL(double squares_of(const view<const float, dyn>&))
EBB_ONCE_FOR_ALL(double squares_of(const view<const double, dyn>&))
EBB_ONCE_FOR_ALL(void change_elements<scaled>(const view<float, dyn>&, double))
EBB_ONCE_FOR_ALL(void change_elements<scaled>(const view<double, dyn>&, double))

/// Gives each gradient elements of its own, to write to: other gradients that share them stay unchanged. Everything that may throw is here.
void detach_gradients(const char* call, const auto& p) {
  each_gradient(call, p, [](gradient& g, auto, std::size_t) { g.value.detach(); });
}
/// Changes the elements of each gradient. The gradients lose their history.
template <class Function>
void change_gradients(const char* call, const auto& p, double number) {
  detach_gradients(call, p);
  each_gradient(call, p, [&]<class T>(gradient& g, std::type_identity<T>, std::size_t count) {
    change_elements<Function>(gradient_row<T>(g, count), number);
    g.from = {};
  });
}

}  // namespace detail

struct clip_options {
  bool error_if_nonfinite = false;
};

/// Scales the gradients of all parameters by one factor, so that their common Euclidean norm is at most max_norm. Returns the norm that
/// they had.   ebb::clip_grad_norm(std::tie(w, b), 1.0);
/// The factor is min(1, max_norm / (norm + 1e-6)); a norm that is NaN makes all gradients NaN.
/// Error: squares are summed in double.
/// Source: PyTorch's clip_grad_norm_.
/// Throws: error for variables that are not leaves and, if requested, for a norm that is not finite; nothing has changed.
template <parameters P>
double clip_grad_norm(const P& p, double max_norm, const clip_options& o = {}) {
  double squares = 0;
  detail::each_gradient("ebb::clip_grad_norm", p, [&]<class T>(gradient& g, std::type_identity<T>, std::size_t count) {
    squares += detail::squares_of<T>(detail::gradient_row<T>(g, count));
  });
  const double norm = std::sqrt(squares), factor = max_norm / (norm + 1e-6);
  if (o.error_if_nonfinite && !std::isfinite(norm)) raise("ebb::clip_grad_norm: the norm of the gradients is not finite");
  if (!(factor >= 1)) detail::change_gradients<detail::scaled>("ebb::clip_grad_norm", p, factor);
  return norm;
}

/// Refused: no variables.
template <class P>
  requires(!parameters<P>)
double clip_grad_norm(const P&, double, const clip_options& = {}) {
  static_assert(parameters<P>, "[ebb E0198] ebb::clip_grad_norm takes variables, or tuples, vectors and structs of them");
  return 0;
}

/// Moves each element of each gradient into [-bound, bound]; NaN stays NaN.
/// Source: PyTorch's clip_grad_value_.   Throws: error for variables that are not leaves; nothing has changed.
template <parameters P>
void clip_grad_value(const P& p, double bound) {
  detail::change_gradients<detail::clamped>("ebb::clip_grad_value", p, bound);
}
template <class P>
  requires(!parameters<P>)
void clip_grad_value(const P&, double) {
  static_assert(parameters<P>, "[ebb E0198] ebb::clip_grad_value takes variables, or tuples, vectors and structs of them");
}

/// Scales the gradient of each parameter by a factor of its own, so that its Euclidean norm is at most share * max(norm(p), eps), where p
/// is the parameter. Without eps, parameters that are zero would never move.   ebb::clip_grad_adaptive(std::tie(w, b), 0.01);
/// The factor is min(1, share * max(norm(p), eps) / norm(gradient)). A norm that is NaN, of a parameter or of a gradient, makes all of that
/// gradient NaN; other gradients do not change.
/// Error: squares are summed in double.
/// Source: Brock et al., ICML 2021, arXiv:2102.06171, there for each row; optax.adaptive_grad_clip, whose defaults these are.
/// Throws: error for variables that are not leaves, and if share or eps is not above 0; nothing has changed.
template <parameters P>
void clip_grad_adaptive(const P& p, double share = 0.01, double eps = 1e-3) {
  constexpr const char* call = "ebb::clip_grad_adaptive";
  if (!(share > 0 && eps > 0)) raise("ebb::clip_grad_adaptive: share and eps must be above 0");
  detail::detach_gradients(call, p);
  std::vector<double> bounds;
  each_variable([&]<class T, std::size_t... E>(const variable<T, E...>& v) {
    if (!static_cast<leaf&>(*v.history()).grad.defined) return;
    const double length = std::sqrt(detail::squares_of(view<const T, dyn>(v.data(), v.size())));
    bounds.push_back(share * (length < eps ? eps : length));
  }, p);
  std::size_t at = 0;
  detail::each_gradient(call, p, [&]<class T>(gradient& g, std::type_identity<T>, std::size_t count) {
    const view<T, dyn> all = detail::gradient_row<T>(g, count);
    const double bound = bounds[at++], norm = std::sqrt(detail::squares_of<T>(all));
    if (norm <= bound) return;
    detail::change_elements<detail::scaled>(all, bound / norm);
    g.from = {};
  });
}
template <class P>
  requires(!parameters<P>)
void clip_grad_adaptive(const P&, double = 0.01, double = 1e-3) {
  static_assert(parameters<P>, "[ebb E0198] ebb::clip_grad_adaptive takes variables, or tuples, vectors and structs of them");
}

/// Adds independent normal numbers with the given deviation to all elements of all gradients. The n-th gradient, from 0, takes the numbers
/// of ebb::normal<double>(key.part(n), 0, deviation); parameters without a gradient do not count. Each step needs a key of its own.
///   ebb::add_grad_noise(params, key.fold_in(step), std::sqrt(2 * temperature / lr));   opt.step();
/// Followed by a step of ebb::sgd{.lr = lr} this is stochastic gradient Langevin dynamics:
/// p -= lr * g + sqrt(2 * lr * temperature) * noise. It draws from exp(-loss / temperature) as lr goes to 0.
/// Error: computed in double and rounded once.
/// Source: Welling and Teh, ICML 2011, whose epsilon is 2 * lr; Neelakantan et al., arXiv:1511.06807.
/// Throws: error for variables that are not leaves, and for a deviation that is negative or not finite; nothing has changed.
template <parameters P>
void add_grad_noise(const P& p, random_key key, double deviation) {
  constexpr const char* call = "ebb::add_grad_noise";
  if (!(deviation >= 0 && std::isfinite(deviation))) detail::raise_no_deviation(deviation);
  detail::detach_gradients(call, p);
  std::uint64_t number = 0;
  detail::each_gradient(call, p, [&]<class T>(gradient& g, std::type_identity<T>, std::size_t count) {
    T* const to = detail::gradient_row<T>(g, count).data();
    draw<64>(key.part(number++), count, [=](std::size_t i, std::uint64_t bits) {
      to[i] = as_element<T>(as_element<double>(to[i]) + deviation * standard_normal(bits));
    });
    g.from = {};
  });
}
template <class P>
  requires(!parameters<P>)
void add_grad_noise(const P&, random_key, double) {
  static_assert(parameters<P>, "[ebb E0198] ebb::add_grad_noise takes variables, or tuples, vectors and structs of them");
}

}  // namespace ebb::inline EBB_ABI

// ebb/train/lbfgs.hpp — lbfgs_optimizer: minima by the method L-BFGS for parameters on the tape, from a function that computes the loss.
// SPDX-License-Identifier: BSL-1.0
//
//   ebb::lbfgs_optimizer opt({.steps = 100}, w, b);
//   auto [loss, slope, steps, evaluations, converged] = opt.step([&] {
//     auto l = loss_of(w, b);
//     l.backward();
//     return l;
//   });
// In traced functions, ebb::lbfgs of <ebb/solvers.hpp> does the same, with derivatives by the parameters of the objective.
#pragma once

#include "optimizer.hpp"

#include "../trace/line_search.hpp"

#include <cmath>
#include <limits>

namespace ebb::inline EBB_ABI {

struct lbfgs_options {
  double lr = 1;                     // the first point of each line search, as a part of the step that the method proposes
  int steps = 20;                    // the most line searches in a call of step
  int evaluations = 25;              // the most calls of the function; a line search is not broken off
  int history = 10;                  // how many steps are remembered
  double gradient_tolerance = 1e-7;  // a call ends when no element of the gradient is larger,
  double change_tolerance = 1e-9;    // and when no element of a step is larger, or the loss changes by less
};

/// The result of a call of lbfgs_optimizer::step.
struct lbfgs_result {
  double loss = 0;
  double slope = 0;        // the largest element of the gradient
  int steps = 0;           // line searches that found a better point
  int evaluations = 0;     // calls of the function
  bool converged = false;  // whether a tolerance ended the call, and not a limit or a line search that found nothing
};

namespace detail {

struct inner_product {
  constexpr auto operator()(auto a, auto b) const { return sum(a * b); }
};
struct sum_with {
  constexpr auto operator()(auto a, auto b, auto factor) const { return a + factor * b; }
};
struct largest_element {
  constexpr auto operator()(auto a) const { return max(abs(a)); }
};
template <class T>
struct converted {
  constexpr auto operator()(auto a) const { return cast<T>(a); }
};
template <class T>
struct moved_along {
  constexpr auto operator()(auto from, auto along, auto a) const { return cast<T>(from + a * along); }
};

template <class Number>
double dot_of(const tensor<Number, dyn>& a, const tensor<Number, dyn>& b) {
  return program_function<compile_spec<inner_product>>{}(a, b);
}
template <class Number>
void add_scaled(tensor<Number, dyn>& to, double factor, const tensor<Number, dyn>& b) {
  const view<Number, dyn> all(to.mutable_data(), to.size());
  program_function<compile_spec<sum_with>>{}(into(all), all, b, static_cast<Number>(factor));
}
/// 0 if there are no elements, NaN if one is NaN.
template <class Number>
double largest_of(const tensor<Number, dyn>& a) {
  return a.size() ? static_cast<double>(program_function<compile_spec<largest_element>>{}(a)) : 0;
}

/// The value of a loss, a variable without axes or a number.
template <number L>
constexpr double value_of_loss(const L& loss) {
  return as_element<double>(loss);
}
template <real_element T>
double value_of_loss(const variable<T>& loss) {
  return as_element<double>(loss.item());
}
template <class F>
concept computes_loss = requires(F& f) { value_of_loss(f()); };
/// The rounding of its values: of a number as of a double, since nothing else is known.
template <class L>
inline constexpr double rounding_of_loss = 0x1p-52;
template <>
inline constexpr double rounding_of_loss<variable<float>> = 0x1p-23;
template <class T>
  requires(sizeof(T) == 2)
inline constexpr double rounding_of_loss<variable<T>> = 0x1p-8;

/// The place of a parameter's elements in the row of all, and how they are read and written.
template <class Number>
struct lbfgs_part {
  std::size_t begin = 0, count = 0;
  void (*read_value)(const leaf&, view<Number, dyn> to) = nullptr;
  void (*read_gradient)(leaf&, view<Number, dyn> to) = nullptr;
  void (*move)(leaf&, view<const Number, dyn> from, view<const Number, dyn> along, Number a) = nullptr;  // to from + a along

  using convert = program_function<compile_spec<converted<Number>>>;

  template <class T>
  void use() {
    read_value = [](const leaf& l, view<Number, dyn> to) {
      convert{}(into(to), view<const T, dyn>(reinterpret_cast<const T*>(l.value.data()), to.size()));
    };
    read_gradient = [](leaf& l, view<Number, dyn> to) {
      with_gradient_type<T>(l.gradient_type, [&]<class G>(G) { convert{}(into(to), gradient_row<G>(l.grad, to.size())); });
    };
    move = [](leaf& l, view<const Number, dyn> from, view<const Number, dyn> along, Number a) {
      l.value.detach();
      const view<T, dyn> all(reinterpret_cast<T*>(l.value.data()), from.size());
      program_function<compile_spec<moved_along<T>>>{}(into(all), from, along, a);
      l.version.fetch_add(1, std::memory_order_relaxed);
    };
  }
};

}  // namespace detail

/// The method of Broyden, Fletcher, Goldfarb and Shanno with the last steps as memory, and a line search with the strong Wolfe conditions:
/// see [note: line search]. It suits losses that are the same function in each call: a whole set of data, not random parts of it.
/// Parameters are as those of an optimizer. All arithmetic is in Number, double or float: parameters of other dtypes are rounded after each
/// move. The optimizer keeps 2 * history arrays of Number like the parameters, and some 8 more while it runs.
/// Source: Nocedal and Wright, Numerical Optimization (2006), algorithms 7.4 and 3.5; torch.optim.LBFGS with line_search_fn
/// "strong_wolfe", whose defaults these are but for the history, there 100.
template <std::floating_point Number = double>
class lbfgs_optimizer {
  using row = tensor<Number, dyn>;
  using rows = tensor<Number, dyn, dyn>;

 public:
  /// Throws: error for variables that are not leaves, for a parameter that occurs twice, and for invalid options.
  template <class... P>
    requires(sizeof...(P) > 0)
  explicit lbfgs_optimizer(const lbfgs_options& o, const P&... p) : options_(o) {
    constexpr bool fits = (parameters<P> && ...);
    static_assert(fits, "[ebb E0140] ebb::lbfgs_optimizer: parameters are variables, and tuples, vectors and structs of them");
    require_usable();
    if constexpr (fits) each_variable([&]<class T, std::size_t... E>(const variable<T, E...>& v) { add<T>(v); }, p...);
  }

  /// Options may change between calls.
  lbfgs_options& options() { return options_; }
  const lbfgs_options& options() const { return options_; }

  /// Moves the parameters to smaller losses. loss() computes the loss for the present parameters, runs its backward, and returns it: a
  /// variable or a number. Each call of it begins without gradients; a parameter that has none afterwards does not move. In the end the
  /// parameters are at the best point, and gradients are undefined. Steps are remembered from call to call.
  /// Throws: error for invalid options; what loss throws: then the parameters are where the call found them.
  template <class F>
  lbfgs_result step(F&& loss) {
    constexpr bool fits = detail::computes_loss<F>;
    static_assert(fits, "[ebb E0555] ebb::lbfgs_optimizer::step: the function takes nothing and returns the loss, a variable without axes "
                        "or a number");
    if constexpr (!fits) return {};
    else {
      require_usable();
      const auto call = [](void* f) { return detail::value_of_loss((*static_cast<std::remove_reference_t<F>*>(f))()); };
      return run(call, const_cast<void*>(static_cast<const void*>(std::addressof(loss))),
                 detail::rounding_of_loss<std::remove_cvref_t<std::invoke_result_t<F&>>>);
    }
  }

  /// The steps of the parameters and the changes of the gradient that are remembered, in rows, the last one at the end: to be saved.
  std::pair<rows, rows> memory() const {
    auto steps = rows::zeros(past_.size(), count_), changes = rows::zeros(past_.size(), count_);
    for (std::size_t i = 0; i < past_.size() && count_; ++i) {
      std::memcpy(steps.mutable_data() + i * count_, past_[i].step.data(), count_ * sizeof(Number));
      std::memcpy(changes.mutable_data() + i * count_, past_[i].change.data(), count_ * sizeof(Number));
    }
    return {steps, changes};
  }
  /// Remembers these instead: without rows, none.
  /// Throws: error for rows of another length, or of two numbers; then nothing has changed.
  void set_memory(const rows& steps, const rows& changes) {
    const auto has = [](const auto& a) { return std::to_string(a.extent(0)) + " rows of " + std::to_string(a.extent(1)); };
    if (steps.extent(0) != changes.extent(0) || (steps.extent(0) && (steps.extent(1) != count_ || changes.extent(1) != count_)))
      raise("ebb::lbfgs_optimizer::set_memory: the parameters have " + std::to_string(count_) + " elements, the steps are " + has(steps) +
            ", the changes " + has(changes));
    past_.clear();
    for (std::size_t i = 0; i < steps.extent(0); ++i) {
      const auto one = [&](const rows& of) {
        auto r = row::zeros(count_);
        if (count_) std::memcpy(r.mutable_data(), of.data() + i * count_, count_ * sizeof(Number));
        return r;
      };
      remember(one(steps), one(changes));
    }
  }
  /// The number of parameters, in all structures.
  std::size_t size() const { return parts_.size(); }

 private:
  struct remembered {
    row step, change;
    double product;  // of both; positive
  };
  using function = double (*)(void*);

  void require_usable() const {
    const auto& o = options_;
    if (!(o.lr > 0 && std::isfinite(o.lr))) raise("ebb::lbfgs_optimizer: lr must be above 0");
    if (o.steps < 0 || o.evaluations < 0 || o.history < 0) raise("ebb::lbfgs_optimizer: steps, evaluations or history are negative");
    if (!(o.gradient_tolerance >= 0 && o.change_tolerance >= 0)) raise("ebb::lbfgs_optimizer: tolerances must not be negative");
  }
  template <class T, std::size_t... E>
  void add(const variable<T, E...>& v) {
    detail::add_parameter("ebb::lbfgs_optimizer", leaves_, v.history());
    parts_.push_back({count_, v.size()});
    parts_.back().template use<T>();
    count_ += v.size();
  }

  /// f(part, leaf) for each parameter.
  void each_part(auto&& f) const {
    for (std::size_t i = 0; i < parts_.size(); ++i) f(parts_[i], static_cast<leaf&>(*leaves_[i]));
  }
  template <class Element>
  static view<Element, dyn> elements_of(const detail::lbfgs_part<Number>& p, Element* all) {
    return view<Element, dyn>(all + p.begin, p.count);
  }
  row values() const {
    auto r = row::zeros(count_);
    each_part([&](const auto& p, const leaf& l) { p.read_value(l, elements_of(p, r.mutable_data())); });
    return r;
  }
  void move(const row& from, const row& along, double a) const {
    each_part([&](const auto& p, leaf& l) {
      p.move(l, elements_of(p, from.data()), elements_of(p, along.data()), static_cast<Number>(a));
    });
  }
  void zero_grad() const {
    each_part([](const auto&, leaf& l) { l.grad = {}; });
  }
  double evaluate(function loss, void* f, row& gradient) const {
    zero_grad();
    const double value = loss(f);
    gradient = row::zeros(count_);
    each_part([&](const auto& p, leaf& l) {
      if (l.grad.defined) p.read_gradient(l, elements_of(p, gradient.mutable_data()));
    });
    return value;
  }
  void remember(const row& step, const row& change) {
    const double product = detail::dot_of(step, change), lengths = detail::dot_of(step, step) * detail::dot_of(change, change);
    const double least = std::numeric_limits<Number>::epsilon() * std::sqrt(lengths);
    if (!(product > least)) return;  // the method needs a positive curvature
    past_.push_back({step, change, product});
    while (past_.size() > static_cast<std::size_t>(options_.history)) past_.erase(past_.begin());
  }
  /// The inverse Hessian times the gradient, negative.
  row direction(const row& gradient) const {
    auto d = row::zeros(count_);
    detail::add_scaled(d, -1, gradient);
    if (past_.empty()) return d;
    std::vector<double> along(past_.size());
    for (std::size_t i = past_.size(); i-- > 0;) {
      along[i] = detail::dot_of(past_[i].step, d) / past_[i].product;
      detail::add_scaled(d, -along[i], past_[i].change);
    }
    const double scale = past_.back().product / detail::dot_of(past_.back().change, past_.back().change);
    auto r = row::zeros(count_);
    detail::add_scaled(r, scale, d);
    for (std::size_t i = 0; i < past_.size(); ++i)
      detail::add_scaled(r, along[i] - detail::dot_of(past_[i].change, r) / past_[i].product, past_[i].step);
    return r;
  }

  lbfgs_result run(function loss, void* f, double rounding) {
    EBB_PROBE(const probe here({probed::optimizer, "ebb::lbfgs_optimizer::step"});)
    const row first = values();
    struct guard {  // if loss throws
      const lbfgs_optimizer& of;
      const row& first;
      bool done = false;
      ~guard() {
        of.zero_grad();
        if (!done) of.move(first, first, 0);
      }
    } back{*this, first};

    auto x = first;
    row gradient;
    lbfgs_result r;
    r.loss = evaluate(loss, f, gradient);
    r.evaluations = 1;
    r.slope = detail::largest_of(gradient);
    r.converged = r.slope <= options_.gradient_tolerance;
    while (!r.converged && r.steps < options_.steps && r.evaluations < options_.evaluations) {
      auto along = direction(gradient);
      double slope = detail::dot_of(along, gradient);
      if (!past_.empty() && !(slope < 0)) {  // by rounding
        past_.clear();
        along = direction(gradient);
        slope = detail::dot_of(along, gradient);
      }
      if (!(slope < 0)) break;  // a gradient with NaN
      const double begin = past_.empty() ? options_.lr * std::min(1.0, 1 / std::sqrt(-slope)) : options_.lr;
      const double before = r.loss;
      auto to_gradient = gradient;
      const double a = search(loss, f, rounding, x, along, slope, begin, r, to_gradient);
      move(x, along, a);
      if (a == 0) {
        if (past_.empty()) break;
        past_.clear();  // what is remembered may mislead
        continue;
      }
      ++r.steps;
      const row to = values();  // a rounded parameter did not move by a * along
      auto step = to, change = to_gradient;
      detail::add_scaled(step, -1, x);
      detail::add_scaled(change, -1, gradient);
      remember(step, change);
      x = to;
      gradient = to_gradient;
      r.slope = detail::largest_of(gradient);
      r.converged = r.slope <= options_.gradient_tolerance || detail::largest_of(step) <= options_.change_tolerance ||
                    std::fabs(r.loss - before) < options_.change_tolerance;
    }
    back.done = true;
    return r;
  }
  /// The best point of the line search; r has its loss, `gradient` its gradient.
  double search(function loss, void* f, double rounding, const row& x, const row& along, double slope, double a, lbfgs_result& r,
                row& gradient) const {
    const double before = r.loss, noise = 4 * rounding * std::fabs(before);
    std::tuple bracket(0.0, before, slope, std::numeric_limits<double>::infinity(), before, slope);
    bool done = false;
    for (int n = 0; !done && n < 30; ++n) {
      move(x, along, a);
      row there;
      const double value = evaluate(loss, f, there);
      ++r.evaluations;
      const auto [both, low, next_bracket, next] = detail::searched(a, value, detail::dot_of(there, along), before, slope, noise, bracket);
      if (low) r.loss = value, gradient = there;
      bracket = next_bracket;
      a = next;
      done = both;
    }
    return std::get<0>(bracket);
  }

  lbfgs_options options_;
  std::vector<counted<vertex>> leaves_;
  std::vector<detail::lbfgs_part<Number>> parts_;  // of each leaf
  std::size_t count_ = 0;
  std::vector<remembered> past_;
};

template <class... P>
lbfgs_optimizer(const lbfgs_options&, const P&...) -> lbfgs_optimizer<double>;

}  // namespace ebb::inline EBB_ABI

// ebb/stats/draw.hpp — random arrays whose parameters are arrays, in traced functions: normal_sample, exponential_sample, gamma_sample ...
// SPDX-License-Identifier: BSL-1.0
//
// [note: samples with derivatives]
//   auto z = ebb::gamma_sample(key, shape, rate);     // shape and rate: arrays or numbers
// The key is an integer, or an integer array of rank 0: an argument of the function. It stands for ebb::random_key(key). Parameters are
// broadcast; the result has their common extents. Element i, counted in row-major order, depends on the key, on i and on its own parameters
// alone: the bits are the same however the rest of the function runs. A backward that draws again draws the same numbers.
// For more numbers repeat a parameter: ebb::expand<1000>(rate). Inside `map` a key that all rows share gives each row the same numbers.
// Everything is computed in double and rounded once. A parameter outside of its domain gives NaN.
// Normal, uniform and exponential numbers are functions of parameters and of a number without parameters: their derivatives are exact, any
// number of times. A gamma number z of shape a is P(a, z) = u for a fixed u, where P is gammainc: dz/da = -(dP/da) / (dP/dz), once.
// Beta, Dirichlet and t numbers are made of gamma numbers, whose logarithms do not underflow. Counts and classes have no derivatives.
// Source: M. Figurnov, S. Mohamed, A. Mnih, "Implicit reparameterization gradients", 2018.
#pragma once

#include "implicit.hpp"
#include "quantity.hpp"
#include "sample.hpp"
#include "support.hpp"
#include "vector.hpp"

#include "../op/random.hpp"
#include "../op/reduce.hpp"
#include "../op/softmax.hpp"
#include "../special/quantile.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

/// The distribution of the numbers. The kinds up to gumbel use inversion, with 64 bits for each number, as ebb::normal and ebb::sample do.
enum class draw_kind : std::uint8_t { uniform, exponential, gumbel, log_gamma, poisson, binomial };

/// The numbers of a key, place after place.
class drawing {
 public:
  constexpr drawing(draw_kind what, random_key key) : what_(what), key_(key) {}
  /// The number of a place with parameters p; NaN if these are outside of their domain.
  constexpr double operator()(std::uint64_t place, const double* p) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    switch (what_) {
      case draw_kind::uniform: return unit(place);
      case draw_kind::exponential: return -portable_log(1 - unit(place));
      case draw_kind::gumbel: return -portable_log(-portable_log(unit(place)));
      default: break;
    }
    random_source source(key_, static_cast<std::size_t>(place));
    if (what_ == draw_kind::log_gamma) return is_positive(p[0]) ? log_of_gamma(source, p[0]) : nan;
    if (what_ == draw_kind::poisson) return poisson_distribution{p[0]}.fits() ? poisson_distribution{p[0]}.number(source) : nan;
    const binomial_distribution trials{p[0], p[1]};
    return trials.fits() ? trials.number(source) : nan;
  }

 private:
  constexpr double unit(std::uint64_t place) {
    if (!drawn_ || place / 2 != block_) words_ = key_.block(block_ = place / 2), drawn_ = true;
    const std::size_t k = place % 2;
    return between_0_and_1(std::uint64_t{words_[2 * k + 1]} << 32 | words_[2 * k]);
  }

  draw_kind what_;
  random_key key_;
  bool drawn_ = false;
  std::uint64_t block_ = 0;
  std::array<std::uint32_t, 4> words_{};
};

/// The attribute of op::draw. Element i of a key's part has place step * i + first.
struct draw_attributes {
  draw_kind what = draw_kind::uniform;
  int parameters = 0, step = 1, first = 0;
  constexpr std::int64_t packed() const { return static_cast<int>(what) | parameters << 8 | step << 16 | first << 24; }
  static constexpr draw_attributes unpacked(std::int64_t a) {
    const auto byte = [a](int i) { return static_cast<int>(a >> 8 * i & 255); };
    return {static_cast<draw_kind>(byte(0)), byte(1), byte(2), byte(3)};
  }

  /// in(j, i): element i of operand j, which is the four numbers of a key for j = 0, then a parameter.
  constexpr void each(std::size_t words, std::size_t count, auto in, auto put) const {
    each_key(words, count, [&](std::size_t i) { return in(0, i); }, [&](random_key key, std::size_t begin, std::size_t size) {
      drawing numbers(what, key);
      for (std::size_t i = 0; i < size; ++i) {
        double p[2] = {};
        for (int j = 0; j < parameters; ++j) p[j] = in(1 + j, begin + i);
        put(begin + i, numbers(static_cast<std::uint64_t>(step) * i + static_cast<std::uint64_t>(first), p));
      }
    });
  }
};

}  // namespace detail

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::op {

/// Random numbers of double from the four numbers of a key, and from parameters with the extents of the result. The shape is given, not
/// inferred; it may have leading axes for which there are keys of their own.   Saves: nothing: it has no gradient.   Error: 2 ulp.
struct draw : from_key {
  static constexpr std::string_view name = "draw";
  static constexpr int arity = -1;
  static constexpr int show(const std::int64_t* attr, int, std::int64_t* numbers) {
    numbers[0] = attr[0] & 255;
    return 1;
  }
  template <class T>
  static void whole(const whole_call& c) {
    const auto in = [&](int j, std::size_t i) { return as_element<double>(static_cast<const T*>(c.in[j])[i]); };
    const auto put = [&](std::size_t i, double x) { static_cast<T*>(c.out)[i] = as_element<T>(x); };
    ebb::detail::draw_attributes::unpacked(c.attr[0]).each(c.shapes[0].volume(), c.result.volume(), in, put);
  }
  template <class S>
  static constexpr void reference(const move_call& c, auto in, auto put) {
    const auto from = [&](int j, std::size_t i) { return static_cast<double>(in(j, i)); };
    const auto to = [&](std::size_t i, double x) { put(i, static_cast<S>(x)); };
    ebb::detail::draw_attributes::unpacked(c.attr[0]).each(c.in[0].volume(), c.out.volume(), from, to);
  }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI::functions {

/// The key of a sample inside of a graph: its four numbers, see [note: keys in traced functions].
struct noise {
  operand<double> words;

  /// The common extents of parameters.
  constexpr shape over(std::same_as<quantity<double>> auto... p) const {
    const shape in[] = {p.value.is_refused() ? refused(-p.value.id) : p.value.extents()...};
    for (const shape& s : in)
      if (s.is_refused()) return s;
    return broadcast_shapes(words.g->syms, in, sizeof...(p));
  }
  /// The numbers of Op with given extents.
  template <class Op>
  constexpr quantity<double> of(const shape& to, attributes attr, std::same_as<quantity<double>> auto... p) const {
    graph& g = *words.g;
    if (words.is_refused() || to.is_refused()) return {refuse<double>(g, words.is_refused() ? -words.id : to.code())};
    const int number = g.intern(to);
    const auto held = [&](operand<double> x) { return detail::fit(emit_on<op::stop_gradient>({}, x), to).id; };
    static_cast<void>(held);  // nothing calls it if there are no parameters
    return {operand<double>{&g, emit_as<Op, double>(g, number, {words.id, held(p.value)...}, attr)}};
  }
  /// Numbers of one kind.
  constexpr quantity<double> draw(detail::draw_attributes how, const shape& to, std::same_as<quantity<double>> auto... p) const {
    how.parameters = sizeof...(p);
    return of<op::draw>(to, {how.packed()}, p...);
  }
  /// Numbers of the standard normal distribution.
  constexpr quantity<double> normal(const shape& to) const { return of<op::random_normal<2>>(to, {}); }
  /// The logarithms of gamma numbers of shape a, with their derivatives by a.
  constexpr quantity<double> log_gamma(quantity<double> a, const shape& to, int step = 1, int first = 0) const {
    return emit_for<op::by_shape>(a, draw({detail::draw_kind::log_gamma, 1, step, first}, to, a));
  }
};

/// F::formula(noise, parameters...) on a key and N parameters in double.
template <class F, int N>
struct of_key {
  static constexpr precision autocast = precision::full;
  template <class K, class... A>
  static constexpr auto apply(K key, A... a) {
    using Real = promoted_to_real<detail::promoted_of<op::add, A...>>;
    graph& g = *detail::first_operand(key, a...).g;
    if constexpr (sizeof...(A) != N) return refuse<Real>(g, 176);
    else if constexpr (!is_key<typename type_of<K>::type>) return refuse<Real>(g, 525);
    else return F::template rounded<Real>(F::formula(noise{words_of(g, key)}, quantity_in<double>(g, a)...).value);
  }
  template <class Real, class T>
  static constexpr operand<Real> rounded(operand<T> x) {
    return cast_to<Real>(x);
  }

 private:
  template <class K>
  static constexpr bool is_key = std::is_integral_v<K> && !std::is_same_v<K, bool>;
  template <class K>
  struct type_of {
    using type = K;
  };
  template <class I>
  struct type_of<operand<I>> {
    using type = I;
  };
  template <class K>
  static constexpr operand<double> words_of(graph& g, K key) {
    if constexpr (is_operand<K>) {
      if (key.is_refused() || key.rank() != 0) return refuse<double>(g, key.is_refused() ? -key.id : 525);
      return detail::words_of<double>(key);
    } else return words_of(g, literal_in<std::int64_t>(g, g.intern({}), key));
  }
};

struct uniform_sample : of_key<uniform_sample, 2> {
  static constexpr std::string_view name = "uniform_sample";
  static constexpr auto formula(noise n, auto lo, auto hi) { return lo + (hi - lo) * n.draw({detail::draw_kind::uniform}, n.over(lo, hi)); }
};
struct normal_sample : of_key<normal_sample, 2> {
  static constexpr std::string_view name = "normal_sample";
  static constexpr auto formula(noise n, auto mu, auto sigma) {
    return mu + emit_for<op::if_not_negative>(sigma) * n.normal(n.over(mu, sigma));
  }
};
struct exponential_sample : of_key<exponential_sample, 1> {
  static constexpr std::string_view name = "exponential_sample";
  static constexpr auto formula(noise n, auto rate) {
    return n.draw({detail::draw_kind::exponential}, n.over(rate)) / emit_for<op::if_positive>(rate);
  }
};
struct gamma_sample : of_key<gamma_sample, 2> {
  static constexpr std::string_view name = "gamma_sample";
  static constexpr auto formula(noise n, auto shape, auto rate) {
    return emit_for<op::exp>(n.log_gamma(shape, n.over(shape, rate))) / emit_for<op::if_positive>(rate);
  }
};
struct beta_sample : of_key<beta_sample, 2> {
  static constexpr std::string_view name = "beta_sample";
  static constexpr auto formula(noise n, auto a, auto b) {
    const shape both = n.over(a, b);
    return emit_for<op::sigmoid>(n.log_gamma(a, both, 2, 0) - n.log_gamma(b, both, 2, 1));
  }
};
struct dirichlet_sample : of_key<dirichlet_sample, 1> {
  static constexpr std::string_view name = "dirichlet_sample";
  static constexpr auto formula(noise n, quantity<double> alpha) {
    const auto l = n.log_gamma(alpha, n.over(alpha));
    if (l.value.is_refused()) return l;
    return quantity<double>{l.value.rank() < 1 ? refuse<double>(*l.value.g, 490) : softmax<-1>::apply(l.value)};
  }
};
struct student_t_sample : of_key<student_t_sample, 3> {
  static constexpr std::string_view name = "student_t_sample";
  static constexpr auto formula(noise n, auto nu, auto mu, auto sigma) {
    const shape all = n.over(nu, mu, sigma);
    const auto half = 0.5 * nu, z = n.normal(all);
    return mu + emit_for<op::if_positive>(sigma) * (z * emit_for<op::exp>(0.5 * (emit_for<op::log>(half) - n.log_gamma(half, all))));
  }
};
struct truncated_normal_sample : of_key<truncated_normal_sample, 4> {
  static constexpr std::string_view name = "truncated_normal_sample";
  static constexpr auto formula(noise n, auto mu, auto sigma, auto lo, auto hi) {
    const auto s = emit_for<op::if_positive>(sigma), u = n.draw({detail::draw_kind::uniform}, n.over(mu, sigma, lo, hi));
    const auto low = standard(lo, mu, s), high = standard(hi, mu, s);
    // In the tail where probabilities have all their digits.
    const auto mirrored = emit_for<op::greater>(low, 0);
    const auto bottom = emit_for<op::where>(mirrored, -high, low), top = emit_for<op::where>(mirrored, -low, high);
    const auto from = emit_for<op::ndtr>(bottom), to = emit_for<op::ndtr>(top);
    // If probabilities underflow, numbers are next to the nearer bound.
    const auto none = emit_for<op::equal>(to, 0);
    const auto z = emit_for<op::where>(none, top, emit_for<op::ndtri>(emit_for<op::where>(none, 0.5, from + u * (to - from))));
    const auto x = mu + s * emit_for<op::where>(mirrored, -z, z);
    return emit_for<op::clamp_max>(emit_for<op::clamp_min>(x, lo), hi);
  }

 private:
  /// (bound - mu) / sigma; for an infinite bound without derivatives, which would be 0 times infinity.
  static constexpr auto standard(auto bound, auto mu, auto sigma) {
    const auto infinite = emit_for<op::isinf>(bound);
    return emit_for<op::where>(infinite, bound, (emit_for<op::where>(infinite, 0, bound) - mu) / sigma);
  }
};
struct binomial_sample : of_key<binomial_sample, 2> {
  static constexpr std::string_view name = "binomial_sample";
  static constexpr auto formula(noise n, auto trials, auto p) {
    return n.draw({detail::draw_kind::binomial}, n.over(trials, p), trials, p);
  }
};
struct categorical_sample : of_key<categorical_sample, 1> {
  static constexpr std::string_view name = "categorical_sample";
  static constexpr auto formula(noise n, auto logits) { return logits + n.draw({detail::draw_kind::gumbel}, n.over(logits)); }
  template <class, class Wide>
  static constexpr operand<std::int64_t> rounded(operand<Wide> x) {
    if (x.is_refused() || x.rank() < 1) return refuse<std::int64_t>(*x.g, x.is_refused() ? -x.id : 490);
    return place_of<op::argmax, false, -1>::apply(x);
  }
};
struct poisson_sample : of_key<poisson_sample, 1> {
  static constexpr std::string_view name = "poisson_sample";
  static constexpr auto formula(noise n, auto rate) { return n.draw({detail::draw_kind::poisson}, n.over(rate), rate); }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI {

// All of [note: samples with derivatives] holds. Dtype, for all of them: promoted; integers give float.

/// uniform_sample(key, lo, hi): lo + u (hi - lo), where 0 < u < 1 has 52 bits. Rounding may give an end.   Saves: u.   Error: 2 ulp of the
/// larger of |lo| and |hi|.   Source: torch.distributions.Uniform.
inline constexpr call<functions::uniform_sample> uniform_sample{};
/// normal_sample(key, mu, sigma): mu + sigma z, for sigma >= 0: the numbers of ebb::normal<double>(key).   Saves: z.   Error: 1 ulp of the
/// larger of |mu| and |out|.   Source: torch.distributions.Normal.
inline constexpr call<functions::normal_sample> normal_sample{};
/// exponential_sample(key, rate): the numbers of exponential_distribution.   Saves: rate, out.   Error: 3 ulp.
/// Source: torch.distributions.Exponential.
inline constexpr call<functions::exponential_sample> exponential_sample{};
/// gamma_sample(key, shape, rate): the numbers of gamma_distribution. A number below 1e-308 is 0. The derivative by the shape is implicit,
/// and has no derivative: a second one does not compile.   Saves: shape, log(z), rate, z.   Error: 2 |log(z)| ulp; derivative by the shape
/// as op::gamma_log_slope.   Source: torch.distributions.Gamma; Figurnov et al. 2018.
inline constexpr call<functions::gamma_sample> gamma_sample{};
/// beta_sample(key, a, b): the share of one gamma number in the sum of two. Derivatives as gamma_sample.   Saves: a, b, logarithms of both
/// gamma numbers, out.   Error: 2 ulp of the logarithms.   Source: torch.distributions.Beta.
inline constexpr call<functions::beta_sample> beta_sample{};
/// dirichlet_sample(key, alpha): the shares of gamma numbers in their sum, along the last axis. Derivatives as gamma_sample.
/// Shape: alpha's, [..., classes].   Saves: alpha, logarithms of gamma numbers, out.   Error: 2 ulp of the largest logarithm.
/// Source: torch.distributions.Dirichlet.
inline constexpr call<functions::dirichlet_sample> dirichlet_sample{};
/// student_t_sample(key, nu, mu, sigma): a normal number divided by the root of a gamma number of shape nu / 2. Derivatives by nu as
/// gamma_sample.   Saves: nu, the logarithm of the gamma number, z, sigma.   Error: 4 ulp of the larger of |mu| and |log z|, times |out|.
/// Source: torch.distributions.StudentT.
inline constexpr call<functions::student_t_sample> student_t_sample{};
/// truncated_normal_sample(key, mu, sigma, lo, hi): a normal number between two bounds, which may be infinite; by inversion in the tail
/// where probabilities have all their digits. Both bounds beyond 37 sigma on one side of mu give the nearer bound.
/// Saves: what the derivatives of ndtr and ndtri save.   Error: 16 ulp of the largest of 1, |mu| and |out|.
/// Source: scipy.stats.truncnorm.
inline constexpr call<functions::truncated_normal_sample> truncated_normal_sample{};
/// binomial_sample(key, n, p): the counts of binomial_distribution, for a whole number n of trials.
/// Dtype: promoted; integers give float; no gradient.   Saves: nothing.   Error: exact.   Source: torch.distributions.Binomial.
inline constexpr call<functions::binomial_sample> binomial_sample{};
/// categorical_sample(key, logits): a class along the last axis, with probabilities in the ratio of e^logits: the place of the largest sum
/// of a logit and a Gumbel number.   Shape: [..., classes] gives [...].   Dtype: int64, no gradient.   Saves: nothing.   Error: exact.
/// Source: torch.distributions.Categorical.
inline constexpr call<functions::categorical_sample> categorical_sample{};
/// poisson_sample(key, rate): the counts of poisson_distribution, for 0 <= rate < 1e15.
/// Dtype: promoted; integers give float; no gradient.   Saves: nothing.   Error: exact.
/// Source: torch.distributions.Poisson.
inline constexpr call<functions::poisson_sample> poisson_sample{};

}  // namespace ebb::inline EBB_ABI

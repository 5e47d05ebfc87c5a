// test/trace/functions.static.cpp — result types of all functions on terms: dtypes, extents, promotion; and the calls that are refused.
// SPDX-License-Identifier: BSL-1.0
// covers: functions.hpp term.hpp
#include <ebb/trace/functions.hpp>
#include <ebb/trace/trace.hpp>

namespace {

using ebb::bfloat16;
using ebb::dyn;
using ebb::float16;
using ebb::term;
using std::int32_t;
using std::int64_t;

template <class F, class... A>
using result = typename ebb::trace_of<F, A...>::result;

/// Whether F on arguments A... has the type R.
template <class R, class... A, class F>
constexpr bool gives(F) {
  return std::is_same_v<result<F, A...>, R>;
}
/// The error code of a function on terms A..., or 0.
template <class F, class... A>
constexpr int code = ebb::detail::lifted<F, A...>::code;

// Promotion: real wins over integer, integer over bool, wide over narrow. A number changes the kind, never the width.
constexpr auto sum_of = [](auto x, auto y) { return x + y; };
constexpr auto quotient = [](auto x, auto y) { return x / y; };
template <class X, class Y, class R>
constexpr bool promotes = gives<term<R, 3>, term<X, 3>, term<Y, 3>>(sum_of) && gives<term<R, 3>, term<Y, 3>, term<X, 3>>(sum_of);
static_assert(promotes<float, float, float> && promotes<double, float, double> && promotes<double, int64_t, double>);
static_assert(promotes<float, int64_t, float> && promotes<float, bool, float> && promotes<bfloat16, int32_t, bfloat16>);
static_assert(promotes<int32_t, int64_t, int64_t> && promotes<int32_t, bool, int32_t> && promotes<int64_t, bool, int64_t>);
static_assert(promotes<float16, bfloat16, float> && promotes<float16, float, float> && promotes<bfloat16, double, double>);
static_assert(gives<term<float, 3>, term<int32_t, 3>, term<int64_t, 3>>(quotient));
static_assert(gives<term<double, 3>, term<int32_t, 3>, term<double, 3>>(quotient));

static_assert(gives<term<float, 3>, term<float, 3>>([](auto x) { return 2.0 * x; }));
static_assert(gives<term<float, 3>, term<int32_t, 3>>([](auto x) { return 2.5 * x; }));
static_assert(gives<term<int32_t, 3>, term<int32_t, 3>>([](auto x) { return 2 - x; }));
static_assert(gives<term<float16, 3>, term<float16, 3>>([](auto x) { return x / 3.0; }));
static_assert(gives<term<float, 3>, term<float, 3>, term<double>>(sum_of), "a scalar does not widen an array");
static_assert(gives<term<float, 3>, term<int32_t, 3>, term<float>>(sum_of), "but it changes its kind");

// Elementwise: shapes are broadcast, comparisons give bool, integers become float in real functions.
static_assert(gives<term<float, 2, 3>, term<float, 2, 1>, term<float, 3>>(sum_of));
static_assert(gives<term<float, dyn, 3>, term<float, dyn, 3>, term<float, 1, 3>>(sum_of));
static_assert(gives<term<float, 4>, term<float, dyn>, term<float, 4>>(sum_of), "a dyn extent takes the static one's value");
static_assert(gives<term<bool, 2>, term<float, 2>, term<int32_t>>([](auto x, auto y) { return x < y; }));
static_assert(gives<term<float, 2>, term<int32_t, 2>>([](auto x) { return ebb::exp(x); }));
static_assert(gives<term<int32_t, 2>, term<int32_t, 2>>([](auto x) { return ebb::relu(ebb::abs(x)); }));
static_assert(gives<term<bool, 2>, term<float, 2>>([](auto x) { return ebb::isnan(x); }));
static_assert(gives<term<double, 2>, term<float, 2>, term<double, 2>>([](auto x, auto y) { return ebb::where(x > 0, x, y); }));
static_assert(gives<term<float, 2>, term<float, 2>>([](auto x) { return ebb::where(x > 0, x, 0); }));
static_assert(gives<term<int32_t, 2>, term<int32_t, 2>>([](auto x) { return ebb::pow(x, 2); }), "integers stay integers");
static_assert(gives<term<int64_t, 2>, term<bool, 2>>([](auto x) { return ebb::pow(x, 2); }));
static_assert(gives<term<float, 2>, term<int64_t, 2>>([](auto x) { return ebb::pow(x, 2.0); }));
static_assert(gives<term<int64_t, 2>, term<int32_t, 2>, term<int64_t, 2>>([](auto x, auto y) { return ebb::pow(x, y); }));
static_assert(gives<term<int64_t, 2>, term<int64_t, 2>>([](auto x) { return ebb::pow(2, x); }));
static_assert(gives<term<float, 2>, term<float, 2>, term<int32_t, 2>>([](auto x, auto y) { return ebb::pow(x, y); }));
static_assert(gives<term<double, 2>, term<float, 2>>([](auto x) { return ebb::cast<double>(x); }));
static_assert(gives<term<int64_t, 2>, term<bool, 2>>([](auto x) { return ebb::cast<int64_t>(x); }));
static_assert(gives<term<float, 2>, term<float, 2>>([](auto x) { return ebb::stop_gradient(ebb::clamp(x, 0, 1)); }));

// Reductions.
using X = term<float, dyn, 3, 4>;
static_assert(gives<term<float>, X>([](auto x) { return ebb::sum(x); }));
static_assert(gives<term<float, 3>, X>([](auto x) { return ebb::sum<0, -1>(x); }));
static_assert(gives<term<float, 1, 3, 1>, X>([](auto x) { return ebb::max<0, -1>(x, ebb::keep_dims); }));
static_assert(gives<term<float, 1, 1, 1>, X>([](auto x) { return ebb::mean(x, ebb::keep_dims); }));
static_assert(gives<term<int64_t>, term<int32_t, 3>>([](auto x) { return ebb::sum(x); }));
static_assert(gives<term<int64_t>, term<bool, 3>>([](auto x) { return ebb::sum(x); }));
static_assert(gives<term<float>, term<int32_t, 3>>([](auto x) { return ebb::mean(x); }));
static_assert(gives<term<bfloat16>, term<bfloat16, 3>>([](auto x) { return ebb::mean(x); }));
static_assert(gives<term<float, dyn, 4>, X>([](auto x) { return ebb::logsumexp<1>(x); }));
static_assert(gives<term<int64_t, dyn, 3>, X>([](auto x) { return ebb::argmax<2>(x); }));
static_assert(gives<term<int64_t>, X>([](auto x) { return ebb::argmin(x); }));
static_assert(gives<term<bool, dyn>, X>([](auto x) { return ebb::any<1, 2>(x > 0); }));
static_assert(gives<term<bool>, X>([](auto x) { return ebb::all(x); }));

// Shapes.
static_assert(gives<term<float, dyn, 12>, X>([](auto x) { return ebb::reshape<dyn, 12>(x); }));
static_assert(gives<term<float, 2, 6>, term<float, 3, 4>>([](auto x) { return ebb::reshape<2, dyn>(x); }), "what is left is known");
static_assert(gives<term<float, dyn>, X>([](auto x) { return ebb::flatten(x); }));
static_assert(gives<term<float, dyn, 12>, X>([](auto x) { return ebb::flatten<1>(x); }));
static_assert(gives<term<float, dyn, 4, 3>, X>([](auto x) { return ebb::transpose(x); }));
static_assert(gives<term<float, 4, dyn, 3>, X>([](auto x) { return ebb::transpose<2, 0, 1>(x); }));
static_assert(gives<term<float, dyn, 3, 2>, X>([](auto x) { return ebb::slice<-1, 1, 3>(x); }));
static_assert(gives<term<float, dyn, 3, 4>, X>([](auto x) { return ebb::slice<0, 2>(x); }));
static_assert(gives<term<float, 2, 3, 4>, X>([](auto x) { return ebb::slice<0, -2>(x); }));
static_assert(gives<term<float, 3, 4>, X>([](auto x) { return ebb::select<0, -1>(x); }));
static_assert(gives<term<float, dyn, 2, 4>, X>([](auto x) { return ebb::slice<1, 0, ebb::to_end, 2>(x); }));
static_assert(gives<term<float, 5, 2>, term<float, 2, 2>, term<float, 3, 2>>([](auto x, auto y) { return ebb::concat<0>(x, y); }));
static_assert(gives<term<double, 4>, term<float, 2>, term<double, 2>>([](auto x, auto y) { return ebb::concat<-1>(x, y); }));
static_assert(gives<term<float, 2, 2, dyn>, term<float, 2, dyn>>([](auto x) { return ebb::stack<1>(x, x); }));
static_assert(gives<term<float, 2, 6>, term<float, 2, 3>>([](auto x) { return ebb::pad<1, 1, 2>(x); }));
static_assert(gives<term<bool, dyn>, term<bool, dyn>>([](auto x) { return ebb::pad<0, 1, 2>(x, true); }));
static_assert(gives<term<float, 3, 1, 4>, term<float, 3, 4>>([](auto x) { return ebb::unsqueeze<1>(x); }));
static_assert(gives<term<float, 3>, term<float, 3, 1>>([](auto x) { return ebb::squeeze<-1>(x); }));
static_assert(gives<term<float, 5, dyn, 3, 4>, X>([](auto x) { return ebb::broadcast_to<5, dyn, 3, 4>(x); }));
static_assert(gives<term<float, dyn, 3, 4>, term<float, 4>, X>([](auto b, auto x) { return ebb::broadcast_like(b, x); }));
static_assert(gives<X, X>([](auto x) { return ebb::flip<0, -1>(x); }));

// Rows, products, losses.
static_assert(gives<term<float, 5, 2, 4>, term<float, dyn, 4>, term<int32_t, 5, 2>>([](auto x, auto i) { return ebb::take(x, i); }));
static_assert(gives<term<int64_t, dyn, 10>, term<int64_t, dyn>>([](auto i) { return ebb::one_hot<10>(i); }));
constexpr auto product = [](auto x, auto y) { return ebb::matmul(x, y); };
static_assert(gives<term<float, dyn, 5>, term<float, dyn, 4>, term<float, 4, 5>>(product));
static_assert(gives<term<float>, term<float, 4>, term<float, dyn>>(product));
static_assert(gives<term<float, dyn, 3, 5>, X, term<float, 4, 5>>(product));
static_assert(gives<term<double, 2, 7, 3, 5>, term<float, 2, 1, 3, 4>, term<double, 7, 4, 5>>(product));
static_assert(gives<term<float, dyn, 3>, X, term<float, 4>>(product) && gives<term<float, 5>, term<float, 4>, term<float, 4, 5>>(product));
constexpr auto layer = [](auto x, auto w, auto b) { return ebb::linear(x, w, b); };
static_assert(gives<term<float, dyn, 2>, term<float, dyn, 4>, term<float, 2, 4>, term<float, 2>>(layer));
static_assert(gives<term<float, 3, dyn>, term<float, 3>, term<float, dyn>>([](auto x, auto y) { return ebb::outer(x, y); }));
static_assert(gives<X, X>([](auto x) { return ebb::softmax<-1>(ebb::log_softmax<0>(x)); }));
constexpr auto loss = [](auto x, auto t) { return ebb::cross_entropy(x, t); };
static_assert(gives<term<float>, term<float, dyn, 10>, term<int32_t, dyn>>(loss));
static_assert(gives<term<float>, term<float, 10>, term<int64_t>>(loss));
constexpr auto losses = [](auto x, auto t) { return ebb::cross_entropy(x, t, ebb::unreduced); };
static_assert(gives<term<float, dyn>, term<float, dyn, 10>, term<int64_t, dyn>>(losses));
static_assert(gives<term<double>, term<double, dyn>, term<float, dyn>>([](auto x, auto y) { return ebb::mse(x, y); }));

// Maps.
constexpr auto norms = [](auto x) { return ebb::map([](auto row) { return ebb::sum(row * row); }, x); };
static_assert(gives<term<float, dyn>, X>(norms) && gives<term<float, 2>, term<float, 2, 3>>(norms));

// Refusals: see trace/lift.hpp for the error texts.
using F3 = term<float, 3>;
using F4 = term<float, 4>;
using F34 = term<float, 3, 4>;
namespace fn = ebb::functions;
using add = ebb::detail::broadcasting<ebb::op::add>;
static_assert(code<add, F34, F4> == 0 && code<add, F34, F3> == 102 && code<add, F3, F4> == 102);
static_assert(code<fn::matmul, F34, F34> == 101 && code<fn::matmul, F34, F3> == 101 && code<fn::matmul, F3, term<float>> == 105);
static_assert(code<fn::matmul, term<float, 2, 3, 4>, term<float, 5, 4, 2>> == 102);
static_assert(code<fn::dot, F34, F4> == 105);
static_assert(code<fn::linear, F34, F4> == 105);
static_assert(code<fn::sum<false, 2>, F34> == 103 && code<fn::sum<false, -3>, F34> == 103 && code<fn::sum<false, 0, -2>, F34> == 103);
static_assert(code<fn::softmax<1>, F3> == 103);
static_assert(code<fn::transpose<>, F3> == 103);
static_assert(code<fn::transpose<0, 0>, F34> == 103);
static_assert(code<fn::concat<1>, F3, F3> == 103);
static_assert(code<fn::reshape<5>, F34> == 112 && code<fn::reshape<5, dyn>, F34> == 112 && code<fn::squeeze<0>, F34> == 112);
static_assert(code<fn::reshape<dyn, dyn>, F34> == 112, "two unknown extents need two unknown ones");
static_assert(code<fn::slice<0, 2, 4, 1>, F3> == 113);
static_assert(code<fn::slice<0, -4, 2, 1>, F3> == 113);
static_assert(code<fn::slice<0, 2, 1, 1>, term<float, dyn>> == 113);
static_assert(code<fn::slice<0, -1, -2, 1>, term<float, dyn>> == 113 && code<fn::select<0, 3>, F3> == 113);
static_assert(code<fn::concat<0>, F34, F3> == 114 && code<fn::concat<0>, F34, term<float, 3, 5>> == 114);
static_assert(code<fn::take, F34, F3> == 115 && code<fn::take, term<float>, term<int32_t, 2>> == 115);
static_assert(code<fn::one_hot<3, -1, std::int64_t>, F3> == 115);
using plain_loss = ebb::detail::arguments_of_loss<>;
using cross_entropy = fn::cross_entropy<-1, plain_loss::how, plain_loss::ignored, plain_loss::options>;
static_assert(code<cross_entropy, F34, term<int32_t, 4>> == 115);
static_assert(code<cross_entropy, F34, term<bool, 3>> == 115);
static_assert(code<fn::extremum<ebb::op::max, false, 1>, term<float, 3, 0>> == 116);
static_assert(code<fn::place_of<ebb::op::argmax, false, 1>, term<float, 3, 0>> == 116);
static_assert(code<fn::broadcast_to<5>, F3> == 102 && code<fn::broadcast_to<dyn, 3>, F3> == 118);

}  // namespace

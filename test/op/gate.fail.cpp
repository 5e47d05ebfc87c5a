// test/op/gate.fail.cpp — halves that do not exist, slopes that do not fit, an exponent that is no integer.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/trace/functions.hpp>
#include <ebb/trace/trace.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}
using matrix = ebb::term<float, 3, 4>;
using odd_rows = ebb::term<float, ebb::dyn, 5>;
using row = ebb::term<float, 4>;

constexpr int fits = traced_on<matrix, row>([](auto x, auto a) { return ebb::prelu(ebb::concat<1>(ebb::glu(x), ebb::geglu<1>(x)), a); });

#if EBB_CASE == 1
// EXPECT: E0239 glu, swiglu, geglu: the axis that is halved has an even extent
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::glu<0>(x);  // LINE
});
#elif EBB_CASE == 2
// EXPECT: E0239 glu, swiglu, geglu: the axis that is halved has an even extent
constexpr int refused = traced_on<odd_rows>([](auto x) {
  return ebb::swiglu(x);  // LINE
});
#elif EBB_CASE == 3
// EXPECT: E0240 prelu: the slopes are a number, or a vector
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::prelu(x, x);  // LINE
});
#elif EBB_CASE == 4
// EXPECT: E0237 ldexp: the exponent is an integer
constexpr int refused = traced_on<row>([](auto x) {
  return ebb::ldexp(x, x);  // LINE
});
#endif

// test/nn/weight_norm.fail.cpp — arrays that local_response_norm, weight_norm and spectral_norm refuse.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/nn.hpp>
#include <ebb/trace/functions.hpp>
#include <ebb/trace/trace.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}
using matrix = ebb::term<float, 4, 6>;
template <std::size_t N>
using line = ebb::term<float, N>;

#if EBB_CASE == 1  // a window without channels
// EXPECT: E0493 local_response_norm: the array has the axes [batch, channels, places...], the window 1 to
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::local_response_norm<0>(x);  // LINE
});
#elif EBB_CASE == 2  // no channels
// EXPECT: E0493 local_response_norm: the array has the axes [batch, channels, places...], the window 1 to
constexpr int refused = traced_on<line<4>>([](auto x) {
  return ebb::local_response_norm<3>(x);  // LINE
});
#elif EBB_CASE == 3  // a length too much
// EXPECT: E0494 weight_norm, spectral_norm: a weight has two axes or more, a length for each index of one
constexpr int refused = traced_on<matrix, line<5>>([](auto v, auto g) {
  return ebb::weight_norm(v, g);  // LINE
});
#elif EBB_CASE == 4  // u and v are exchanged
// EXPECT: E0494 weight_norm, spectral_norm: a weight has two axes or more, a length for each index of one
constexpr int refused = traced_on<matrix, line<6>, line<4>>([](auto w, auto u, auto v) {
  return std::get<0>(ebb::spectral_norm(w, u, v));  // LINE
});
#endif

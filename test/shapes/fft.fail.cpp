// test/shapes/fft.fail.cpp — frequencies that do not fit, and lengths that are none.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/ebb.hpp>
#include <ebb/shapes.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}
using vector = ebb::term<float, 4>;

[[maybe_unused]] constexpr int fits = traced_on<vector, vector>([](auto x, auto y) { return ebb::irfft<7>(x, y); });
int main() {}

#if EBB_CASE == 1  // five numbers have three frequencies
// EXPECT: E0499 rfft, irfft: the array has no axis, or too many
constexpr int refused = traced_on<vector, vector>([](auto x, auto y) {
  return ebb::irfft<5>(x, y);  // LINE
});
#elif EBB_CASE == 2  // less than none
// EXPECT: E0500 irfft<n>: a number of elements is not negative
constexpr int refused = traced_on<vector, vector>([](auto x, auto y) {
  return ebb::irfft<-4>(x, y);  // LINE
});
#endif

// test/shapes/fft.fail.cpp — frequencies that do not fit, lengths that are none, too few axes.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/ebb.hpp>
#include <ebb/shapes.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}
using vector = ebb::term<float, 4>;

using plane = ebb::term<float, 4, 4>;
using number = ebb::term<float>;

[[maybe_unused]] constexpr int fits = traced_on<vector, vector>([](auto x, auto y) { return ebb::irfft<7>(x, y); });
int main() {}

#if EBB_CASE == 1  // five numbers have three frequencies
// EXPECT: E0499 fft, rfft and relatives: the array has too few axes, or too many
constexpr int refused = traced_on<vector, vector>([](auto x, auto y) {
  return ebb::irfft<5>(x, y);  // LINE
});
#elif EBB_CASE == 2  // less than none
// EXPECT: E0500 irfft<n>, irfft2<n>, fftfreq<n>, rfftfreq<n>: a number of elements is not negative
constexpr int refused = traced_on<vector, vector>([](auto x, auto y) {
  return ebb::irfft<-4>(x, y);  // LINE
});
#elif EBB_CASE == 3  // a number has no axis
// EXPECT: E0499 fft, rfft and relatives: the array has too few axes, or too many
constexpr int refused = traced_on<number>([](auto x) {
  return std::get<0>(ebb::fft(x));  // LINE
});
#elif EBB_CASE == 4  // a number has no axis
// EXPECT: E0499 fft, rfft and relatives: the array has too few axes, or too many
constexpr int refused = traced_on<number, number>([](auto x, auto y) {
  return std::get<1>(ebb::ifft(x, y));  // LINE
});
#elif EBB_CASE == 5  // a vector has one axis
// EXPECT: E0499 fft, rfft and relatives: the array has too few axes, or too many
constexpr int refused = traced_on<vector, vector>([](auto x, auto y) {
  return std::get<0>(ebb::fft2(x, y));  // LINE
});
#elif EBB_CASE == 6  // a vector has one axis
// EXPECT: E0499 fft, rfft and relatives: the array has too few axes, or too many
constexpr int refused = traced_on<vector>([](auto x) {
  return std::get<0>(ebb::ifft2(x));  // LINE
});
#elif EBB_CASE == 7  // a vector has one axis
// EXPECT: E0499 fft, rfft and relatives: the array has too few axes, or too many
constexpr int refused = traced_on<vector>([](auto x) {
  return std::get<0>(ebb::rfft2(x));  // LINE
});
#elif EBB_CASE == 8  // five numbers have three frequencies
// EXPECT: E0499 fft, rfft and relatives: the array has too few axes, or too many
constexpr int refused = traced_on<plane, plane>([](auto x, auto y) {
  return ebb::irfft2<5>(x, y);  // LINE
});
#elif EBB_CASE == 9  // both parts have the same extents
// EXPECT: E0102
constexpr int refused = traced_on<plane, vector>([](auto x, auto y) {
  return std::get<0>(ebb::fft(x, y));  // LINE
});
#elif EBB_CASE == 10  // less than none
// EXPECT: E0500 irfft<n>, irfft2<n>, fftfreq<n>, rfftfreq<n>: a number of elements is not negative
constexpr int refused = traced_on<number>([](auto x) {
  return ebb::fftfreq<-4>(x);  // LINE
});
#elif EBB_CASE == 11  // less than none
// EXPECT: E0500 irfft<n>, irfft2<n>, fftfreq<n>, rfftfreq<n>: a number of elements is not negative
constexpr int refused = traced_on<number>([](auto x) {
  return ebb::rfftfreq<-4>(x);  // LINE
});
#elif EBB_CASE == 12  // less than none
// EXPECT: E0500 irfft<n>, irfft2<n>, fftfreq<n>, rfftfreq<n>: a number of elements is not negative
constexpr int refused = traced_on<plane, plane>([](auto x, auto y) {
  return ebb::irfft2<-4>(x, y);  // LINE
});
#elif EBB_CASE == 13  // a distance is one number
// EXPECT: E0394
constexpr int refused = traced_on<vector>([](auto x) {
  return ebb::fftfreq<4>(x);  // LINE
});
#elif EBB_CASE == 14  // there is no such axis
// EXPECT: E0103
constexpr int refused = traced_on<vector>([](auto x) {
  return ebb::fftshift<1>(x);  // LINE
});
#elif EBB_CASE == 15  // an axis named twice
// EXPECT: E0103
constexpr int refused = traced_on<vector>([](auto x) {
  return ebb::ifftshift<0, -1>(x);  // LINE
});
#endif

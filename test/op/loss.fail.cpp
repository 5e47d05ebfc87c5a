// test/op/loss.fail.cpp — options and operands that losses refuse.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/trace/functions.hpp>
#include <ebb/trace/trace.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}
using logits = ebb::term<float, 4, 3>;
using classes = ebb::term<std::int64_t, 4>;
using vector = ebb::term<float, 3>;

[[maybe_unused]] constexpr int fits = traced_on<logits, classes, vector>([](auto x, auto t, auto w) {
  return ebb::cross_entropy(x, t, ebb::weighted(w), ebb::ignoring<-100>, ebb::smoothed(0.1));
});

#if EBB_CASE == 1  // one weight for each example
// EXPECT: E0480 cross_entropy, nll: the weights are a vector with one for each class
constexpr int refused = traced_on<logits, classes, ebb::term<float, 4>>([](auto x, auto t, auto w) {
  return ebb::cross_entropy(x, t, ebb::weighted(w));  // LINE
});
#elif EBB_CASE == 2  // a class to ignore among probabilities
// EXPECT: E0481 cross_entropy, nll: targets that are probabilities have no class to ignore
constexpr int refused = traced_on<logits, logits>([](auto x, auto p) {
  return ebb::cross_entropy(x, p, ebb::ignoring<0>);  // LINE
});
#elif EBB_CASE == 3  // a smoothing for each class
// EXPECT: E0482 cross_entropy, nll: the smoothing is a number
constexpr int refused = traced_on<logits, classes, vector>([](auto x, auto t, auto e) {
  return ebb::nll(x, t, ebb::smoothed(e));  // LINE
});
#elif EBB_CASE == 4  // mse has no class to ignore
// EXPECT: E0483 this loss has no such option
constexpr int refused = traced_on<logits, logits>([](auto x, auto y) {
  return ebb::mse(x, y, ebb::ignoring<1>);  // LINE
});
#elif EBB_CASE == 5  // nor weights of positive examples cross_entropy
// EXPECT: E0483 this loss has no such option
constexpr int refused = traced_on<logits, classes, vector>([](auto x, auto t, auto w) {
  return ebb::cross_entropy(x, t, ebb::positives_weighted(w));  // LINE
});
#elif EBB_CASE == 6  // weights with more axes than the losses
// EXPECT: E0211 the operands of a loss differ in rank
constexpr int refused = traced_on<logits, logits, ebb::term<float, 2, 4, 3>>([](auto x, auto y, auto w) {
  return ebb::bce_with_logits(x, y, ebb::weighted(w));  // LINE
});
#endif

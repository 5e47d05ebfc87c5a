// test/nn/loss.fail.cpp — operands and options that losses refuse.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/trace/functions.hpp>
#include <ebb/trace/trace.hpp>
#include <ebb/nn.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}
using matrix = ebb::term<float, 4, 1>;
using vector = ebb::term<float, 4>;

[[maybe_unused]] constexpr int fits = traced_on<vector, vector>([](auto x, auto y) { return ebb::huber(x, y, 0.5, ebb::summed); });

#if EBB_CASE == 1  // a column with a row would give a matrix of losses
// EXPECT: E0211 the operands of a loss differ in rank
constexpr int refused = traced_on<matrix, vector>([](auto x, auto y) {
  return ebb::huber(x, y);  // LINE
});
#elif EBB_CASE == 2  // the logarithm is an option of kl_div
// EXPECT: E0483 this loss has no such option
constexpr int refused = traced_on<vector, vector>([](auto x, auto y) {
  return ebb::l1(x, y, ebb::log_target);  // LINE
});
#elif EBB_CASE == 3  // no target
// EXPECT: E0484 a loss has two to five operands
constexpr int refused = traced_on<vector>([](auto x) {
  return ebb::bce(x, ebb::summed);  // LINE
});
#endif

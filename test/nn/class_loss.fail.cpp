// test/nn/class_loss.fail.cpp — operands that multilabel_soft_margin, dice and info_nce refuse, and focal beside targets of another rank.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 3
#include <ebb/nn.hpp>
#include <ebb/trace/functions.hpp>
#include <ebb/trace/trace.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}

#if EBB_CASE == 1  // a number has no classes
// EXPECT: E0455 multilabel_soft_margin, dice, info_nce: an axis is missing
constexpr int refused = traced_on<ebb::term<float>>([](auto x) {
  return ebb::multilabel_soft_margin(x, x);  // LINE
});
#elif EBB_CASE == 2  // examples without places
// EXPECT: E0455 multilabel_soft_margin, dice, info_nce: an axis is missing
constexpr int refused = traced_on<ebb::term<float, 4>>([](auto x) {
  return ebb::dice(x, x);  // LINE
});
#elif EBB_CASE == 3  // one vector
// EXPECT: E0455 multilabel_soft_margin, dice, info_nce: an axis is missing
constexpr int refused = traced_on<ebb::term<float, 4>>([](auto x) {
  return ebb::info_nce(x, x);  // LINE
});
#elif EBB_CASE == 4  // a column of targets beside a row of logits
// EXPECT: E0211 the operands of a loss differ in rank: reshape one, or give a number
constexpr int refused = traced_on<ebb::term<float, 4>, ebb::term<float, 4, 1>>([](auto x, auto y) {
  return ebb::focal(x, y);  // LINE
});
#endif

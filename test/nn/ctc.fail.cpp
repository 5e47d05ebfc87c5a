// test/nn/ctc.fail.cpp — operands that ctc refuses.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/nn.hpp>
#include <ebb/trace/functions.hpp>
#include <ebb/trace/trace.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}

#if EBB_CASE == 1  // targets in one row
// EXPECT: E0456 ctc: log-probabilities are [steps, n, classes], targets integers [n, labels], lengths
using counts = ebb::term<std::int64_t, 2>;
constexpr int refused = traced_on<ebb::term<float, 5, 2, 3>, counts>([](auto p, auto n) {
  return ebb::ctc(p, n, n, n);  // LINE
});
#endif

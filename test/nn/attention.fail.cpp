// test/nn/attention.fail.cpp — operands that attention refuses.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/nn.hpp>
#include <ebb/trace/functions.hpp>
#include <ebb/trace/trace.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}

#if EBB_CASE == 1  // keys of another depth
// EXPECT: E0475 attention: q [..., rows, depth], k [..., columns, depth] and v [..., columns, width] do not fit
constexpr int refused = traced_on<ebb::term<float, 4, 3>, ebb::term<float, 6, 5>>([](auto q, auto k) {
  return ebb::scaled_dot_product_attention(q, k, k);  // LINE
});
#endif

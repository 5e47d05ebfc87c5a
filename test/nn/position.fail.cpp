// test/nn/position.fail.cpp — waves and heads that sinusoidal and alibi refuse.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/nn.hpp>
#include <ebb/trace/functions.hpp>
#include <ebb/trace/trace.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}

#if EBB_CASE == 1  // a sine without its cosine
// EXPECT: E0495 sinusoidal takes an even number of waves, alibi one head or more and queries and keys with
constexpr int refused = traced_on<ebb::term<float, 4>>([](auto x) {
  return ebb::sinusoidal<5>(x);  // LINE
});
#elif EBB_CASE == 2  // a single query
// EXPECT: E0495 sinusoidal takes an even number of waves, alibi one head or more and queries and keys with
constexpr int refused = traced_on<ebb::term<float, 4>, ebb::term<float, 3, 4>>([](auto q, auto k) {
  return ebb::alibi<8>(q, k);  // LINE
});
#endif

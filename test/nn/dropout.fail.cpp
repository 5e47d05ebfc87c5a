// test/nn/dropout.fail.cpp — keys, probabilities and masks that dropout and attention refuse.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 4
// covers: dropout.hpp attention.hpp
#include <ebb/nn.hpp>
#include <ebb/trace/functions.hpp>
#include <ebb/trace/trace.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}

#if EBB_CASE == 1  // a key that is no integer
// EXPECT: E0525 random numbers in a traced function: the key is an integer, or an integer array of rank 0
constexpr int refused = traced_on<ebb::term<float, 4, 3>, ebb::term<float>>([](auto x, auto key) {
  return ebb::dropout(x, 0.5, key);  // LINE
});
#elif EBB_CASE == 2  // a probability above 1
// EXPECT: E0452 dropout: the probability is a number from 0 to 1, above 0 in attention that takes a key
constexpr int refused = traced_on<ebb::term<float, 4, 3>, ebb::term<std::int64_t>>([](auto x, auto key) {
  return ebb::scaled_dot_product_attention<ebb::attention{.dropout = 1.5}>(x, x, x, key);  // LINE
});
#elif EBB_CASE == 5  // an array without channels
// EXPECT: E0538 dropout_channels: x has two axes or more, those of examples and of channels first
constexpr int refused = traced_on<ebb::term<float, 4>, ebb::term<std::int64_t>>([](auto x, auto key) {
  return ebb::dropout_channels(x, 0.5, key);  // LINE
});
#elif EBB_CASE == 3  // a mask for other columns
// EXPECT: E0453 attention: the mask is bool or real, and is broadcast to [..., rows, columns]
constexpr int refused = traced_on<ebb::term<float, 4, 3>, ebb::term<bool, 4, 5>>([](auto q, auto mask) {
  return ebb::scaled_dot_product_attention(q, q, q, mask);  // LINE
});
#elif EBB_CASE == 4  // an integer in the place of a mask
// EXPECT: E0453 attention: the mask is bool or real, and is broadcast to [..., rows, columns]
constexpr int refused = traced_on<ebb::term<float, 4, 3>, ebb::term<std::int64_t>>([](auto q, auto key) {
  return ebb::scaled_dot_product_attention(q, q, q, key);  // LINE
});
#endif

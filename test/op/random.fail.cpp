// test/op/random.fail.cpp — keys and extents that random numbers in traced functions do not take.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/ebb.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}
using vector = ebb::term<float, ebb::dyn>;
using number = ebb::term<std::int64_t>;

[[maybe_unused]] constexpr int fits =
    traced_on<vector, number>([](auto x, auto key) { return x + ebb::normal<float>(ebb::split_key<2>(key)[0], x, 1); });
int main() {}

#if EBB_CASE == 1  // a key is no array of keys
// EXPECT: E0525 random numbers in a traced function: the key is an integer, or an integer array of rank 0
constexpr int refused = traced_on<vector, number>([](auto x, auto key) {
  return ebb::uniform<float, 3>(x, key, 1);  // LINE
});
#elif EBB_CASE == 2  // whose extent?
// EXPECT: E0526 uniform, normal, bernoulli in a traced function: extents are fixed by the type
constexpr int refused = traced_on<vector, number>([](auto x, auto key) {
  return x * ebb::normal<float, ebb::dyn>(key);  // LINE
});
#elif EBB_CASE == 3  // none
// EXPECT: E0529 split_key: the number of keys is positive
const auto refused = ebb::split_key<0>(ebb::random_key(1));  // LINE
#elif EBB_CASE == 4  // parameters of other extents
// EXPECT: E0102 the extents differ
constexpr int refused = traced_on<ebb::term<float, 2>, number>([](auto x, auto key) {
  return ebb::normal<float, 3>(key, x, 1);  // LINE
});
#elif EBB_CASE == 5  // half a key
// EXPECT: E0525 random numbers in a traced function: the key is an integer, or an integer array of rank 0
constexpr int refused = traced_on<number>([](auto key) {
  return ebb::fold_in(ebb::cast<float>(key), 1);  // LINE
});
#endif

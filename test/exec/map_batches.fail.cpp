// test/exec/map_batches.fail.cpp — calls of map in batches that do not fit.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/functional.hpp>

#include <ctime>

namespace user {

auto timed(auto x) { return x * static_cast<float>(std::time(nullptr)); }

}  // namespace user

int main() {
  [[maybe_unused]] const ebb::tensor<float, 3, 2> x{};
  [[maybe_unused]] const ebb::tensor<float, 2> y{};
  [[maybe_unused]] static constexpr auto add = [](auto a, auto b) { return a + b; };
#if EBB_CASE == 1
  // EXPECT: E0546 ebb::batch_size: a batch has at least one row
  auto r = ebb::map<ebb::batch_size<0>>([](auto a) { return a; }, x);  // LINE
#elif EBB_CASE == 2
  // EXPECT: E0290 map: the arguments have different numbers of rows
  auto r = ebb::map<ebb::batch_size<2>>(add, x, y);  // LINE
#elif EBB_CASE == 3
  // EXPECT: E0290 map: the arguments have different numbers of rows
  auto r = ebb::compile([](auto a, auto b) { return ebb::map<ebb::batch_size<2>>(add, a, b); })(x, y);  // LINE
#elif EBB_CASE == 4
  // EXPECT: E0104 must not capture
  auto r = ebb::map<ebb::batch_size<2>>([&](auto a) { return a + y; }, x);  // LINE
#elif EBB_CASE == 5
  // EXPECT: E0124 there must be an argument that is not whole(...)
  auto r = ebb::map<ebb::batch_size<2>>([](auto a) { return a; }, ebb::whole(x));  // LINE
#elif EBB_CASE == 6
  // EXPECT: E0126 a traced function calls what is not constexpr
  auto r = ebb::map<ebb::batch_size<2>>([](auto a) { return user::timed(a); }, x);  // LINE
#elif EBB_CASE == 7
  // EXPECT: E0126 a traced function calls what is not constexpr
  auto r = ebb::map([](auto a) { return user::timed(a); }, x);  // LINE
#endif
}

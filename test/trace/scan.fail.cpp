// test/trace/scan.fail.cpp — loops that cannot be: what they carry changes, rows differ, options and arguments that do not fit.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/ebb.hpp>

#include <tuple>

int main() {
  const ebb::tensor<float, 3> h{1, 2, 3};
  const ebb::tensor<float, 4, 3> xs{};
  [[maybe_unused]] const ebb::tensor<float, 5, 3> more{};
  static constexpr auto step = [](auto carry, auto x) { return std::tuple(carry + x, carry); };
  [[maybe_unused]] const auto good = ebb::compile([](auto a, auto b) { return ebb::scan(step, a, b); })(h, xs);
#if EBB_CASE == 1
  // EXPECT: E0320 there must be an argument that is not whole(...)
  auto r = ebb::compile([](auto a, auto b) { return ebb::scan(step, a, ebb::whole(b)); })(h, h);  // LINE
#elif EBB_CASE == 2
  // EXPECT: E0321 the function returns std::tuple(carry, y)
  auto r = ebb::compile([](auto a, auto b) { return ebb::scan([](auto c, auto x) { return c + x; }, a, b); })(h, xs);  // LINE
#elif EBB_CASE == 3
  // EXPECT: E0322 in another form, dtype or shape
  auto r = ebb::compile([](auto a, auto b) {
    return ebb::scan([](auto c, auto x) { return std::tuple(ebb::cast<double>(c + x), c); }, a, b);  // LINE
  })(h, xs);
#elif EBB_CASE == 4
  // EXPECT: E0322 in another form, dtype or shape
  auto r = ebb::compile([](auto a, auto b) {
    return ebb::scan([](auto c, auto x) { return std::tuple(ebb::sum(c + x), c); }, a, b);  // LINE
  })(h, xs);
#elif EBB_CASE == 5
  // EXPECT: E0323 different numbers of rows
  auto r = ebb::compile([](auto a, auto b, auto c) {
    return ebb::scan([](auto s, auto x, auto y) { return std::tuple(s + x * y, s); }, a, b, c);  // LINE
  })(h, xs, more);
#elif EBB_CASE == 6
  // EXPECT: E0325 an array has eight axes
  const ebb::tensor<float, 1, 1, 1, 1, 1, 1, 1, 1> deep{};
  auto r = ebb::compile([](auto a, auto b) {
    return ebb::scan([](auto c, auto x) { return std::tuple(c * ebb::sum(x), std::tuple<>()); }, a, b);  // LINE
  })(deep, xs);
#elif EBB_CASE == 7
  // EXPECT: E0327 the arguments after the carry are whole(...)
  auto r = ebb::compile([](auto a, auto b) { return ebb::fori(3, [](auto, auto c, auto x) { return c + x; }, a, b); })(h, h);  // LINE
#elif EBB_CASE == 8
  // EXPECT: E0328 fori is called in a traced function
  auto r = ebb::fori(3, [](auto, auto c) { return c + c; }, h);  // LINE
#elif EBB_CASE == 9
  // EXPECT: E0329 options are ebb::reversed and one of keep_all, keep_carries, keep_every<k>, keep_sqrt, recompute
  auto r = ebb::compile([](auto a, auto b) { return ebb::scan<ebb::keep_all, ebb::recompute>(step, a, b); })(h, xs);  // LINE
#elif EBB_CASE == 10
  // EXPECT: E0104 must not capture
  auto r = ebb::compile([](auto a, auto b) {
    return ebb::scan([=](auto c, auto x) { return std::tuple(c + x + a, c); }, a, b);  // LINE
  })(h, xs);
#elif EBB_CASE == 11
  // EXPECT: E0330 a program with a loop is no flat list of equations
  constexpr auto f = [](auto a, auto b) { return ebb::scan(step, a, b); };
  using forward = ebb::forward_t<decltype(f), ebb::tensor<float, 3>, ebb::tensor<float, 4, 3>>;  // LINE
  ebb::print(forward{});
#elif EBB_CASE == 12
  // EXPECT: E0331 variables are passed to a region that has the scan in it
  const ebb::variable v(h);
  auto r = ebb::scan(step, v, xs);  // LINE
#elif EBB_CASE == 13
  // EXPECT: E0332 changes from step to step of another loop
  auto r = ebb::compile([](auto a, auto n) {
    return ebb::scan([](auto c, auto k) {  // LINE
      return std::tuple(ebb::fori(k, [](auto, auto x) { return x + x; }, c), k);
    }, a, n);
  })(h, ebb::tensor<int, 2>{1, 2});
#elif EBB_CASE == 14
  // EXPECT: E0333 the number of steps of a fori is not the same for all rows
  auto r = ebb::compile([](auto a, auto n) {
    return ebb::map([](auto x, auto k) { return ebb::fori(k, [](auto, auto c) { return c + c; }, x); }, a, n);  // LINE
  })(h, ebb::tensor<int, 3>{1, 2, 3});
#elif EBB_CASE == 15
  // EXPECT: E0334 the number of steps is an integer without axes
  auto r = ebb::compile([](auto a) { return ebb::fori(ebb::sum(a), [](auto, auto c) { return c + c; }, a); })(h);  // LINE
#elif EBB_CASE == 16
  // EXPECT: E0335 the number of steps is computed in the function
  auto r = ebb::compile([](auto a, auto n) { return ebb::fori(n + 1, [](auto, auto c) { return c + c; }, a); })(h, 2);  // LINE
#elif EBB_CASE == 17
  // EXPECT: E0335 the number of steps is computed in the function
  // LINES: 16
  static constexpr auto inner = [](auto a, auto n) { return ebb::fori(n, [](auto, auto c) { return c + c; }, a); };
  auto r = ebb::compile([](auto a, auto n) { return ebb::compile(inner)(a, n * 2); })(h, 2);  // LINE
#elif EBB_CASE == 18
  // EXPECT: E0326 fori: the number of steps is negative
  auto r = ebb::compile([](auto a) { return ebb::fori(-1, [](auto, auto c) { return c + c; }, a); })(h);  // LINE
#elif EBB_CASE == 19
  // EXPECT: E0326 fori: the number of steps is negative, or above 2147483647
  auto r = ebb::grad([](auto a) { return ebb::fori<ebb::keep_sqrt>(1LL << 40, [](auto, auto c) { return c + c; }, ebb::sum(a)); })(h);  // LINE
#elif EBB_CASE == 20
  // EXPECT: E0127 the function cannot be called so: it takes another number of arguments
  // ERRORS: 1
  auto r = ebb::compile([](auto a) { return ebb::fori(3, [](auto c) { return c + c; }, a); })(h);  // LINE
#elif EBB_CASE == 21
  // EXPECT: E0329 options are ebb::reversed and one of keep_all
  // ERRORS: 1
  auto r = ebb::compile([](auto a) { return ebb::fori<ebb::reversed, 3>(3, [](auto, auto c) { return c + c; }, a); })(h);  // LINE
#elif EBB_CASE == 22
  // EXPECT: E0557 the number of an option is too small
  // ERRORS: 1
  auto r = ebb::compile([](auto a) { return ebb::fori<ebb::keep_every<0>>(3, [](auto, auto c) { return c + c; }, a); })(h);  // LINE
#endif
}

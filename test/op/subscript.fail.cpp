// test/op/subscript.fail.cpp — subscripts that no array of these extents has.
// ERRORS: 1, clang 2
// SPDX-License-Identifier: BSL-1.0
#include <ebb/ebb.hpp>

int main() {
  const ebb::tensor<double, 3> x{1, 2, 3};
  const ebb::tensor<double, ebb::dyn, 3> d{{1, 2, 3}, {4, 5, 6}};
  [[maybe_unused]] const ebb::variable<double, 3> v{x};
  [[maybe_unused]] const auto good = ebb::compile([](auto a, auto b) { return a[0] + b(1, 2) + ebb::take(a, -1); })(x, d);
#if EBB_CASE == 1
  // EXPECT: E0230 a subscript is outside of its axis
  auto r = ebb::compile([](auto a) { return a[3]; })(x);  // LINE
#elif EBB_CASE == 2
  // EXPECT: E0230 a subscript is outside of its axis
  auto r = ebb::grad([](auto a) { return a(-4) * a(0); })(x);  // LINE
#elif EBB_CASE == 3
  // EXPECT: E0230 take: a subscript is outside of its axis
  auto r = ebb::value_and_grad([](auto a) { return ebb::take(a, 3); })(x);  // LINE
#elif EBB_CASE == 4
  // EXPECT: E0230 a subscript is outside of its axis
  auto r = ebb::grad([](auto a) { auto s = a[0]; for (int i = 0; i <= 3; ++i) s = s + a[i]; return s; })(x);  // LINE
#elif EBB_CASE == 5
  // EXPECT: E0230 a subscript is outside of its axis
  auto r = ebb::vjp([](auto a) { return a(0, 3); })(d);  // LINE
#elif EBB_CASE == 6
  // EXPECT: E0230 a subscript is outside of its axis
  auto r = ebb::map([](auto row) { return row[5]; }, d);  // LINE
#elif EBB_CASE == 7
  // EXPECT: E0231 there are more subscripts than axes
  auto r = ebb::compile([](auto a) { return a(0, 1); })(x);  // LINE
#elif EBB_CASE == 8
  // EXPECT: E0232 subscripts are integers
  auto r = ebb::compile([](auto a) { return a[0.5]; })(x);  // LINE
#elif EBB_CASE == 9
  // EXPECT: E0115 an index must be an integer
  auto r = ebb::compile([](auto a) { return ebb::take(a, true); })(x);  // LINE
#elif EBB_CASE == 10
  // EXPECT: E0232 subscripts are integers, or arrays of integers
  auto r = ebb::compile([](auto a, auto i) { return a(i, 0.5); })(d, ebb::tensor<int, 2>{0, 1});  // LINE
#elif EBB_CASE == 11
  // EXPECT: E0231 there are more subscripts than axes
  auto r = v(0, 1);  // LINE
#elif EBB_CASE == 12
  // EXPECT: E0230 a subscript is outside of its axis
  auto r = ebb::compile([](auto a) { return a[0]; })(ebb::tensor<float, 0>{});  // LINE
#elif EBB_CASE == 13
  // EXPECT: E0110 a traced function uses an array that is not its argument
  auto r = ebb::compile([](auto a) { return a[ebb::tensor<int, 2>{0, 1}]; })(x);  // LINE
#elif EBB_CASE == 14
  // EXPECT: E0232 subscripts are integers
  auto r = v[0.5];  // LINE
#elif EBB_CASE == 15
  ebb::tensor<float, 2, 2> square;
  // EXPECT: E0303 x[i] is a copy and cannot be assigned
  square[0] = ebb::tensor<float, 2>{1, 2};  // LINE
#elif EBB_CASE == 16
  ebb::tensor<float, 2, 2> square;
  // EXPECT: E0305 assigning to a part of a view writes nothing
  ebb::view<float, 2, 2>(square.mutable_data())[0] = ebb::tensor<float, 2>{1, 2};  // LINE
#elif EBB_CASE == 17
  auto r = ebb::compile([](auto a) {
    // EXPECT: E0304 x[i] is a value and cannot be assigned
    a[0] = a[1];  // LINE
    return a;
  })(x);
#elif EBB_CASE == 18
  auto r = ebb::compile([](auto a) {
    // EXPECT: E0304 x[i] is a value and cannot be assigned
    a[0] = 1.0;  // LINE
    return a;
  })(x);
#elif EBB_CASE == 19
  // EXPECT: E0102 the extents differ
  auto r = ebb::gather_nd(d, ebb::tensor<int, 2>{0, 1}, ebb::tensor<int, 3>{0, 1, 2});  // LINE
#elif EBB_CASE == 20
  // EXPECT: E0231 there are more subscripts than axes
  auto r = ebb::gather_nd(x, ebb::tensor<int, 2>{0, 1}, 0);  // LINE
#elif EBB_CASE == 21
  const ebb::variable<double, ebb::dyn, 3> w{d};
  // EXPECT: E0232 subscripts are integers, or arrays of integers
  auto r = w(1, ebb::tensor<int, 2>{0, 1});  // LINE
#endif
}

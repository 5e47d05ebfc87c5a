// test/trace/trace.fail.cpp — functions that cannot be traced, because of their calls, parameters or results.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/ebb.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

// Helpers must be constexpr; lambdas are constexpr by themselves.
constexpr auto square(auto x) { return x * x; }
auto cube = [](auto x) { return x * x * x; };
template <class T>
constexpr T half(T x) {
  return x;
}
struct scaled {
  static constexpr double factor = 2;
  constexpr auto operator()(auto x) const { return factor * x; }
};
constexpr double scale = 2;
const int count = 4;

auto plain_square(auto x) { return x * x; }
struct plain {
  auto operator()(auto x) const { return x * x; }
};
double variable = 2;
double plain_double(double x) { return x * x; }

int main() {
  const ebb::tensor<float, 3> x{1, 2, 3};
  static constexpr auto inner = [](auto b) { return b + 1; };
  constexpr auto f = [](auto a) { return ebb::sum(square(a) + cube(a) * scale + inner(half(a)) + scaled{}(a) * count); };
  [[maybe_unused]] const auto good = ebb::grad(f)(x);
#if EBB_CASE == 1
  // EXPECT: E0126 a traced function calls what is not constexpr
  auto r = ebb::grad([](auto a) { return ebb::sum(plain_square(a)); })(x);  // LINE
#elif EBB_CASE == 2
  // EXPECT: E0126 or reads a variable
  auto r = ebb::compile([](auto a) { return a * variable; })(x);  // LINE
#elif EBB_CASE == 3
  // EXPECT: E0126 a traced function calls what is not constexpr
  auto r = ebb::vjp([](auto a) { return plain{}(a); })(x);  // LINE
#elif EBB_CASE == 4
  // EXPECT: E0127 it takes another number of arguments
  auto r = ebb::grad([](auto a, auto b) { return ebb::sum(a * b); })(x, x, x);  // LINE
#elif EBB_CASE == 5
  // EXPECT: E0127 it takes another number of arguments
  auto r = ebb::jvp([](auto a, auto b) { return ebb::sum(a * b); })(x, x);  // LINE
#elif EBB_CASE == 6
  // EXPECT: E0127 not all are auto
  auto r = ebb::compile([](auto a, ebb::tensor<float, 3> b) { return a * b; })(x, x);  // LINE
#elif EBB_CASE == 7
  // EXPECT: E0128 the parameters of a traced function are auto
  auto r = ebb::grad([](const ebb::tensor<float, 3>& a) { return ebb::sum(a); })(x);  // LINE
#elif EBB_CASE == 8
  // EXPECT: E0129 a traced function returns arrays, numbers, or tuples and structs of them
  ebb::compile([](auto a) { ebb::sum(a); })(x);  // LINE
#elif EBB_CASE == 9
  // EXPECT: E0129 no void, no pair
  auto r = ebb::compile([](auto a) { return std::pair(a, a); })(x);  // LINE
#elif EBB_CASE == 10
  // EXPECT: E0129 a traced function returns arrays, numbers, or tuples and structs of them
  auto r = ebb::jacobian([](auto a) { return std::tuple(a, "text"); })(x);  // LINE
#elif EBB_CASE == 11
  const std::vector<std::size_t> rows{0, 2};
  // EXPECT: E0130 indices are int or std::int64_t, not size_t or unsigned
  auto r = ebb::compile([](auto a, auto i) { return ebb::take(a, i); })(x, rows);  // LINE
#elif EBB_CASE == 12
  const std::size_t row = 1;
  // EXPECT: E0130 indices are int or std::int64_t, not size_t or unsigned
  auto r = ebb::value_and_grad([](auto a, auto i) { return ebb::take(a, i); })(x, row);  // LINE
#elif EBB_CASE == 13
  // EXPECT: E0126 a traced function calls what is not constexpr
  auto r = ebb::compile([](auto a) {
    return ebb::map([](auto row) { return plain_square(row); }, a);  // LINE
  })(x);
#elif EBB_CASE == 14
  // EXPECT: E0127 it takes another number of arguments
  auto r = ebb::compile([](auto a) {
    return ebb::map([](auto row) { return row; }, a, a);  // LINE
  })(x);
#elif EBB_CASE == 15
  // EXPECT: E0131 give the extents that are dyn, and no others
  ebb::tensor<float, ebb::dyn, 2> b(3, 2);  // LINE
#elif EBB_CASE == 16
  // EXPECT: E0133 a compound assignment cannot change dtype or extents
  auto r = ebb::compile([](auto a, auto b) {
    b += a;  // LINE
    return b;
  })(x, 2.f);
#elif EBB_CASE == 17
  // EXPECT: E0110 a traced function uses an array that is not its argument
  auto r = ebb::compile([](auto a) { return a * ebb::tensor<float, 3>{1, 2, 3}; })(x);  // LINE
#elif EBB_CASE == 18
  // EXPECT: E0110 pass it to the function
  auto r = ebb::grad([](auto a) { return ebb::dot(a, std::array<float, 3>{1, 2, 3}); })(x);  // LINE
#elif EBB_CASE == 19
  // EXPECT: E0110 a traced function uses an array that is not its argument
  auto r = ebb::compile([](auto a) {
    a += ebb::tensor<float, 3>{1, 2, 3};  // LINE
    return a;
  })(x);
#elif EBB_CASE == 20
  ebb::tensor<int, 3> counts{1, 2, 3};
  // EXPECT: E0133 a compound assignment cannot change dtype or extents
  counts *= 2.5;  // LINE
#elif EBB_CASE == 21
  // EXPECT: E0126 or is too large for the compiler's limit
  constexpr auto turns = [](auto a) {
    for (int i = 0; i < 2000000; ++i) a = i == 0 ? a + a : a;
    return a;
  };
  auto r = ebb::compile(turns)(x);  // LINE
#elif EBB_CASE == 22
  // EXPECT: E0235 a plain function is of its own types
  auto r = ebb::grad(plain_double)(2.0);  // LINE
#elif EBB_CASE == 23
  // EXPECT: E0235 and is called with terms
  auto r = ebb::compile(&plain_double)(2.0);  // LINE
#elif EBB_CASE == 24
  // EXPECT: E0235 a plain function is of its own types
  auto r = ebb::map(plain_double, x);  // LINE
#elif EBB_CASE == 25
  // EXPECT: E0213 a term has no value while it is traced: call ebb::exp, not std::exp
  auto r = ebb::grad([](auto a) { return std::exp(a); })(2.0);  // LINE
#elif EBB_CASE == 26
  // EXPECT: E0213 a term has no value while it is traced
  auto r = ebb::compile([](auto a) { return std::sqrt(a * 2) + 1; })(x);  // LINE
#elif EBB_CASE == 27
  // EXPECT: E0213 a term has no value while it is traced
  auto r = ebb::compile([](auto a) { return std::pow(a(0), 2); })(x);  // LINE
#elif EBB_CASE == 28
  // EXPECT: E0213 its type is auto
  auto r = ebb::compile([](auto a) {
    const float first = a(0);  // LINE
    return a * first;
  })(x);
#elif EBB_CASE == 29
  // EXPECT: E0107 choose with ebb::where, not with if
  auto r = ebb::compile([](auto a) {
    if (a(0)) return a;  // LINE
    return a * 2;
  })(x);
#elif EBB_CASE == 30
  // EXPECT: E0213 a term has no value while it is traced
  auto r = ebb::compile([](auto n) { return std::sqrt(n); })(ebb::tensor<int, 3>{});  // LINE
#elif EBB_CASE == 31
  // EXPECT: E0213 a term has no value while it is traced
  auto r = ebb::compile([](auto n) { return std::pow(n(0), 2); })(ebb::tensor<std::int64_t, 3>{});  // LINE
#elif EBB_CASE == 32
  // EXPECT: E0213 its type is auto
  auto r = ebb::compile([](auto n) {
    const int first = n(0);  // LINE
    return n * first;
  })(ebb::tensor<int, 3>{});
#elif EBB_CASE == 33
  // EXPECT: E0213 a term has no value while it is traced
  auto r = ebb::compile([](auto n) { return std::abs(n * 2); })(ebb::tensor<int, 3>{});  // LINE
#elif EBB_CASE == 34
  auto r = ebb::compile([](auto a) {
    // EXPECT: E0527 ebb::unbind<0>(x) is a tuple of its rows
    auto [first, second] = a;  // LINE
    return a;
  })(x);
#endif
}

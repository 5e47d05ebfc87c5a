// test/exec/gradient.fail.cpp — refused calls of gradients.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/ebb.hpp>

namespace user {
struct no_pull : ebb::elementwise<1> {
  static constexpr std::string_view name = "no_pull";
  static constexpr auto value(auto x) { return x; }
};
inline constexpr ebb::call<no_pull> unpulled{};
template <template <class, std::size_t...> class Array>
struct counted {
  using counts = Array<int, 2>;
  BOOST_HANA_DEFINE_STRUCT(counted, (counts, seen));
};
template <template <class, std::size_t...> class Array>
struct rated {
  using weights = Array<float, 3>;
  BOOST_HANA_DEFINE_STRUCT(rated, (weights, w), (int, rate));
};
}  // namespace user

int main() {
  const ebb::tensor<float, 3> x{1, 2, 3};
  [[maybe_unused]] const ebb::tensor<int, 3> numbers{1, 2, 3};
  constexpr auto f = [](auto a) { return ebb::sum(a * a); };
  [[maybe_unused]] const auto good = ebb::grad(f)(x);
#if EBB_CASE == 1
  float scale = 2;
  // EXPECT: E0104 a traced lambda must not capture
  auto r = ebb::grad([=](auto a) { return ebb::sum(a * scale); });  // LINE
#elif EBB_CASE == 2
  // EXPECT: E0106 the function uses an op without a pull
  auto r = ebb::grad([](auto a) { return ebb::sum(user::unpulled(a)); })(x);  // LINE
#elif EBB_CASE == 3
  // EXPECT: E0108 an integer has no gradient
  auto r = ebb::grad(f)(numbers);  // LINE
#elif EBB_CASE == 4
  // EXPECT: E0109 only a scalar has a gradient
  auto r = ebb::value_and_grad([](auto a) { return a * a; })(x);  // LINE
#elif EBB_CASE == 5
  struct opaque {};
  // EXPECT: E0111 an argument is not an array
  auto r = ebb::grad(f)(opaque{});  // LINE
#elif EBB_CASE == 6
  // EXPECT: E0117 there is no argument of that number
  auto r = ebb::grad<1>(f)(x);  // LINE
#elif EBB_CASE == 7
  float scale = 2;
  // EXPECT: E0104 a traced lambda must not capture
  auto r = ebb::compile([&](auto a) { return a * scale; });  // LINE
#elif EBB_CASE == 8
  // EXPECT: E0108 an integer has no gradient
  auto r = ebb::value_and_grad<0, 1>([](auto a, auto t) { return ebb::sum(a * t); })(x, numbers);  // LINE
#elif EBB_CASE == 9
  // EXPECT: E0108 an integer has no gradient
  auto r = ebb::grad([](auto a) { return ebb::sum(std::get<0>(a) / std::get<1>(a)); })(std::tuple{numbers, numbers});  // LINE
#elif EBB_CASE == 10
  // EXPECT: E0108 an integer has no gradient
  auto r = ebb::grad([](auto a) { return ebb::mean(a.seen); })(user::counted<ebb::tensor>{{1, 2}});  // LINE
#elif EBB_CASE == 11
  // EXPECT: E0117 there is no argument of that number
  auto r = ebb::grad<-1>(f)(x);  // LINE
#elif EBB_CASE == 12
  // EXPECT: E0111 an argument is not an array, a number, a tuple, or a struct over arrays
  auto r = ebb::grad([](auto a) { return ebb::sum(a.w); })(user::rated<ebb::tensor>{x, 1});  // LINE
#elif EBB_CASE == 13
  // EXPECT: E0117 there is no argument of that number
  ebb::print(ebb::grad(f));  // LINE
#elif EBB_CASE == 14
  // EXPECT: E0127 the function cannot be called so
  const std::string dot = ebb::to_dot<ebb::tensor<float, 3>, ebb::tensor<float, 3>>(ebb::grad(f));  // LINE
#elif EBB_CASE == 15
  // EXPECT: E0250 with ebb::has_aux the function returns std::tuple(loss, aux...)
  auto [loss, y, dx] = ebb::value_and_grad(f, ebb::has_aux)(x);  // LINE
#elif EBB_CASE == 16
  // EXPECT: E0250 with ebb::has_aux the function returns std::tuple(loss, aux...)
  auto [dx, y] = ebb::grad([](auto a) { return std::tuple(a, ebb::sum(a)); }, ebb::has_aux)(x);  // LINE
#elif EBB_CASE == 17
  // EXPECT: E0251 the function returns a tuple: if only its first part is differentiated, add ebb::has_aux
  auto [loss, dx] = ebb::value_and_grad([](auto a) { return std::tuple(ebb::sum(a), a); })(x);  // LINE
#elif EBB_CASE == 18
  // EXPECT: E0106 the function uses an op without a pull
  auto r = ebb::grad([](auto a) { return std::tuple(ebb::sum(user::unpulled(a)), a); }, ebb::has_aux)(x);  // LINE
#elif EBB_CASE == 19
  // EXPECT: E0306 a traced lambda begins with []
  auto r = ebb::grad([=](auto a) { return ebb::sum(a * a); })(x);  // LINE
#endif
}

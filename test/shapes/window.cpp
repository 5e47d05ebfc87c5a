// test/shapes/window.cpp — borders that continue an array, and sliding windows: recorded values, derivatives, arrays, errors.
// SPDX-License-Identifier: BSL-1.0
// covers: pad.hpp window.hpp
#include "../linalg/oracle.hpp"
#include "../random_array.hpp"

#include <ebb/ebb.hpp>
#include <ebb/shapes.hpp>

namespace {

using ebb::dyn;
using golden::of;
using golden::real;
using window_cube = of<real, 2, 3, 4>;
using window_any = of<real, dyn, dyn, dyn>;

TEST_CASE("borders and windows have PyTorch's recorded values and derivatives") {
  const golden::bounds sums{.grad = 2, .spread = true};
  const auto mirrored = [](auto x) { return ebb::pad<-1, 1, 1>(x, ebb::reflect); };
  golden::check<window_cube>("shaping", "pad_reflect", mirrored, sums);
  golden::check_wide<window_any>("shaping", "pad_reflect", mirrored, sums);
  golden::check_wide<window_any>("shaping", "pad_replicate", [](auto x) { return ebb::pad<-1, 2, 1>(x, ebb::replicate); }, sums);
  golden::check_wide<window_any>("shaping", "pad_circular", [](auto x) { return ebb::pad<-1, 1, 1>(x, ebb::circular); }, sums);
  using image = of<real, 1, 2, 4, 5>;
  golden::check_wide<image>(
      "shaping", "pad_reflect_two_axes", [](auto y) { return ebb::pad<2, 1, 3>(ebb::pad<3, 2, 1>(y, ebb::reflect), ebb::reflect); }, sums);
  golden::check_wide<image>(
      "shaping", "pad_replicate_two_axes", [](auto y) { return ebb::pad<2, 1, 3>(ebb::pad<3, 2, 1>(y, ebb::replicate), ebb::replicate); },
      sums);
  golden::check_wide<image>(
      "shaping", "pad_circular_two_axes", [](auto y) { return ebb::pad<2, 1, 3>(ebb::pad<3, 2, 1>(y, ebb::circular), ebb::circular); },
      sums);
  const auto pairs = [](auto x) { return ebb::unfold<1, 2>(x); };
  golden::check_wide<window_cube>("shaping", "windows", pairs, sums);
  golden::check_wide<window_any>("shaping", "windows", pairs, sums);
  golden::check_wide<of<real, dyn, dyn>>("shaping", "windows_3_2", [](auto x) { return ebb::unfold<1, 3, 2>(x); }, sums);
}

TEST_CASE("a negative border takes elements away: recorded values and gradients, an array that is too short") {
  const auto both = [](const char* name, auto f) {
    golden::check_wide<window_cube>("shaping", name, f, {.grad = 2, .spread = true});
    golden::check_wide<window_any>("shaping", name, f, {.grad = 2, .spread = true});
  };
  both("pad_reflect_cut_before", [](auto x) { return ebb::pad<-1, -1, 2>(x, ebb::reflect); });
  both("pad_reflect_cut_behind", [](auto x) { return ebb::pad<-1, 2, -1>(x, ebb::reflect); });
  both("pad_replicate_cut_before", [](auto x) { return ebb::pad<-1, -1, 2>(x, ebb::replicate); });
  both("pad_replicate_cut_behind", [](auto x) { return ebb::pad<-1, 2, -1>(x, ebb::replicate); });
  both("pad_circular_cut_before", [](auto x) { return ebb::pad<-1, -1, 2>(x, ebb::circular); });
  both("pad_circular_cut_behind", [](auto x) { return ebb::pad<-1, 2, -1>(x, ebb::circular); });
  const ebb::tensor<float, dyn> x(ebb::tensor<float, 4>{1, 2, 3, 4});
  CHECK(ebb::all_equal(ebb::pad<0, -3, 1>(x, ebb::symmetric), ebb::tensor<float, 2>{4, 4}));
  CHECK(ebb::all_equal(ebb::pad<0, -1, -2>(x, ebb::reflect), ebb::tensor<float, 1>{2}));
  CHECK(ebb::all_equal(ebb::pad<0, -5, 3>(x, ebb::reflect), ebb::tensor<float, 2>{2, 1}));  // more than x has
  CHECK(test::says(test::raised([&] { static_cast<void>(ebb::pad<0, -3, -2>(x, ebb::reflect)); }), {"pad", "[4]"}));
  CHECK(test::says(test::raised([&] { static_cast<void>(ebb::pad<0, -3, 2>(x, ebb::circular)); }), {"pad", "[4]"}));
}

TEST_CASE("derivatives of windows and borders are those of loops") {
  const auto f = [](auto x) {
    const auto w = ebb::unfold<0, 3, 2>(ebb::pad<0, 1, 2>(x * x, ebb::symmetric));  // 8 rows: windows at 0, 2, 4
    return ebb::fold<0, 7, 2>(w * w) * ebb::sin(ebb::slice<0, 0, 1>(x));
  };
  const auto oracle = [](const std::vector<long double>& x) {
    const std::size_t row[] = {0, 0, 1, 2, 3, 4, 4, 3};
    std::vector<long double> r(14);
    for (std::size_t k = 0; k < 2; ++k) {
      for (std::size_t w = 0; w < 3; ++w)
        for (std::size_t j = 0; j < 3; ++j) r[(2 * w + j) * 2 + k] += std::pow(x[row[2 * w + j] * 2 + k], 4.0L);
      for (std::size_t i = 0; i < 7; ++i) r[i * 2 + k] *= std::sin(x[k]);
    }
    return r;
  };
  const auto x = linalg_test::random_numbers(10, 9);
  linalg_test::against_differences<ebb::term<double, 5, 2>>("static", f, x, linalg_test::extents_of({5, 2}), oracle, 1e-10L, 1e-8L);
  linalg_test::against_differences<ebb::term<double, dyn, dyn>>("dyn", f, x, linalg_test::extents_of({5, 2}), oracle, 1e-10L, 1e-8L);
}

/// The places by which a program adds rows of elements, for each of its own rows.
template <class A, class F>
constexpr int places_of(const F&) {
  using P = ebb::executable<typename ebb::detail::compile_spec<F>::template program<ebb::detail::traced_type<A>>>;
  for (int k = 0; k < P::g.size(); ++k)
    if (const ebb::equation& e = P::g.eq[static_cast<std::size_t>(k)]; e.op->what == ebb::kind::scatter) {
      const auto& s = P::shape_at(P::g.eq[static_cast<std::size_t>(P::g.pool[static_cast<std::size_t>(e.first + 1)])].shape);
      int n = 1;
      for (int a = 0; a < s.rank; ++a) n *= s.e[a] < 0 ? 1 : s.e[a];
      return n;
    }
  return 0;
}
/// Windows of static extents have the sums of those whose extents are known at the call.
template <int Axis, int Length, int Step, class Known, class Any>
void static_and_dyn() {
  Known x = test::random_array<Known>(Length);
  for (std::size_t i = 0; i < x.size(); i += 3) x.mutable_data()[i] = -0.0f;
  const auto f = [](auto w) { return ebb::fold<Axis, Length, Step>(w); };
  const auto slope = [](auto w) { return ebb::sum(ebb::sin(ebb::fold<Axis, Length, Step>(w))); };
  CAPTURE(Axis, Length, Step);
  CHECK(ebb::same_bits(ebb::compile(f)(x), ebb::compile(f)(Any(x))));
  CHECK(ebb::same_bits(ebb::grad(slope)(x), ebb::grad(slope)(Any(x))));
}

TEST_CASE("windows that begin and end at multiples of a number are added that many elements at a time") {
  using any = ebb::tensor<float, dyn, dyn, dyn>;
  static_and_dyn<1, 64, 4, ebb::tensor<float, 3, 15, 8>, any>();
  static_and_dyn<1, 66, 4, ebb::tensor<float, 3, 15, 8>, any>();
  static_and_dyn<1, 31, 3, ebb::tensor<float, 2, 9, 6>, any>();
  static_and_dyn<0, 67, 16, ebb::tensor<float, 4, 3, 16>, any>();
  static_and_dyn<0, 40, 2, ebb::tensor<float, 10, 6, 4>, any>();
  static_and_dyn<1, 40, 7, ebb::tensor<float, 2, 5, 8>, any>();  // one at a time
  static constexpr auto eight = ebb::compile([](auto w) { return ebb::fold<1, 64, 4>(w); });
  STATIC_REQUIRE(places_of<ebb::tensor<float, dyn, 15, 8>>(eight) == 30);
  STATIC_REQUIRE(places_of<ebb::tensor<float, dyn, 15, 7>>(eight) == 105);
}

TEST_CASE("borders and windows of arrays: modes, map, fold, errors") {
  const ebb::tensor<int, dyn> x{1, 2, 3, 4};
  using vector = ebb::tensor<int, dyn>;
  CHECK(ebb::all_equal(ebb::pad<0, 2, 3>(x, ebb::reflect), vector{3, 2, 1, 2, 3, 4, 3, 2, 1}));
  CHECK(ebb::all_equal(ebb::pad<0, 2, 4>(x, ebb::symmetric), vector{2, 1, 1, 2, 3, 4, 4, 3, 2, 1}));
  CHECK(ebb::all_equal(ebb::pad<0, 0, 4>(x, ebb::circular), vector{1, 2, 3, 4, 1, 2, 3, 4}));
  CHECK(ebb::all_equal(ebb::pad<0, 6, 0>(x, ebb::replicate), vector{1, 1, 1, 1, 1, 1, 1, 2, 3, 4}));
  CHECK(test::says(test::raised([&] { static_cast<void>(ebb::pad<0, 4, 0>(x, ebb::reflect)); }), {"ebb::pad", "[4]"}));
  CHECK(test::says(test::raised([&] { static_cast<void>(ebb::pad<0, 0, 1>(vector(0), ebb::replicate)); }), {"ebb::pad", "[0]"}));
  const auto m = test::random_array<ebb::tensor<double, dyn, dyn>>(3, 5, 7);
  const auto windows = ebb::map([](auto row) { return ebb::unfold<0, 3>(ebb::sin(row)); }, m);
  REQUIRE((windows.extent(1) == 5 && windows.extent(2) == 3));
  for (std::size_t i = 0; i < 5; ++i)
    for (std::size_t w = 0; w < 5; ++w)
      for (std::size_t j = 0; j < 3; ++j) CHECK(windows(i, w, j) == ebb::sin(m)(i, w + j));
  CHECK(ebb::unfold<0, 4>(x).extent(0) == 1);
  CHECK(test::says(test::raised([&] { static_cast<void>(ebb::unfold<0, 5>(x)); }), {"ebb::unfold", "[4]"}));
  CHECK(ebb::all_equal(ebb::fold<0, 5>(ebb::unfold<0, 2>(vector{1, 2, 3, 4, 5})), vector{1, 4, 6, 8, 5}));
  CHECK(test::says(test::raised([&] {
                     static_cast<void>(ebb::fold<0, 4>(ebb::unfold<0, 2>(vector{1, 2, 3, 4, 5})));
                   }),
                   {"fold", "is 4, and there are 4"}));
}

TEST_CASE("a border in an autocast context has one dtype and the same bits, called, on the tape and compiled") {
  const auto x = ebb::cast<ebb::bfloat16>(test::random_array<ebb::tensor<float, dyn>>(5, 6));
  const ebb::variable<ebb::bfloat16, dyn> v(x);
  const auto check = [&](auto type, auto f) {
    using T = decltype(type);
    const auto inside = ebb::under<ebb::autocast<ebb::bf16>>(f);
    const ebb::tensor<T, dyn> called = inside(x);
    STATIC_REQUIRE(std::is_same_v<typename decltype(inside(x))::value_type, T>);
    STATIC_REQUIRE(std::is_same_v<decltype(ebb::compile(inside)(v)), ebb::variable<T, dyn>>);
    CHECK(ebb::same_bits(called, ebb::cast<T>(f(x))));
    CHECK(ebb::same_bits(called, ebb::tensor<T, dyn>(inside(v).value())));
    CHECK(ebb::same_bits(called, ebb::tensor<T, dyn>(ebb::compile(inside)(v).value())));
  };
  check(float(), [](auto a) { return ebb::pad<0, 2, 1>(a, ebb::reflect); });
  check(ebb::bfloat16(), [](auto a) { return ebb::pad<0, 2, 1>(a, ebb::circular); });
}

}  // namespace

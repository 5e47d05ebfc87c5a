// test/trace/cond.cpp — cond and switch_: the function that is taken runs, and its derivatives; forms; in loops and maps.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/functional.hpp>

#include "branches.hpp"

#include <cmath>
#include <string>
#include <tuple>

namespace {

using ebb::dyn;
using ebb::tensor;
using test::bent, test::check_bits, test::check_values, test::either, test::given, test::grown, test::loss_of_branch, test::one_of_three,
    test::shrunk;

/// Steps that choose by what they carry.
template <class Step>
struct steps_of {
  constexpr auto operator()(auto x, auto w) const {
    const auto [end, ys] = ebb::scan([](auto h, auto row, auto u) {
      const auto next = Step{}(h + row, u);
      return std::tuple(next, ebb::sum(next));
    }, x[0], x, ebb::whole(w));
    return ebb::sum(end) + ebb::sum(ys * ys);
  }
};
struct selected {
  constexpr auto operator()(auto x, auto w) const { return ebb::where(ebb::sum(x) > 0, grown{}(x, w), shrunk{}(x, w)); }
};
template <class F>
struct rows_of_branch {
  constexpr auto operator()(auto x, auto w) const {
    return ebb::map([](auto row, auto u) { return F{}(row, u); }, x, ebb::whole(w));
  }
};

/// The values of cond, and its derivatives of both orders, are those of F.
template <class F>
void check_branch(const tensor<double, 3>& x, const tensor<double, 3, 3>& w) {
  const auto [value, dx, dw] = ebb::value_and_grad<0, 1>(loss_of_branch<either>{})(x, w);
  const auto [plain, px, pw] = ebb::value_and_grad<0, 1>(loss_of_branch<F>{})(x, w);
  CHECK(value == plain);
  check_bits(dx, px);
  check_bits(dw, pw);
  check_bits(ebb::compile(either{})(x, w), ebb::compile(F{})(x, w));
  check_values(ebb::hessian<0>(loss_of_branch<either>{})(x, w), ebb::hessian<0>(loss_of_branch<F>{})(x, w));
}

/// The same of switch_, with function number i.
template <class F>
void check_number(int i, const tensor<double, 3>& x, const tensor<double, 3, 3>& w) {
  const auto [value, dx, dw] = ebb::value_and_grad<1, 2>(loss_of_branch<one_of_three>{})(i, x, w);
  const auto [plain, px, pw] = ebb::value_and_grad<0, 1>(loss_of_branch<F>{})(x, w);
  CHECK(value == plain);
  check_bits(dx, px);
  check_bits(dw, pw);
  check_bits(ebb::compile(one_of_three{})(std::int64_t{i}, x, w), ebb::compile(F{})(x, w));
  check_values(ebb::hessian<1>(loss_of_branch<one_of_three>{})(i, x, w), ebb::hessian<0>(loss_of_branch<F>{})(x, w));
  check_bits(std::get<1>(ebb::jvp<1>(one_of_three{})(i, x, w, x)), std::get<1>(ebb::jvp<0>(F{})(x, w, x)));
}
struct selected_of_three {
  constexpr auto operator()(auto i, auto x, auto w) const {
    return ebb::where(i == 0, grown{}(x, w), ebb::where(i == 1, shrunk{}(x, w), bent{}(x, w)));
  }
};
template <class F>
struct numbered_rows {
  constexpr auto operator()(auto i, auto x, auto w) const {
    return ebb::map([](auto k, auto row, auto u) { return F{}(k, row, u); }, i, x, ebb::whole(w));
  }
};
/// Steps with function number 0, 1, 2, 0, 1, 2...
struct in_turn {
  constexpr auto operator()(auto x, auto w) const {
    const auto turn = [](auto k, auto h, auto u) { return one_of_three{}(k % 3, h, u); };
    return ebb::sum(ebb::square(ebb::fori(5, turn, x, ebb::whole(w))));
  }
};
struct written_out {
  constexpr auto operator()(auto x, auto w) const {
    return ebb::sum(ebb::square(shrunk{}(grown{}(bent{}(shrunk{}(grown{}(x, w), w), w), w), w)));
  }
};

template <template <class, std::size_t...> class Array>
struct fields_of {
  using vector = Array<double, dyn>;
  using count = Array<int>;
  BOOST_HANA_DEFINE_STRUCT(fields_of, (vector, place), (count, steps));
};
constexpr auto of_forms = [](auto p, auto q, auto flag) {
  return ebb::cond(flag, [](auto s, auto t) {
    auto next = s;
    next.place = s.place * t;
    next.steps = s.steps + 1;
    return std::tuple(next, ebb::sum(s.place));
  }, [](auto s, auto t) { return std::tuple(s, ebb::sum(t)); }, p, q);
};
constexpr auto checked_root = [](auto x) {
  return ebb::cond(ebb::all(x > 0), [](auto v) { return ebb::sum(ebb::log(v) + ebb::sqrt(v)); }, [](auto v) { return ebb::sum(v) * 2; }, x);
};

}  // namespace

TEST_CASE("cond has the bits and the derivatives of the function that it takes") {
  const auto w = given<double, 3, 3>(2);
  check_branch<grown>(given<double, 3>(1, 0, 1), w);
  check_branch<shrunk>(given<double, 3>(1, -1, 0), w);
}

TEST_CASE("the function that is not taken does not run: its errors are not thrown, its NaN and infinities do not reach gradients") {
  const tensor<double, 2> positive{1, 4}, negative{-1, 0};
  const auto slope = ebb::grad(checked_root);
  CHECK(slope(positive)(1) == 0.5);
  CHECK(slope(negative)(0) == 2);
  CHECK(slope(negative)(1) == 2);
  const auto pick = ebb::grad([](auto v, auto i) {
    return ebb::cond(i < 2, [](auto x, auto k) { return ebb::take(x, k); }, [](auto x, auto) { return ebb::sum(x); }, v, i);
  });
  CHECK(pick(positive, 1)(0) == 0);
  CHECK(pick(positive, 7)(0) == 1);
  const auto always = ebb::compile([](auto v, auto i) { return ebb::take(v, i); });
  CHECK(test::raised([&] { always(positive, 7); }) != "");
  constexpr auto constant = ebb::grad(checked_root);
  static_assert(constant(tensor<double, 2>{-1, 0})(0) == 2);
}

TEST_CASE("cond of structs, tuples and integers, of extents that the call decides, with numbers and constant conditions") {
  fields_of<tensor> p;
  p.place = tensor<double, dyn>{1, 2, 3};
  p.steps = tensor<int>(5);
  const auto f = ebb::compile(of_forms);
  const auto [taken, sum] = f(p, 2.0, true);
  CHECK(taken.place(2) == 6);
  CHECK(taken.steps() == 6);
  CHECK(sum == 6);
  const auto [kept, other] = f(p, 2.0, false);
  CHECK(kept.place(2) == 3);
  CHECK(kept.steps() == 5);
  CHECK(other == 2);
  p.place = tensor<double, dyn>(0);
  CHECK(std::get<1>(f(p, 2.0, true)) == 0);
  const auto numbers = ebb::compile([](auto x) {
    const auto scale = [](auto v, auto k) { return v * k; };
    const auto shift = [](auto v, auto k) { return v + k; };
    return std::tuple(ebb::cond(true, scale, shift, x, 3.0), ebb::cond(false, scale, shift, x, 3));
  })(tensor<double, 2>{1, 2});
  CHECK(std::get<0>(numbers)(1) == 6);
  CHECK(std::get<1>(numbers)(1) == 5);
}

TEST_CASE("cond in a loop chooses in each step; in a map with a condition for each row it selects") {
  const auto x = given<double, 6, 3>(4);
  const auto w = given<double, 3, 3>(5);
  const auto [value, dx, dw] = ebb::value_and_grad<0, 1>(steps_of<either>{})(x, w);
  const auto [plain, px, pw] = ebb::value_and_grad<0, 1>(steps_of<selected>{})(x, w);
  CHECK(value == plain);
  check_values(dx, px);
  check_values(dw, pw);
  CHECK(std::get<1>(ebb::jvp<1>(steps_of<either>{})(x, w, w)) == Approx(std::get<1>(ebb::jvp<1>(steps_of<selected>{})(x, w, w))));

  check_bits(ebb::compile(rows_of_branch<either>{})(x, w), ebb::compile(rows_of_branch<selected>{})(x, w));
  const auto of_rows = ebb::compile(rows_of_branch<decltype(ebb::grad<1>(loss_of_branch<either>{}))>{})(x, w);
  const auto of_selected = ebb::compile(rows_of_branch<decltype(ebb::grad<1>(loss_of_branch<selected>{}))>{})(x, w);
  check_values(of_rows, of_selected);
}

TEST_CASE("switch_ has the bits and the derivatives of the function with the index") {
  const auto x = given<double, 3>(1);
  const auto w = given<double, 3, 3>(2);
  check_number<grown>(0, x, w);
  check_number<shrunk>(1, x, w);
  check_number<bent>(2, x, w);
  const auto alone = ebb::compile([](auto i, auto a, auto b) { return ebb::switch_<1>(i, grown{}, a, b); });
  check_bits(alone(0, x, w), ebb::compile(grown{})(x, w));
  CHECK(test::raised([&] { alone(1, x, w); }).find("the index is 1, and there are 1 functions") != std::string::npos);
}

TEST_CASE("an index of switch_ that is out of range is an error of the call, thrown before results are written") {
  const auto f = ebb::compile([](auto i, auto v) {
    return std::tuple(v * 2, ebb::switch_<2>(i, [](auto x) { return ebb::sum(x); }, [](auto x) { return ebb::sum(x * x); }, v));
  });
  const tensor<double, 2> v{3, 4};
  tensor<double, 2> doubled{0, 0};
  tensor<double> chosen(0);
  for (const int i : {-1, 2, 2147483647}) {
    CHECK(test::raised([&] { f(ebb::into(doubled, chosen), i, v); }) ==
          "ebb::compile: switch_: the index is " + std::to_string(i) + ", and there are 2 functions");
    CHECK(doubled(1) == 0);
  }
  f(ebb::into(doubled, chosen), 1, v);
  CHECK(chosen() == 25);
  const auto constant = ebb::compile([](auto a) { return ebb::switch_<2>(2, [](auto x) { return x; }, [](auto x) { return x + x; }, a); });
  CHECK(test::raised([&] { constant(v); }).find("switch_: the index is 2, and there are 2 functions") != std::string::npos);
  const auto rows = ebb::compile(numbered_rows<one_of_three>{});
  const auto x = given<double, 4, 3>(3);
  const auto w = given<double, 3, 3>(2);
  CHECK(test::raised([&] { rows(tensor<int, 4>{0, 1, 3, 2}, x, w); }).find("switch_: number 2 of the indices of shape [4] is 3") !=
        std::string::npos);
}

TEST_CASE("functions of switch_ that are not taken do not run: no errors are thrown, no NaN and no infinities reach gradients") {
  constexpr auto roots = [](auto i, auto x) {
    return ebb::switch_<3>(i, [](auto v) { return ebb::sum(ebb::sqrt(v)); }, [](auto v) { return ebb::sum(ebb::log(v)); },
                           [](auto v) { return ebb::sum(v) * 2; }, x);
  };
  const tensor<double, 2> x{0, -1};
  const auto slope = ebb::grad<1>(roots);
  CHECK(slope(2, x)(0) == 2);
  CHECK(slope(2, x)(1) == 2);
  CHECK(std::isinf(slope(0, x)(0)));
  CHECK(std::isinf(slope(1, x)(0)));
  const auto pick = ebb::compile([](auto i, auto v, auto k) {
    return ebb::switch_<2>(i, [](auto a, auto b) { return ebb::take(a, b); }, [](auto a, auto) { return ebb::sum(a); }, v, k);
  });
  CHECK(pick(1, x, 7) == -1);
  CHECK(test::raised([&] { pick(0, x, 7); }) != "");
  constexpr auto constant = ebb::grad<1>(roots);
  static_assert(constant(2, tensor<double, 2>{-1, 0})(0) == 2);
  static_assert(constant(0, tensor<double, 2>{0.25, 4})(0) == 1);
}

TEST_CASE("switch_ of structs, tuples and integers, of extents that the call decides, with numbers and constant indices") {
  fields_of<tensor> p;
  p.place = tensor<double, dyn>{1, 2, 3};
  p.steps = tensor<int>(5);
  const auto f = ebb::compile([](auto i, auto both) {
    return ebb::switch_<3>(i, [](auto s, auto t) {
      auto next = s;
      next.place = s.place * t;
      next.steps = s.steps + 1;
      return std::tuple(next, ebb::sum(s.place));
    }, [](auto s, auto) { return std::tuple(s, ebb::prod(s.place)); }, [](auto s, auto t) { return std::tuple(s, ebb::sum(s.place) - t); },
    both, 2);
  });
  const auto [taken, sum] = f(0, p);
  CHECK(taken.place(2) == 6);
  CHECK(taken.steps() == 6);
  CHECK(sum == 6);
  const auto [kept, product] = f(1, p);
  CHECK(kept.place(2) == 3);
  CHECK(kept.steps() == 5);
  CHECK(product == 6);
  CHECK(std::get<1>(f(2, p)) == 4);
  p.place = tensor<double, dyn>(0);
  CHECK(std::get<1>(f(1, p)) == 1);
  const auto numbers = ebb::compile([](auto x) { return ebb::switch_<2>(1, [](auto v) { return v; }, [](auto v) { return v + 3; }, x); });
  CHECK(numbers(tensor<double, 2>{1, 2})(1) == 5);
}

TEST_CASE("switch_ in a loop chooses in each step; in a map with an index for each row it selects") {
  const auto x = given<double, 3>(4);
  const auto w = given<double, 3, 3>(5);
  const auto [value, dx, dw] = ebb::value_and_grad<0, 1>(in_turn{})(x, w);
  const auto [plain, px, pw] = ebb::value_and_grad<0, 1>(written_out{})(x, w);
  CHECK(value == Approx(plain).epsilon(1e-14));
  check_values(dx, px);
  check_values(dw, pw);

  const auto rows = given<double, 5, 3>(6);
  const tensor<int, 5> i{2, 0, 1, 1, 0};
  check_bits(ebb::compile(numbered_rows<one_of_three>{})(i, rows, w), ebb::compile(numbered_rows<selected_of_three>{})(i, rows, w));
  check_values(ebb::grad<2>(loss_of_branch<numbered_rows<one_of_three>>{})(i, rows, w),
               ebb::grad<2>(loss_of_branch<numbered_rows<selected_of_three>>{})(i, rows, w));
  const auto same = ebb::compile([](auto k, auto r, auto u) {
    return ebb::map([](auto row, auto n, auto v) { return one_of_three{}(n, row, v); }, r, ebb::whole(k), ebb::whole(u));
  });
  check_bits(same(1, rows, w), ebb::compile(rows_of_branch<shrunk>{})(rows, w));
}

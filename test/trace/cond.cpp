// test/trace/cond.cpp — cond: the function that is taken runs, and its derivatives; forms; in loops and maps.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/functional.hpp>

#include "branches.hpp"

#include <tuple>

namespace {

using ebb::dyn;
using ebb::tensor;
using test::check_bits, test::check_values, test::either, test::given, test::grown, test::loss_of_branch, test::shrunk;

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

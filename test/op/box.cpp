// test/op/box.cpp — boxes that begin at operands: bits of each dtype, many boxes of one array, gradients, and what depends on what.
// SPDX-License-Identifier: BSL-1.0
//
// covers: box.hpp graph/box.hpp
#include "../catch.hpp"

#include <ebb/ebb.hpp>

#include <limits>

namespace {

using ebb::dyn;

/// Twice some elements of a row in place of those after the first.
constexpr auto doubled = [](auto b, auto k) { return ebb::square(ebb::dynamic_update_slice(b, 2 * ebb::dynamic_slice<2>(b, k), k + 1)); };
/// Two axes of three begin at numbers.
constexpr auto inner_box = [](auto x, auto i, auto j) { return ebb::dynamic_slice<2, 3, 2>(x, 1, i, j); };

TEMPLATE_TEST_CASE("boxes copy the bits of elements of each dtype, and put them: elements, rows, columns, nothing", "", double, float,
                   ebb::bfloat16, ebb::float16, std::int32_t, std::int64_t, bool) {
  using T = TestType;
  ebb::tensor<T, dyn, dyn, dyn> x(3, 5, 7);
  for (std::size_t i = 0; i < x.size(); ++i) x.mutable_data()[i] = static_cast<T>(static_cast<float>(i % 11) - 4);
  if constexpr (ebb::real_element<T>) {
    x.at(1, 2, 3) = static_cast<T>(-0.0f);
    x.at(2, 3, 4) = static_cast<T>(std::numeric_limits<float>::quiet_NaN());
  }
  const auto check = [&](auto i, auto j) {
    const auto a = static_cast<std::size_t>(i()), b = static_cast<std::size_t>(j());
    const auto box = inner_box(x, i, j);
    static_assert(std::is_same_v<decltype(box), const ebb::tensor<T, 2, 3, 2>>);
    ebb::tensor<T, 2, 3, 2> want{};
    for (std::size_t k = 0; k < 12; ++k) want.at(k / 6, k / 2 % 3, k % 2) = x(1 + k / 6, a + k / 2 % 3, b + k % 2);
    CHECK(ebb::same_bits(box, want));
    auto into = x;
    for (std::size_t k = 0; k < 12; ++k) into.at(k / 6, a + k / 2 % 3, b + k % 2) = box(k / 6, k / 2 % 3, k % 2);
    const auto put = ebb::dynamic_update_slice(x, box, 0, i, j);
    CHECK(ebb::same_bits(put, into));
    const ebb::tensor<T, 3, 5, 7> fixed(x);
    CHECK(ebb::same_bits(ebb::dynamic_update_slice(fixed, box, ebb::clamped, -1, i, j), ebb::dynamic_update_slice(x, box, 0, i, j)));
  };
  for (const int i : {0, 1, 2})
    for (const int j : {0, 3, 5}) {
      INFO(i << ", " << j);
      check(ebb::tensor<std::int32_t>(i), ebb::tensor<std::int32_t>(j));
      check(ebb::tensor<std::int64_t>(i), ebb::tensor<std::int32_t>(j));
    }
  // Elements, rows and columns alone, all of an array, and nothing.
  const ebb::tensor<std::int64_t> one(1), none(0);
  CHECK(ebb::same_bits(ebb::dynamic_slice<1, 1, 1>(x, one, one, one), ebb::slice<0, 1, 2>(ebb::slice<1, 1, 2>(ebb::slice<2, 1, 2>(x)))));
  CHECK(ebb::same_bits(ebb::dynamic_slice<1, 5, 7>(x, one, none, none), ebb::tensor<T, 1, 5, 7>(ebb::slice<0, 1, 2>(x))));
  CHECK(ebb::same_bits(ebb::dynamic_slice<3, 5, 1>(x, none, none, one), ebb::tensor<T, 3, 5, 1>(ebb::slice<2, 1, 2>(x))));
  CHECK(ebb::same_bits(ebb::dynamic_slice<3, 5, 7>(x, none, none, none), ebb::tensor<T, 3, 5, 7>(x)));
  CHECK(ebb::dynamic_slice<2, 0, 2>(x, one, one, one).size() == 0);
  CHECK(ebb::same_bits(ebb::dynamic_update_slice(x, ebb::tensor<T, dyn, dyn, dyn>(0, 2, 2), one, one, one), x));
}

TEMPLATE_TEST_CASE("map: boxes of one array and boxes of each row, forward and back; sums of gradients go in rising order", "", double,
                   float, ebb::bfloat16) {
  using T = TestType;
  ebb::tensor<T, dyn, dyn> x(4, 5);
  for (std::size_t i = 0; i < x.size(); ++i) x.mutable_data()[i] = static_cast<T>(0.1f * static_cast<float>(i) - 0.7f);
  const ebb::tensor<int, dyn> starts{0, 2, 1, 2, 0};
  const auto wide = [](T e) { return static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(e); };
  // One array: the boxes overlap.
  const auto each = ebb::map([](auto i, auto a) { return ebb::dynamic_slice<2, 3>(a, i, i); }, starts, ebb::whole(x));
  const auto g = ebb::grad<1>([](auto i, auto a) {
    return ebb::sum(ebb::map([](auto k, auto b) { return ebb::dynamic_slice<2, 3>(b, k, k) * 3; }, i, ebb::whole(a)));
  })(starts, x);
  for (std::size_t k = 0; k < 5; ++k)
    for (std::size_t e = 0; e < 6; ++e) {
      const auto at = static_cast<std::size_t>(starts(k));
      CHECK(wide(each(k, e / 3, e % 3)) == wide(x(at + e / 3, at + e % 3)));
    }
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 5; ++j) {
      int times = 0;
      for (const std::size_t at : {0u, 2u, 1u, 2u, 0u}) times += i - at < 2 && j - at < 3;
      CHECK(wide(g(i, j)) == static_cast<float>(3 * times));
    }
  // An array for each row, with a number of its own; and an update of each.
  const ebb::tensor<int, dyn> four{0, 2, 1, 2};
  const auto multiplied = [](auto a, auto i) {
    return ebb::dynamic_update_slice(a, ebb::dynamic_slice<2>(a, i) * ebb::dynamic_slice<2>(a, i + 1), i + 1);
  };
  const auto put = ebb::map(multiplied, x, four);
  const auto dx = ebb::grad([](auto a, auto i) { return ebb::sum(ebb::map(doubled, a, i)); })(x, four);
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 5; ++j) {
      const auto at = static_cast<std::size_t>(four(i));
      const bool inside = j == at + 1 || j == at + 2, read = j == at || j == at + 1;
      CHECK(wide(put(i, j)) == (inside ? wide(static_cast<T>(wide(x(i, j - 1)) * wide(x(i, j)))) : wide(x(i, j))));
      const double tolerance = std::is_same_v<T, ebb::bfloat16> ? 0.02 : 1e-6;
      const auto want = (inside ? 0 : 2 * wide(x(i, j))) + (read ? 8 * wide(x(i, j)) : 0);
      CHECK(static_cast<double>(wide(dx(i, j))) == Approx(static_cast<double>(want)).epsilon(tolerance));
    }
  const ebb::tensor<int, dyn> far{0, 2, 5, 2, 0};
  CHECK(test::says(test::raised([&] {
    static_cast<void>(ebb::map([](auto i, auto a) { return ebb::dynamic_slice<2, 3>(a, i, i); }, far, ebb::whole(x)));
  }), {"number 2 of the indices of shape [5] is 5, and there are 3 places"}));
}

/// Reads, adds and puts boxes; those of `i` overlap.
constexpr auto all_forms = [](auto x, auto i, auto j) {
  const auto some = ebb::map([](auto k, auto a) { return ebb::dynamic_slice<2, 2>(a, k, k); }, i, ebb::whole(x));
  const auto put = ebb::dynamic_update_slice(ebb::sin(x), ebb::square(ebb::sum<0>(some)), j, 1);
  return ebb::sum(ebb::square(put) * x);
};

TEST_CASE("equations about boxes have the same bits compiled, block by block and evaluated") {
  const auto check = []<class T>(T) {
    ebb::tensor<T, dyn, dyn> x(3, 4), of_x(3, 4), of_blocks(3, 4);
    for (std::size_t k = 0; k < 12; ++k) x.mutable_data()[k] = static_cast<T>(0.3 * static_cast<double>(k) - 1);
    const ebb::tensor<std::int32_t, dyn> i{1, 0, 1};
    const ebb::tensor<std::int64_t> j(1);
    using of = ebb::trace_of<std::remove_const_t<decltype(all_forms)>, ebb::term<T, dyn, dyn>, ebb::term<std::int32_t, dyn>,
                             ebb::term<std::int64_t>>;
    const ebb::graph g = ebb::lower(ebb::value_and_gradient(of::make(), {0}));
    int forms = 0;
    for (int k = 0; k < g.size(); ++k) forms |= ebb::is_box(g.op(k)) ? 1 << ebb::box_form::of(g.eq[k].attr).what : 0;
    CHECK(forms == 7);
    CHECK(ebb::first_error(g).what.empty());
    const auto cells = [](const auto& array) {
      ebb::cell_array r;
      for (auto e : array) r.push(ebb::to_cell(e));
      return r;
    };
    ebb::extent_list two, one;
    two.rank = 2, two.e[0] = 3, two.e[1] = 4;
    one.rank = 1, one.e[0] = 3;
    const auto symbols = ebb::symbol_values(g, {two, one, {}});
    const auto want = ebb::evaluate(g, {cells(x), cells(i), cells(j)}, symbols);
    const auto [value, slope] = ebb::value_and_grad<0>(all_forms)(x, i, j);
    CHECK(ebb::to_cell(T(value)) == want[0][0]);
    CHECK((cells(slope) == want[1]));
    T v{};
    void* arguments[] = {const_cast<T*>(x.data()), const_cast<std::int32_t*>(i.data()), const_cast<std::int64_t*>(j.data())};
    void* results[] = {&v, of_blocks.mutable_data()};
    ebb::block_program blocks(g, 7);
    blocks.run(arguments, results, symbols.data());
    CHECK(ebb::to_cell(v) == want[0][0]);
    CHECK((cells(of_blocks) == want[1]));
    const ebb::tensor<std::int32_t, dyn> bad{1, 2, 1};
    CHECK(test::says(test::raised([&] { static_cast<void>(ebb::evaluate(g, {cells(x), cells(bad), cells(j)}, symbols)); }),
                     {"a box at 2 leaves its array"}));
  };
  check(1.0);
  check(1.0f);
}

TEST_CASE("boxes on the tape, captured or not, and their second derivatives") {
  const ebb::tensor<double, 3, 4> x{{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}};
  const ebb::tensor<int> zero(0), one(1), two(2);
  const auto cubes = [](auto v, auto o, auto i, auto k) {
    const auto box = ebb::dynamic_slice<2, 2>(v, i, k);
    return ebb::sum(ebb::dynamic_update_slice(v * v * v, box * box, o, i));
  };
  // Elements of the box have 2 x for themselves, and 3 x^2 if the box was not put over them.
  for (const bool captured : {false, true}) {
    ebb::variable v(x);
    ebb::backward(cubes(v, zero, one, two), {.create_graph = !captured, .compiled_autograd = captured});
    const auto g = v.grad().value();
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 4; ++j) {
        const bool read = i >= 1 && j >= 2, gone = i < 2 && (j == 1 || j == 2);
        CHECK(g(i, j) == (gone ? 0 : 3 * x(i, j) * x(i, j)) + (read ? 2 * x(i, j) : 0));
      }
  }
  const auto h = ebb::hessian(cubes)(x, zero, one, two);
  for (std::size_t i = 0; i < 12; ++i)
    for (std::size_t j = 0; j < 12; ++j) {
      const bool read = i >= 4 && i % 4 >= 2, gone = i < 8 && (i % 4 == 1 || i % 4 == 2);
      CHECK(h(i / 4, i % 4, j / 4, j % 4) == (i == j ? (gone ? 0 : 6 * x(i / 4, i % 4)) + (read ? 2 : 0) : 0));
    }
}

}  // namespace

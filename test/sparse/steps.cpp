// test/sparse/steps.cpp — the dependence of loops: random ones, and loops, conditions and zeros whose sets are known exactly.
// SPDX-License-Identifier: BSL-1.0
// covers: boxes.hpp known.hpp element_sets.hpp
#include <ebb/functional.hpp>
#include <ebb/sparse.hpp>

#include "../catch.hpp"
#include "../pass/random_loop.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

namespace {

using ebb::tensor;
using numbers = tensor<double, ebb::dyn>;
using two = tensor<double, ebb::dyn, ebb::dyn>;

/// The sets of f's result by its argument `Wrt`, a row of x for each element. fixed: by argument.
template <int Wrt, class F, class... A>
std::string sets_of(F, const std::vector<char>& fixed, const A&... a) {
  const ebb::graph g = ebb::prune(ebb::traced<F, ebb::detail::traced_type<A>...>::g.thaw());
  ebb::vec<ebb::extent_list> extents;
  ebb::vec<ebb::cell_array> cells;
  ebb::detail::each_argument_leaf([&]<class Leaf>(const Leaf& leaf) {
    extents.push(ebb::detail::extents_of_leaf(leaf));
    cells.push({});
    for (std::size_t i = 0; i < extents[extents.size() - 1].volume(); ++i)
      cells[cells.size() - 1].push(ebb::to_cell(ebb::borrow<Leaf>::data(leaf)[i]));
  }, a...);
  const ebb::detail::dependence_finder found(g, {Wrt}, extents, cells, fixed);
  const ebb::detail::element_sets& sets = found.output(0);
  std::string r;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    std::string row(extents[Wrt].volume(), '.');
    for (const std::uint32_t* j = sets.begin(i); j != sets.end(i); ++j) row[*j] = 'x';
    r += (i ? " " : "") + row;
  }
  return r;
}
numbers some(std::size_t n) {
  numbers x(n);
  for (std::size_t i = 0; i < n; ++i) x.mutable_data()[i] = 1 + 0.1 * static_cast<double>(i);
  return x;
}

constexpr auto filter = [](auto h, auto x) { return ebb::scan([](auto c, auto v) { return std::tuple(c * 0.5 + v, c); }, h, x); };
constexpr auto is_large = [](auto v) { return ebb::sum(v) > 1; };
/// Each element is mixed with the one before it.
constexpr auto mix = [](auto v) { return 0.5 * v + 0.1 * ebb::concat<0>(ebb::slice<0, 0, 1>(v), ebb::slice<0, 0, -1>(v)); };
constexpr auto halved = [](auto v) { return 0.5 * v; };
constexpr auto two_from = [](auto k, auto x) { return ebb::dynamic_slice<2>(x, k); };

}  // namespace

TEST_CASE("derivatives of random loops are zero outside of what their elements depend on") {
  std::size_t found = 0, inside = 0, all = 0;
  constexpr int counts[] = {0, 1, 2, 4, -1};
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const test::random_loop l = test::make_random_loop(seed, counts[seed % 5]);
    const test::call c = test::random_call(l.g, seed, 3, true);
    ebb::vec<ebb::extent_list> extents;
    for (int j = 0; j < l.g.inputs; ++j) extents.push(ebb::extents_at(l.g.shape_of(l.g.input(j)), c.symbols.data()));
    for (int wrt = 0; wrt < l.g.inputs; ++wrt) {
      const ebb::dtype type = l.g.op(l.g.input(wrt)).result;
      if (type != ebb::dtype::f64) continue;
      for (const int out : l.g.out) {
        if (l.g.op(out).result != ebb::dtype::f64) continue;
        ebb::graph g = l.g;
        g.out = {out};
        // Arguments that are fixed have other zeros from call to call of this test: every second one takes them into account.
        std::vector<char> fixed(static_cast<std::size_t>(g.inputs), seed % 2);
        fixed[static_cast<std::size_t>(wrt)] = 0;
        const ebb::detail::dependence_finder sets(g, {wrt}, extents, c.arguments, fixed);
        const ebb::graph pushed = ebb::push_forward(g, {wrt});
        auto cells = c.arguments;
        auto sizes = extents;
        sizes.push(extents[wrt]);
        cells.push(ebb::cell_array(c.arguments[wrt].size(), ebb::to_cell(0.0)));
        const auto symbols = ebb::symbol_values(pushed, sizes, cells);
        for (int j = 0; j < c.arguments[wrt].size(); ++j) {
          ebb::cell_array& along = cells[cells.size() - 1];
          along = ebb::cell_array(c.arguments[wrt].size(), ebb::to_cell(0.0));
          along[j] = ebb::to_cell(1.0);
          const ebb::cell_array d = ebb::evaluate(pushed, cells, symbols)[1];
          REQUIRE(static_cast<std::size_t>(d.size()) == sets.output(0).size());
          for (int i = 0; i < d.size(); ++i) {
            const std::size_t at = static_cast<std::size_t>(i);
            const bool in = std::binary_search(sets.output(0).begin(at), sets.output(0).end(at), static_cast<std::uint32_t>(j));
            const double value = ebb::from_cell<double>(d[i]);
            ++all;
            inside += in;
            if (!std::isfinite(value) || value == 0) continue;
            ++found;
            if (!in) FAIL("seed " << seed << ", argument " << wrt << ": element " << i << " depends on " << j << "\n" << ebb::to_string(g));
          }
        }
      }
    }
  }
  INFO(found << " of " << inside << " of " << all);
  CHECK(found > 1000);
  CHECK(2 * inside < all);
}

TEST_CASE("a step of a scan depends on the rows before it, and a reversed one on those after it") {
  const two x(4, 2);
  const numbers h = some(2);
  constexpr auto rows = [](auto c, auto v) { return std::get<1>(filter(c, v)); };
  constexpr auto last = [](auto c, auto v) { return std::get<0>(filter(c, v)); };
  CHECK(sets_of<1>(rows, {}, h, x) == "........ ........ x....... .x...... x.x..... .x.x.... x.x.x... .x.x.x..");
  CHECK(sets_of<0>(rows, {}, h, x) == "x. .x x. .x x. .x x. .x");
  CHECK(sets_of<1>(last, {}, h, x) == "x.x.x.x. .x.x.x.x");
  constexpr auto back = [](auto c, auto v) {
    return std::get<1>(ebb::scan<ebb::reversed>([](auto q, auto w) { return std::tuple(q * w, q); }, c, v));
  };
  CHECK(sets_of<1>(back, {}, h, two(3, 2)) == "..x.x. ...x.x ....x. .....x ...... ......");
}

TEST_CASE("a counter names places and chooses elements in each step of a fori") {
  constexpr auto written = [](auto y, auto x) {
    return ebb::fori(ebb::extent<0>(x), [](auto i, auto c, auto v) {
      return ebb::where(ebb::arange_like<0>(c) == i, ebb::take<0>(v, i), c);
    }, y, ebb::whole(x));
  };
  CHECK(sets_of<1>(written, {}, some(4), some(4)) == "x... .x.. ..x. ...x");
  CHECK(sets_of<0>(written, {}, some(4), some(4)) == ".... .... .... ....");
  CHECK(sets_of<0>(written, {}, some(4), some(2)) == ".... .... ..x. ...x");
  // Nothing changes after three steps: the others are not run.
  constexpr auto spread = [](auto y) { return ebb::fori(1000000000, [](auto, auto c) { return mix(c); }, y); };
  CHECK(sets_of<0>(spread, {}, some(4)) == "x... xx.. xxx. xxxx");
  constexpr auto twice = [](auto y) { return ebb::fori(2, [](auto, auto c) { return mix(c); }, y); };
  CHECK(sets_of<0>(twice, {}, some(5)) == "x.... xx... xxx.. .xxx. ..xxx");
}

TEST_CASE("a loop that only the call ends unites all steps, a condition both branches, and a known condition chooses one") {
  constexpr auto until = [](auto y) { return ebb::while_loop(is_large, mix, y); };
  CHECK(sets_of<0>(until, {}, some(4)) == "x... xx.. xxx. xxxx");
  constexpr auto bounded = [](auto y) { return ebb::while_loop<ebb::at_most<1>>(is_large, mix, y); };
  CHECK(sets_of<0>(bounded, {}, some(4)) == "x... xx.. .xx. ..xx");
  constexpr auto branches = [](auto y, auto n) {
    return ebb::concat<0>(ebb::cond(ebb::sum(y) > 1, mix, halved, y), ebb::cond(n > 1, mix, halved, y));
  };
  CHECK(sets_of<0>(branches, {}, some(3), 1) == "x.. xx. .xx x.. .x. ..x");
  CHECK(sets_of<0>(branches, {}, some(3), 2) == "x.. xx. .xx x.. xx. .xx");
  constexpr auto layers = [](auto y) {
    constexpr auto layer = ebb::once(mix);
    return layer(layer(y));
  };
  CHECK(sets_of<0>(layers, {}, some(4)) == "x... xx.. xxx. .xxx");
}

TEST_CASE("zeros of constants and of fixed arguments leave elements out") {
  constexpr auto product = [](auto x, auto w) { return ebb::matmul(w * 2, x) + ebb::sum(w) * ebb::slice<0, 0, 2>(x) * 0; };
  const tensor<double, 2, 3> weights{{0, 1, 0}, {2, 0, -0.0}};
  CHECK(sets_of<0>(product, {0, 1}, some(3), weights) == ".x. x..");
  CHECK(sets_of<0>(product, {}, some(3), weights) == "xxx xxx");
  constexpr auto turned = [](auto x) {
    const auto o = ebb::zeros_like(x[0]), c = ebb::cos(x[0]), s = ebb::sin(x[1]);
    const auto m =
        ebb::matmul(ebb::stack<0>(ebb::stack<0>(c, o), ebb::stack<0>(s, s)), ebb::stack<0>(ebb::stack<0>(s, o), ebb::stack<0>(o, c)));
    return ebb::flatten(m);
  };
  CHECK(sets_of<0>(turned, {}, some(2)) == "xx .. .x xx");
  const tensor<double, 3> three{1, 2, 3};
  constexpr auto in_steps = [](auto x, auto w) {
    return std::get<0>(ebb::scan([](auto c, auto row) { return std::tuple(c + row * ebb::take<0>(c, 1), std::tuple<>()); }, x, w));
  };
  CHECK(sets_of<0>(in_steps, {0, 1}, three, weights) == "xx. .x. ..x");
  CHECK(sets_of<0>(in_steps, {}, three, weights) == "xx. .x. .xx");
}

TEST_CASE("a zero divided by an unknown is zero, and zero by zero decides nothing") {
  constexpr auto divided = [](auto x, auto w) { return w / x * ebb::sum(x) + ebb::slice<0, 0, 3>(w) / w * x; };
  const tensor<double, 3> three{0, 2, 0};
  CHECK(sets_of<0>(divided, {0, 1}, some(3), three) == "x.. xxx ..x");
}

namespace {

constexpr auto with_sign = [](auto x) { return std::tuple(ebb::sign(x), x); };
constexpr auto pull_of_tanh = [](auto x, auto g) { return std::tuple(g * (1 - ebb::square(ebb::tanh(x)))); };
constexpr auto picked = [](auto x, auto i) { return std::tuple(ebb::take<0>(x, i), std::tuple(x, i)); };
constexpr auto put_back = [](auto saved, auto g) {
  const auto& [x, i] = saved;
  return std::tuple(ebb::index_add<0>(ebb::zeros_like(x), i, g), ebb::nothing);
};
constexpr auto and_sum = [](auto x, auto y) { return std::tuple(x * y, ebb::sum(y)); };
constexpr auto push_of_and_sum = [](auto x, auto y, auto dx, auto dy) { return std::tuple(x * dy + dx * y, ebb::sum(dy)); };

}  // namespace

TEST_CASE("a custom function depends on what its pull reaches, also if its values do not") {
  constexpr auto softened = [](auto x) { return mix(ebb::custom_vjp(with_sign, pull_of_tanh, x)); };
  CHECK(sets_of<0>(softened, {}, some(4)) == "x... xx.. .xx. ..xx");
  constexpr auto rows = [](auto x, auto i) { return ebb::custom_vjp(picked, put_back, x, i) * 2; };
  CHECK(sets_of<0>(rows, {}, some(4), tensor<int, 3>{3, 0, 3}) == "...x x... ...x");
  constexpr auto both = [](auto x, auto y) {
    const auto [product, total] = ebb::custom_jvp(and_sum, push_of_and_sum, x, mix(y));
    return ebb::concat<0>(product, ebb::reshape<1>(total));
  };
  CHECK(sets_of<0>(both, {}, some(3), some(3)) == "x.. .x. ..x ...");
  CHECK(sets_of<1>(both, {}, some(3), some(3)) == "x.. xx. .xx xxx");
  constexpr auto jacobian = ebb::sparse_jacobian(softened);
  const numbers x = some(4);
  const ebb::sparse_pattern p = jacobian.pattern(x);
  CHECK(p.colors == 2);
  const numbers values = jacobian(p, x);
  for (std::size_t i = 0; i < 4; ++i)  // of mix: 0.6 in the first row, then 0.1 and 0.5
    CHECK(values(i == 0 ? 0 : 2 * i) == Approx((i == 0 ? 0.6 : 0.5) * (1 - std::pow(std::tanh(x(i)), 2))).epsilon(1e-14));
}

TEST_CASE("a pattern with fixed arguments has fewer colors and the same elements") {
  constexpr auto skin = [](auto x, auto w, auto y) { return ebb::sin(ebb::matmul(w, x)) * y; };
  constexpr auto jacobian = ebb::sparse_jacobian(skin);
  two w(6, 6);
  for (std::size_t i = 0; i < w.size(); ++i) w.mutable_data()[i] = i % 7 < 2 ? 0.3 + static_cast<double>(i) : 0;
  const numbers x = some(6), y = some(6);
  const ebb::sparse_pattern less = jacobian.pattern(x, ebb::fixed(w), y), full = jacobian.pattern(x, w, y);
  CHECK(full.colors == 6);
  CHECK(less.colors == 2);
  REQUIRE(less.size() == 11);
  const numbers values = jacobian(less, x, w, y), all = jacobian(full, x, w, y);
  const std::vector<std::size_t> row = less.row();
  for (std::size_t k = 0; k < less.size(); ++k) CHECK(values(k) == all(6 * row[k] + less.column[k]));
  CHECK(std::count_if(all.data(), all.data() + 36, [](double v) { return v != 0; }) == 11);
}

TEST_CASE("boxes at known places depend on their elements, boxes at others on all; a box that is put leaves the others alone") {
  constexpr auto moved = [](auto x, auto i) { return ebb::dynamic_update_slice(x * x, ebb::dynamic_slice<2>(x, i), i + 2); };
  constexpr auto many = [](auto x, auto i) { return ebb::map(two_from, i, ebb::whole(x)); };
  constexpr auto added = [](auto x, auto i) {
    return ebb::grad([](auto v, auto k) { return ebb::sum(ebb::square(ebb::dynamic_slice<2>(v, k))); })(x, i);
  };
  const tensor<std::int64_t> one(1);
  CHECK(sets_of<0>(moved, {0, 1}, some(5), one) == "x.... .x... ..x.. .x... ..x..");
  CHECK(sets_of<0>(many, {0, 1}, some(4), tensor<int, ebb::dyn>{2, 0}) == "..x. ...x x... .x..");
  constexpr auto put = [](auto x, auto u, auto i) { return ebb::dynamic_update_slice(x, u, i); };
  CHECK(sets_of<0>(put, {0, 1, 1}, some(3), some(2), one) == "x.. ... ...");
  CHECK(sets_of<1>(put, {1, 0, 1}, some(3), some(2), one) == ".. x. .x");
  CHECK(sets_of<0>(added, {0, 1}, some(4), one) == ".... .x.. ..x. ....");
  // A place that depends on x.
  constexpr auto read = [](auto x) { return ebb::dynamic_slice<2>(x, ebb::cast<int>(x(0))); };
  CHECK(sets_of<0>(read, {0}, some(3)) == "xxx xxx");
  constexpr auto replaced = [](auto x, auto u) { return ebb::dynamic_update_slice(x, u, ebb::cast<int>(x(0))); };
  CHECK(sets_of<0>(replaced, {0, 1}, some(3), some(2)) == "x.. .x. ..x");
  CHECK(sets_of<1>(replaced, {0, 0}, some(3), some(2)) == "xx xx xx");
}

// test/shapes/einsum.cpp — einsum and tensordot: recorded values and derivatives, loops, dtypes, strings, errors.
// SPDX-License-Identifier: BSL-1.0
// covers: einsum.hpp einsum_text.hpp einsum_order.hpp op/product_cost.hpp
#include "../linalg/oracle.hpp"
#include "../random_array.hpp"

#include <ebb/ebb.hpp>
#include <ebb/shapes.hpp>

namespace {

using ebb::dyn;
using linalg_test::numbers;
using linalg_test::wide;

template <class... A, class F>
void einsum_case(const char* name, F f) {
  linalg_test::check_recorded<A...>("contractions", name, f,
                                    {.value = 8, .grad = 8, .second = 16, .grad_floor = 1, .value_floor = 1, .spread = true});
}

TEST_CASE("einsum and tensordot have PyTorch's recorded values, derivatives and second derivatives") {
  using vector = wide<dyn>;
  using matrix = wide<dyn, dyn>;
  using cube = wide<dyn, dyn, dyn>;
  using four = wide<dyn, dyn, dyn, dyn>;
  einsum_case<wide<3, 4>, wide<4, 2>>("einsum_0", [](auto x, auto y) { return ebb::einsum<"ij,jk->ik">(x, y); });
  einsum_case<cube, cube>("einsum_1", [](auto x, auto y) { return ebb::einsum<"bij,bjk->bik">(x, y); });
  einsum_case<matrix, matrix>("einsum_2", [](auto x, auto y) { return ebb::einsum<"ij,ij->i">(x, y); });
  einsum_case<vector, vector, vector>("einsum_3", [](auto x, auto y, auto z) { return ebb::einsum<"i,j,k->ijk">(x, y, z); });
  einsum_case<matrix>("einsum_4", [](auto x) { return ebb::einsum<"ii->i">(x); });
  einsum_case<matrix>("einsum_5", [](auto x) { return ebb::einsum<"ii">(x); });
  einsum_case<matrix>("einsum_6", [](auto x) { return ebb::einsum<"ji">(x); });
  einsum_case<matrix, matrix>("einsum_7", [](auto x, auto y) { return ebb::einsum<"ij,kl->">(x, y); });
  einsum_case<four, four>("einsum_8", [](auto x, auto y) { return ebb::einsum<"bhqd, bhkd -> bhqk">(x, y); });
  einsum_case<wide<2, 1, 3, 2>, wide<3, 2, 4>>("einsum_9", [](auto x, auto y) { return ebb::einsum<"...ij,...jk->...ik">(x, y); });
  einsum_case<cube, matrix, matrix>("einsum_10", [](auto x, auto y, auto z) { return ebb::einsum<"abc,cd,be->ade">(x, y, z); });
  einsum_case<matrix, vector>("einsum_11", [](auto x, auto y) { return ebb::einsum<"ij,j">(x, y); });
  einsum_case<cube>("einsum_12", [](auto x) { return ebb::einsum<"iij->ij">(x); });
  einsum_case<matrix>("einsum_13", [](auto x) { return ebb::einsum<"ij->">(x); });
  einsum_case<vector, vector>("einsum_14", [](auto x, auto y) { return ebb::einsum<"i,i->">(x, y); });
  einsum_case<matrix, cube, matrix>("einsum_15", [](auto x, auto y, auto z) { return ebb::einsum<"bn,anm,bm->ba">(x, y, z); });
  einsum_case<cube>("einsum_16", [](auto x) { return ebb::einsum<"ijk->kji">(x); });
  einsum_case<matrix, matrix>("vecdot", [](auto x, auto y) { return ebb::einsum<"...i,...i->...">(x, y); });
  einsum_case<cube, cube>("tensordot_2", [](auto x, auto y) { return ebb::tensordot<2>(x, y); });
}

TEST_CASE("einsum of arrays: letters in any order, dtypes, map, empty extents, errors") {
  const auto x = test::random_array<ebb::tensor<double, 2, 3, 4>>(1);
  const auto y = test::random_array<ebb::tensor<double, 4, 2, 2>>(2);
  const auto r = ebb::einsum<"abc, cda -> dba">(x, y);
  static_assert(std::is_same_v<decltype(r), const ebb::tensor<double, 2, 3, 2>>);
  for (std::size_t a = 0; a < 2; ++a)
    for (std::size_t b = 0; b < 3; ++b)
      for (std::size_t d = 0; d < 2; ++d) {
        double sum = 0;
        for (std::size_t c = 0; c < 4; ++c) sum += x(a, b, c) * y(c, d, a);
        CHECK(r(d, b, a) == Approx(sum).margin(1e-15));
      }
  const ebb::tensor<int, dyn, dyn> m{{1, 2}, {3, 4}}, n(2, 0);
  CHECK(ebb::all_equal(ebb::einsum<"ba">(m), ebb::tensor<int, 2, 2>{{1, 3}, {2, 4}}));
  CHECK(static_cast<int>(ebb::einsum<"ij,ji">(m, m)) == 1 + 6 + 6 + 16);
  CHECK(ebb::all_equal(ebb::einsum<"ij,kj->ik">(n, n), ebb::tensor<int, 2, 2>{{0, 0}, {0, 0}}));
  const auto rows = ebb::map([](auto row, auto w) { return ebb::einsum<"i,ij->j">(row, w); }, m, ebb::whole(m));
  CHECK(ebb::all_equal(rows, ebb::tensor<int, 2, 2>{{7, 10}, {15, 22}}));
  CHECK(ebb::einsum<"ii->i">(ebb::tensor<double, 2, 2>{{-0.0, std::numeric_limits<double>::quiet_NaN()}, {1, 2}})(1) == 2);
  CHECK(test::says(test::raised([&] { static_cast<void>(ebb::einsum<"ij,jk">(m, ebb::tensor<int, dyn, dyn>(3, 2))); }),
                   {"ebb::einsum", "[2, 2]", "[3, 2]"}));
  CHECK(test::says(test::raised([&] { static_cast<void>(ebb::einsum<"ii">(n)); }), {"ebb::einsum", "[2, 0]"}));
  CHECK(test::says(test::raised([&] { static_cast<void>(ebb::tensordot<1>(m, ebb::tensor<int, dyn>(3))); }), {"ebb::tensordot", "[3]"}));
  // Products are rounded to the context's dtype, as matmul is; products of letters that stay are not.
  constexpr auto low = ebb::under<ebb::autocast<ebb::bf16>>([](auto a, auto b) {
    return std::tuple(ebb::einsum<"ij,jk->ik">(a, b), ebb::einsum<"ij,jk->ijk">(a, b), ebb::tensordot<1>(a, b));
  });
  const ebb::tensor<float, 2, 2> f{{1, 2}, {3, 4}};
  using result = decltype(low(f, f));
  static_assert(std::is_same_v<std::tuple_element_t<0, result>::value_type, ebb::bf16>);
  static_assert(std::is_same_v<std::tuple_element_t<1, result>::value_type, float>);
  static_assert(std::is_same_v<std::tuple_element_t<2, result>::value_type, ebb::bf16>);
}

/// The numbers of elements of all matrix products of F, in order.
template <class... A, class F>
std::vector<std::size_t> products_of(F, std::initializer_list<ebb::extent_list> in) {
  const ebb::graph g = ebb::trace_of<F, A...>::make();
  ebb::vec<ebb::extent_list> shapes;
  for (const ebb::extent_list& e : in) shapes.push(e);
  const auto symbols = ebb::symbol_values(g, shapes);
  std::vector<std::size_t> r;
  for (int k = 0; k < g.size(); ++k)
    if (g.op(k).what == ebb::kind::contract) r.push_back(ebb::extents_at(g.shape_of(k), symbols.data()).volume());
  return r;
}

/// The tree that the order makes of a chain of matrices, whose letters are 0 and 1, 1 and 2, and so on.
std::string tree_of_chain(std::initializer_list<std::int64_t> extents) {
  const int count = static_cast<int>(extents.size()) - 1;
  std::int64_t extent[ebb::detail::einsum_order::most_letters] = {};
  std::copy(extents.begin(), extents.end(), extent);
  std::uint64_t letters[ebb::detail::most_of_einsum] = {};
  for (int j = 0; j < count; ++j) letters[j] = std::uint64_t{3} << j;
  const ebb::detail::einsum_order order(count, letters, std::uint64_t{1} | std::uint64_t{1} << count, extent);
  const std::function<std::string(unsigned)> text = [&](unsigned set) -> std::string {
    if (std::has_single_bit(set)) return std::to_string(std::countr_zero(set));
    const unsigned first = order.first_of(set);
    return '(' + text(first) + text(set ^ first) + ')';
  };
  return text((1u << count) - 1);
}

TEST_CASE("einsum multiplies three and more operands in the cheapest order of static extents, else from left to right") {
  // Cormen et al., Introduction to Algorithms, section 15.2.
  CHECK(tree_of_chain({30, 35, 15, 5, 10, 20, 25}) == "((0(12))((34)5))");
  CHECK(tree_of_chain({2, 2, 2, 2, 2}) == "(((01)2)3)");       // no order is cheaper
  CHECK(tree_of_chain({1, 9, 2, 2, 2, 2}) == "((((01)2)3)4)");
  CHECK(tree_of_chain({9, 2, 2, 2, 2, 1}) == "(0(1(2(34))))");
  CHECK(tree_of_chain({9, 1, 2, 2, 1, 9}) == "((0((12)3))4)");  // a part without a cheaper order is from left to right too
  CHECK(tree_of_chain({30, 35, 15, -1, 10}) == "(((01)2)3)");  // an extent is not known
  CHECK(tree_of_chain({0, 3, 4, 5}) == "((01)2)");

  constexpr auto chain = [](const auto& x, const auto& y, const auto& z) { return ebb::einsum<"ij,jk,kl->il">(x, y, z); };
  const auto e = [](std::size_t a, std::size_t b) { return linalg_test::extents_of({a, b}); };
  CHECK(products_of<wide<8, 2>, wide<2, 8>, wide<8, 1>>(chain, {e(8, 2), e(2, 8), e(8, 1)}) == std::vector<std::size_t>{2, 8});
  CHECK(products_of<wide<dyn, 2>, wide<2, 8>, wide<8, 1>>(chain, {e(8, 2), e(2, 8), e(8, 1)}) == std::vector<std::size_t>{64, 8});
  const auto x = test::random_array<ebb::tensor<double, 8, 2>>(1);
  const auto y = test::random_array<ebb::tensor<double, 2, 8>>(2);
  const auto z = test::random_array<ebb::tensor<double, 8, 1>>(3);
  CHECK(ebb::all_equal(chain(x, y, z), ebb::einsum<"ij,jl->il">(x, ebb::einsum<"jk,kl->jl">(y, z))));
  ebb::tensor<double, dyn, dyn> some(8, 2);
  std::copy(x.begin(), x.end(), some.mutable_data());
  CHECK(ebb::all_equal(chain(some, y, z), ebb::einsum<"ik,kl->il">(ebb::einsum<"ij,jk->ik">(x, y), z)));
  // Another operand knows the extent: the call checks it.
  CHECK(products_of<wide<8, dyn>, wide<2, dyn>, wide<8, 1>>(chain, {e(8, 2), e(2, 8), e(8, 1)}) == std::vector<std::size_t>{2, 8});

  // A letter that three operands have, one that the result has too, and four operands.
  const auto w = test::random_array<ebb::tensor<double, 8, 2>>(4);
  const auto r = ebb::einsum<"ai,ia,al,al->la">(x, y, z, ebb::tensor<double, 8, 1>(z));
  for (std::size_t a = 0; a < 8; ++a) {
    double sum = 0;
    for (std::size_t i = 0; i < 2; ++i) sum += x(a, i) * y(i, a) * z(a, 0) * z(a, 0);
    CHECK(r(0, a) == Approx(sum).margin(1e-15));
  }
  double all = 0;
  for (std::size_t a = 0; a < 8; ++a)
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t b = 0; b < 8; ++b) all += x(a, i) * y(i, b) * w(b, i);
  CHECK(static_cast<double>(ebb::einsum<"ai,ib,bi->">(x, y, w)) == Approx(all));

  // From left to right the first product would have ten axes.
  const auto five = ebb::reshape<2, 2, 2, 2, 2>(ebb::arange<32>(0.0)), other = five + 1;
  const auto joined = ebb::einsum<"abcde,fghij,abcdf->eghij">(five, other, five);
  CHECK(ebb::all_equal(joined, ebb::einsum<"ef,fghij->eghij">(ebb::einsum<"abcde,abcdf->ef">(five, five), other)));
}

/// The graph of an einsum of arrays of doubles. The extents of letters from 'a' on are known while tracing, or those of the call.
ebb::graph graph_of(const ebb::detail::einsum_plan& p, const std::vector<std::size_t>& extents, bool known) {
  ebb::graph g;
  ebb::operand<double> in[ebb::detail::most_of_einsum];
  for (int j = 0; j < p.count; ++j) {
    ebb::shape s;
    for (int i = 0; i < p.operand[j].count; ++i) {
      const auto letter = static_cast<std::size_t>(p.operand[j].letter[i] - 'a');
      s.push(known ? static_cast<int>(extents[letter]) : g.syms.fresh({ebb::extent_rule::argument, j, i}));
    }
    in[j] = {&g, ebb::emit_as<ebb::op::input, double>(g, g.intern(s), {}, {j})};
    ++g.inputs;
  }
  g.out.push(ebb::detail::einsum_steps::run(p, in).id);
  return g;
}

TEST_CASE("einsum of random letters, three to six operands: the sums of loops, in the cheapest order and from left to right") {
  std::mt19937 next(1);
  const auto below = [&](unsigned n) { return static_cast<int>(next() % n); };
  int reordered = 0;
  for (int round = 0; round < 400; ++round) {
    constexpr int letters = 5;
    ebb::detail::einsum_plan p;
    p.count = 3 + below(4);
    std::vector<std::size_t> extents;
    for (int l = 0; l < letters; ++l) extents.push_back(static_cast<std::size_t>(1 + below(3)));
    std::vector<numbers> values;
    std::vector<ebb::extent_list> shapes;
    const auto choose = [&](ebb::detail::einsum_letters& group, unsigned among) {
      const int chosen = below(1u << letters), first = below(letters);
      for (int i = 0; i < letters; ++i) {
        const int l = (first + i) % letters;
        if (chosen & static_cast<int>(among) & 1 << l) group.letter[group.count++] = static_cast<char>('a' + l);
      }
    };
    unsigned used = 0;
    for (int j = 0; j < p.count; ++j) {
      choose(p.operand[j], ~0u);
      ebb::extent_list e;
      for (int i = 0; i < p.operand[j].count; ++i) {
        used |= 1u << (p.operand[j].letter[i] - 'a');
        e.e[e.rank++] = extents[static_cast<std::size_t>(p.operand[j].letter[i] - 'a')];
      }
      shapes.push_back(e);
      values.emplace_back();
      for (std::size_t i = 0; i < e.volume(); ++i) values.back().push_back(below(5) - 2);  // small integers: each order is exact
    }
    choose(p.result, used);
    const auto place_in = [&](const ebb::detail::einsum_letters& group, const std::size_t* at) {
      std::size_t r = 0;
      for (int i = 0; i < group.count; ++i) {
        const auto letter = static_cast<std::size_t>(group.letter[i] - 'a');
        r = r * extents[letter] + at[letter];
      }
      return r;
    };
    std::size_t ends[letters], volume = 1;
    for (std::size_t l = 0; l < letters; ++l) ends[l] = used >> l & 1 ? extents[l] : 1;
    for (int i = 0; i < p.result.count; ++i) volume *= extents[static_cast<std::size_t>(p.result.letter[i] - 'a')];
    numbers want(volume);
    for (std::size_t a = 0; a < ends[0]; ++a)
      for (std::size_t b = 0; b < ends[1]; ++b)
        for (std::size_t c = 0; c < ends[2]; ++c)
          for (std::size_t d = 0; d < ends[3]; ++d)
            for (std::size_t e = 0; e < ends[4]; ++e) {
              const std::size_t at[] = {a, b, c, d, e};
              double product = 1;
              for (int j = 0; j < p.count; ++j) product *= values[static_cast<std::size_t>(j)][place_in(p.operand[j], at)];
              want[place_in(p.result, at)] += product;
            }
    CAPTURE(round);
    const ebb::graph cheapest = graph_of(p, extents, true), from_left = graph_of(p, extents, false);
    REQUIRE_FALSE(ebb::first_error(cheapest));
    REQUIRE_FALSE(ebb::first_error(from_left));
    CHECK(linalg_test::evaluated(cheapest, values, shapes)[0] == want);
    CHECK(linalg_test::evaluated(from_left, values, shapes)[0] == want);
    reordered += cheapest.size() != from_left.size();
  }
  CHECK(reordered > 100);
}

TEST_CASE("einsum in its cheapest order has the first and second derivatives of loops in long double") {
  using namespace linalg_test;
  const auto f = [](auto x) { return ebb::einsum<"ij,kj,kl->il">(x, ebb::sin(x), ebb::sum<1>(ebb::square(x), ebb::keep_dims)); };
  against_differences<wide<4, 2>>("einsum of three", f, random_numbers(8, 5), extents_of({4, 2}), [](const long_numbers& x) {
    long_numbers r(4);
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t j = 0; j < 2; ++j)
        for (std::size_t k = 0; k < 4; ++k)
          r[i] += x[2 * i + j] * std::sin(x[2 * k + j]) * (x[2 * k] * x[2 * k] + x[2 * k + 1] * x[2 * k + 1]);
    return r;
  }, 1e-12L, 1e-8L);
}

TEST_CASE("inner pairs all rows, and outer has batches") {
  const auto x = test::random_array<ebb::tensor<double, 2, 3, 4>>(1);
  const auto y = test::random_array<ebb::tensor<double, 5, 4>>(2);
  const auto r = ebb::inner(x, y);
  static_assert(std::is_same_v<std::remove_const_t<decltype(r)>, ebb::tensor<double, 2, 3, 5>>);
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      for (std::size_t k = 0; k < 5; ++k) {
        double sum = 0;
        for (std::size_t e = 0; e < 4; ++e) sum += x(i, j, e) * y(k, e);
        CHECK(r(i, j, k) == Approx(sum).margin(1e-15));
      }
  const ebb::tensor<double, ebb::dyn> a{1, 2, 3};
  CHECK(ebb::inner(a, a) == 14);
  const auto slope = ebb::grad<1>([](auto p, auto q) { return ebb::sum(ebb::inner(p, q)); })(x, y);
  for (std::size_t e = 0; e < 4; ++e) {
    double sum = 0;
    for (std::size_t i = 0; i < 6; ++i) sum += x.data()[4 * i + e];
    CHECK(slope(2, e) == Approx(sum).margin(1e-15));
  }
  CHECK(test::says(test::raised([&] { static_cast<void>(ebb::inner(a, ebb::tensor<double, ebb::dyn, ebb::dyn>(2, 2))); }),
                   {"inner", "[3]", "[2, 2]"}));
  const auto products = ebb::outer(ebb::tensor<double, 5, 4>(y), ebb::tensor<double, 4>{1, 2, 3, 4});
  static_assert(std::is_same_v<std::remove_const_t<decltype(products)>, ebb::tensor<double, 5, 4, 4>>);
  CHECK(products(3, 1, 2) == y(3, 1) * 3);
}

TEST_CASE("inner and tensordot have the first and second derivatives of sums of products; empty rows, NaN and infinities") {
  const auto f = [](auto x) {
    const auto square = x * x;
    return std::tuple(ebb::inner(x, square), ebb::tensordot<2>(x, square), ebb::tensordot<1>(x, ebb::transpose(square)));
  };
  const auto oracle = [](const linalg_test::long_numbers& x) {
    linalg_test::long_numbers pairs;
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t j = 0; j < 2; ++j) {
        long double sum = 0;
        for (std::size_t k = 0; k < 3; ++k) sum += x[3 * i + k] * x[3 * j + k] * x[3 * j + k];
        pairs.push_back(sum);
      }
    linalg_test::long_numbers r = pairs;
    r.push_back(pairs[0] + pairs[3]);
    r.insert(r.end(), pairs.begin(), pairs.end());
    return r;
  };
  const numbers x = linalg_test::random_numbers(6, 2);
  linalg_test::against_differences<wide<2, 3>>("static", f, x, linalg_test::extents_of({2, 3}), oracle, 1e-10L, 1e-6L);
  linalg_test::against_differences<wide<dyn, dyn>>("dyn", f, x, linalg_test::extents_of({2, 3}), oracle, 1e-10L, 1e-6L);

  CHECK(ebb::all_equal(ebb::inner(ebb::tensor<double, dyn, dyn>(2, 0), ebb::tensor<double, dyn, dyn>(3, 0)),
                       ebb::tensor<double, dyn, dyn>(2, 3)));
  CHECK(ebb::inner(ebb::tensor<double, dyn, dyn>(0, 3), ebb::tensor<double, dyn, dyn>(2, 3)).extent(1) == 2);
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const auto r = ebb::inner(ebb::tensor<double, 3, 2>{{1, 2}, {inf, 1}, {nan, 0}}, ebb::tensor<double, 2, 2>{{0, 1}, {-1, 3}});
  CHECK((r(0, 0) == 2 && r(0, 1) == 5 && std::isnan(r(1, 0)) && r(1, 1) == -inf && std::isnan(r(2, 0)) && std::isnan(r(2, 1))));
}

}  // namespace

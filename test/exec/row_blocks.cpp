// test/exec/row_blocks.cpp — programs that run on blocks of rows: a call on many rows has the bits of calls on a few rows each.
// SPDX-License-Identifier: BSL-1.0
// covers: plan/rows.hpp plan/repeats.hpp plan/sums_apart.hpp
#include <ebb/functional.hpp>
#include <ebb/plan/print.hpp>
#include <ebb/shapes/scatter.hpp>
#include <ebb/shapes/segment.hpp>

#include "../catch.hpp"
#include "../same_bits.hpp"

#include <array>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

namespace {

using ebb::dyn;
using matrix = ebb::tensor<double, dyn, dyn>;
using points = ebb::tensor<double, dyn, 3>;
using numbers = ebb::tensor<double, dyn>;

template <class F, class... A>
using program = ebb::executable<typename ebb::detail::compile_spec<F>::template program<ebb::detail::traced_type<A>...>>;
template <class... A, class F>
constexpr bool runs_in_blocks(const F&) {
  return program<F, A...>::plan.row_symbol < 0;
}

/// Numbers from -1 to 1; some are zeros, infinities and NaN.
void fill(auto& x, unsigned seed) {
  double* const p = x.mutable_data();
  for (std::size_t i = 0; i < x.size(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    p[i] = static_cast<double>(seed) * 0x1p-31 - 1;
    if (seed % 997 == 0) p[i] = seed % 2 ? -0.0 : std::numeric_limits<double>::infinity();
  }
}

constexpr std::size_t many = 9001, few = 60;  // a call on at most 64 rows is one block

template <std::size_t... E>
ebb::tensor<double, dyn, E...> of_rows(const ebb::tensor<double, dyn, E...>& like, std::size_t count) {
  if constexpr (ebb::tensor<double, dyn, E...>::dynamic_rank == 1) return ebb::tensor<double, dyn, E...>(count);
  else return ebb::tensor<double, dyn, E...>(count, like.extent(1));
}
template <class A>
A rows(const A& a, std::size_t first, std::size_t count) {
  if constexpr (A::dynamic_rank == 0) return a;
  else {
    if (a.extent(0) != many) return a;  // not by rows
    A part = of_rows(a, count);
    const std::size_t width = a.size() / many;
    if (part.size() > 0) std::memcpy(part.mutable_data(), a.data() + first * width, part.size() * sizeof(double));
    return part;
  }
}

/// f on all rows against f on a few rows at a time.
template <class F, class... A>
void check_bits_of_rows(F f, const A&... a) {
  const auto whole = ebb::compile(f)(a...);
  const std::size_t width = whole.size() / many;
  for (std::size_t first = 0; first < many; first += few) {
    const std::size_t count = std::min(few, many - first);
    const auto part = ebb::compile(f)(rows(a, first, count)...);
    REQUIRE(part.size() == count * width);
    REQUIRE(std::memcmp(part.data(), whole.data() + first * width, count * width * sizeof(double)) == 0);
  }
}

template <class F, class... A>
void check_rows(F f, const A&... a) {
  static_assert(runs_in_blocks<A...>(f));
  check_bits_of_rows(f, a...);
}

constexpr auto norm = [](auto x) { return x / ebb::sqrt(ebb::sum(x * x)); };
constexpr auto norms = [](auto x) { return ebb::map(norm, x); };
constexpr auto softmax = [](auto x) { return ebb::softmax<1>(x * x); };
constexpr auto energy = [](auto p, auto w) { return ebb::sum(ebb::tanh(p * w / ebb::sum(w)) * ebb::flip<0>(p)); };
constexpr auto gradients = [](auto x, auto w) { return ebb::map(ebb::grad<0>(energy), x, ebb::whole(w)); };
constexpr auto centered = [](auto x, auto c) { return ebb::softmax<1>(x - c); };
constexpr auto pieces = [](auto x) {  // written to rows apart: the gradient of two slices within a block, and the result
  const auto g = ebb::grad<0>([](auto y) {
    const auto p = ebb::softmax<1>(y * y);
    return ebb::sum(ebb::square(ebb::slice<1, 0, 33>(p))) + ebb::sum(ebb::tanh(ebb::slice<1, 33>(p)));
  })(x);
  return ebb::concat<1>(ebb::slice<1, 0, 33>(g) * 2., ebb::tanh(ebb::slice<1, 33>(g)));
};
constexpr auto inverses = [](auto x) { return ebb::inverse(ebb::tanh(x) * 2.) + 1.; };
constexpr auto roots = [](auto x) { return ebb::cholesky(ebb::permute<1, 0, 2, 3>(ebb::tanh(x) * 2.)) + 1.; };

constexpr auto layers = [](auto x, auto w) {
  return ebb::map([](auto p, auto v) { return ebb::softmax(ebb::matmul(v, ebb::tanh(ebb::matmul(v, p)))) * ebb::flip<0>(p); }, x,
                  ebb::whole(w));
};

}  // namespace

TEST_CASE("products of rows with a matrix that all share run on blocks of rows: their memory does not depend on the number of rows") {
  for (const std::size_t width : {1u, 5u, 24u, 37u}) {
    matrix m(many, width), w(width, width);
    fill(m, 4);
    fill(w, 5);
    check_rows(layers, m, w);
  }
}

TEST_CASE("blocks of rows have the bits of few rows") {
  points x(many);
  matrix m(many, std::size_t{37});
  numbers c(std::size_t{37});
  fill(x, 1);
  fill(m, 2);
  fill(c, 3);
  check_rows(norms, x);
  check_rows(softmax, m);
  check_rows(centered, m, c);
  check_rows(pieces, m);
  CHECK(test::same_bits(ebb::compile(pieces)(m), pieces(m)));
  check_bits_of_rows(gradients, x, ebb::tensor<double, 3>{0.5, -2.0, 0.25});  // one loop, without blocks
}

namespace {

constexpr auto misses = [](auto r, auto p, auto q) {
  return ebb::map([](auto a, auto b, auto c) { return ebb::sum(ebb::square(ebb::matmul(a, b) - c)); }, r, p, q);
};
constexpr auto fit = [](auto r, auto p, auto q) {
  return ebb::value_and_grad<0, 1>([](auto a, auto b, auto c) { return ebb::sum(misses(a, b, c)); })(r, p, q);
};

}  // namespace

TEST_CASE("a loss and the gradients of its rows run on blocks of rows: the sum is a loop of its own, with the same bits") {
  using matrices = ebb::tensor<double, dyn, 3, 3>;
  STATIC_REQUIRE(runs_in_blocks<matrices, points, points>(fit));
  matrices r(many);
  points p(many), q(many);
  for (double* x : {r.mutable_data(), p.mutable_data(), q.mutable_data()}) {
    const std::size_t size = many * (x == r.data() ? 9 : 3);
    for (std::size_t i = 0; i < size; ++i) x[i] = static_cast<double>((i * 2654435761u) % 2001) / 1000 - 1;
  }
  const auto [value, dr, dp] = ebb::compile(fit)(r, p, q);
  CHECK(value == ebb::sum(ebb::compile(misses)(r, p, q)));
  for (std::size_t first = 0; first < many; first += few) {
    const std::size_t count = std::min(few, many - first);
    matrices some(count);
    std::memcpy(some.mutable_data(), r.data() + first * 9, count * 9 * sizeof(double));
    const auto [v, gr, gp] = ebb::compile(fit)(some, rows(p, first, count), rows(q, first, count));
    REQUIRE(std::memcmp(gr.data(), dr.data() + first * 9, count * 9 * sizeof(double)) == 0);
    REQUIRE(std::memcmp(gp.data(), dp.data() + first * 3, count * 3 * sizeof(double)) == 0);
  }
}

namespace {

using places = ebb::tensor<std::int32_t, dyn>;
constexpr std::size_t targets = 700;

/// A program that computes rows and adds them by index, against the same in two calls, of which the second has one step.
template <class Add>
void check_scatter(const points& x, const places& at, Add add) {
  constexpr auto whole = [](auto p, auto i, auto to) { return Add{}(ebb::map(norm, p), i, to); };
  static_assert(runs_in_blocks<points, places, points>(whole));
  points to(targets);
  fill(to, 7);
  CHECK(test::same_bits(ebb::compile(whole)(x, at, to), ebb::compile(add)(ebb::compile(norms)(x), at, to)));
}

}  // namespace

TEST_CASE("rows that are added by index are added block by block, in the order of all rows") {
  points x(many);
  places at(many);
  fill(x, 1);
  for (std::size_t i = 0; i < many; ++i) at.mutable_data()[i] = static_cast<std::int32_t>(i * 7919 % (targets - 3));
  check_scatter(x, at, [](auto r, auto i, auto to) { return ebb::segment_sum(r, i, to); });
  check_scatter(x, at, [](auto r, auto i, auto to) { return ebb::segment_max(r, i, to); });
  check_scatter(x, at, [](auto r, auto i, auto to) { return ebb::index_add<0>(to, i, r); });
  check_scatter(x, at, [](auto r, auto i, auto to) { return ebb::index_copy<0>(to, i, r); });

  constexpr auto stretched = [](auto p, auto i, auto j) {
    return ebb::grad<0>([](auto q, auto a, auto b) {
      const auto distance = [](auto u, auto v) { return ebb::sqrt(ebb::sum(ebb::square(u - v))); };
      return ebb::sum(ebb::map(distance, ebb::take<0>(q, a), ebb::take<0>(q, b)));
    })(p, i, j);
  };
  STATIC_REQUIRE(runs_in_blocks<points, places, places>(stretched));
  points ends(targets);
  for (std::size_t i = 0; i < ends.size(); ++i) ends.mutable_data()[i] = static_cast<double>(i * 2654435761u % 100003) / 1000;
  places other(many);
  for (std::size_t i = 0; i < many; ++i)
    other.mutable_data()[i] = static_cast<std::int32_t>((static_cast<std::size_t>(at.data()[i]) + 1 + i % 11) % targets);
  const points g = ebb::compile(stretched)(ends, at, other);
  std::vector<double> known(targets * 3), second(targets * 3);  // the sums of each end, which are added then
  for (std::size_t i = 0; i < many; ++i) {
    const auto a = static_cast<std::size_t>(at.data()[i]), b = static_cast<std::size_t>(other.data()[i]);
    const double *const u = ends.data() + 3 * a, *const v = ends.data() + 3 * b;
    const double d[] = {u[0] - v[0], u[1] - v[1], u[2] - v[2]};
    const double r = std::sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    for (std::size_t c = 0; c < 3; ++c) {
      known[3 * a + c] += d[c] / r;
      second[3 * b + c] -= d[c] / r;
    }
  }
  for (std::size_t i = 0; i < known.size(); ++i) CHECK(g.data()[i] == Approx(known[i] + second[i]).margin(1e-11));

  at.mutable_data()[many - 1] = targets;
  REQUIRE_THROWS_WITH(ebb::compile(stretched)(ends, at, other), Catch::Contains("700") && Catch::Contains("9000"));
}

TEST_CASE("programs that do not keep rows apart have no blocks") {
  CHECK_FALSE(runs_in_blocks<matrix>([](auto x) { return ebb::softmax<0>(x * x); }));
  CHECK_FALSE(runs_in_blocks<matrix>([](auto x) { return ebb::softmax<1>(x) - ebb::mean<0>(x); }));
  CHECK_FALSE(runs_in_blocks<matrix>([](auto x) { return ebb::sum(ebb::softmax<1>(x)); }));
  CHECK_FALSE(runs_in_blocks<matrix>([](auto x) { return ebb::flip<0>(ebb::softmax<1>(x)); }));
  CHECK_FALSE(runs_in_blocks<matrix>([](auto x) { return ebb::softmax<1>(x) + ebb::iota<0>(x); }));
  CHECK_FALSE(runs_in_blocks<matrix>([](auto x) { return ebb::sum<0>(ebb::softmax<1>(x) * ebb::iota<0>(x)); }));
  CHECK_FALSE(runs_in_blocks<matrix>([](auto x) { return ebb::softmax<1>(x) * ebb::extent<0>(x); }));
  CHECK_FALSE(runs_in_blocks<matrix>([](auto x) {
    const auto rows = ebb::arange_like<0>(x);
    return std::tuple(rows, ebb::sum<0>(ebb::softmax<1>(ebb::concat<1>(rows, x))));
  }));
  CHECK_FALSE(runs_in_blocks<matrix>([](auto x) { return ebb::concat<0>(ebb::softmax<1>(x), x); }));
  CHECK_FALSE(runs_in_blocks<matrix>([](auto x) { return x * x + 1.0; }));  // one loop, no temporaries
  CHECK_FALSE(runs_in_blocks<matrix, matrix>([](auto x, auto y) { return ebb::softmax<1>(ebb::matmul(x, y)); }));
  CHECK(runs_in_blocks<matrix>([](auto x) { return std::tuple(ebb::softmax<1>(x), ebb::sum<1>(x)); }));
}

namespace {

constexpr auto distances = [](auto c, auto x) { return ebb::sum<2>(ebb::square(ebb::unsqueeze<1>(x) - c)); };
constexpr auto cost = [](auto c, auto x) { return ebb::sum(ebb::min<1>(distances(c, x))); };
constexpr auto direction = [](auto c, auto x) { return ebb::grad(cost)(c, x) / ebb::hvp<0>(cost)(c, x, ebb::ones_like(c)); };
constexpr auto occupancy = [](auto x, auto c) { return ebb::sum<0>(ebb::tanh(ebb::softmax<1>(x - c))); };
constexpr auto extremes = [](auto x) {
  const auto p = ebb::softmax<1>(x * x);
  return std::tuple(ebb::max<0>(p), ebb::sum<1>(p * p), ebb::sum(ebb::max<1>(p)), ebb::sum<0>(p) / ebb::sum(ebb::min<1>(p)),
                    ebb::mean<0>(p));
};

template <class T>
bool same(const T& a, const T& b) {
  if constexpr (std::is_arithmetic_v<T>) return std::memcmp(&a, &b, sizeof(T)) == 0 || (a != a && b != b);
  else return test::same_bits(a, b);
}
/// A call that runs in blocks against the calls of each operation.
template <class F, class... A>
void check_sums(F f, const A&... a) {
  static_assert(runs_in_blocks<A...>(f));
  const auto compiled = ebb::compile(f)(a...);
  const decltype(compiled) known = f(a...);
  if constexpr (requires { std::get<0>(known); })
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      const bool each[] = {same(std::get<I>(compiled), std::get<I>(known))...};
      for (const bool s : each) CHECK(s);
    }(std::make_index_sequence<std::tuple_size_v<std::decay_t<decltype(known)>>>{});
  else CHECK(same(compiled, known));
}

}  // namespace

TEST_CASE("the rows of a block are not a multiple of 256") {
  for (std::size_t bytes = 1; bytes < 5000; bytes += 7) {
    const std::size_t rows = ebb::detail::height_of_block(many, bytes);
    REQUIRE(rows % 8 == 0);
    REQUIRE((rows >= 8 && rows % 256 != 0));
  }
  CHECK(ebb::detail::height_of_block(20, 100) == 64);
  CHECK(ebb::detail::height_of_block(20, 100'000) == 2);
  CHECK(ebb::detail::height_of_block(20, 1'000'000) == 1);
}

TEST_CASE("sums over rows go on from block to block") {
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{64}, std::size_t{65}, many}) {
    CAPTURE(count);
    points x(count), centers(std::size_t{29});
    matrix m(count, std::size_t{37});
    numbers c(std::size_t{37});
    fill(x, 6);
    fill(centers, 7);
    fill(m, 8);
    fill(c, 9);
    check_sums(direction, centers, x);
    check_sums(occupancy, m, c);
    if (count > 0) check_sums(extremes, m);
  }
}

namespace {

using matrices = ebb::tensor<double, dyn, dyn, dyn>;
constexpr auto by_transposed = [](auto a, auto b) { return ebb::matmul(a, ebb::transpose(b)); };
constexpr auto both = [](auto y, auto share, auto a, auto b) {
  const auto z = y * share;
  return std::tuple(ebb::sum<0>(ebb::matmul(z, b)), ebb::matmul(ebb::transpose(z), a));
};
/// The share of a row depends on all rows: no row can go from the first product to the last ones by itself.
constexpr auto shared = [](auto a, auto b) {
  const auto y = ebb::map(by_transposed, a, b);
  const auto share = ebb::softmax<0>(ebb::sum<2>(ebb::square(y)));
  return ebb::map(both, y, ebb::unsqueeze<2>(share), a, b);
};

}  // namespace

TEST_CASE("blocks of rows after a step that needs all rows") {
  using here = program<decltype(shared), matrices, matrices>;
  static_assert(here::plan.row_symbol < 0 && here::plan.blocks[0].first > 0);
  // The rows of the last pair are so long that a block is one of them.
  for (const auto& [count, points] : {std::pair<std::size_t, std::size_t>{1, 5}, {65, 5}, {1500, 5}, {3, 900}}) {
    CAPTURE(count);
    matrices a(count, points, std::size_t{7}), b(count, std::size_t{6}, std::size_t{7});
    fill(a, 10);
    fill(b, 11);
    check_sums(shared, a, b);
  }
}

namespace {

constexpr auto exponent = [](auto mean, auto scale, auto x) {
  return ebb::sum<1>(ebb::square(ebb::matmul(x - mean, ebb::transpose(scale))));
};
constexpr auto exponent_of_triangle = [](auto mean, auto scale, auto x) { return exponent(mean, ebb::lower(scale), x); };
template <auto Exponent>
constexpr auto mixture = [](auto mean, auto scale, auto x) {
  return ebb::sum(ebb::logsumexp<0>(-0.5 * ebb::map(Exponent, mean, scale, ebb::whole(x))));
};
template <auto Exponent>
constexpr auto mixture_gradients = [](auto mean, auto scale, auto x) { return ebb::grad<0, 1>(mixture<Exponent>)(mean, scale, x); };
constexpr auto mixture_products = [](auto mean, auto scale, auto x) {
  return ebb::hvp<0, 1>(mixture<exponent>)(mean, scale, x, mean * 0.5, scale * 0.25);
};
template <class F>
constexpr int repeated_steps(const F&) {
  int count = 0;
  for (const ebb::plan_step& s : program<F, matrix, matrices, matrix>::plan.steps) count += s.repeats >= 0;
  return count;
}
template <class F>
constexpr int runs_of_blocks(const F&) { return program<F, matrix, matrices, matrix>::plan.size.blocks; }

}  // namespace

TEST_CASE("the forward and the backward of a map run on blocks of rows, and the backward repeats a loop of the forward") {
  static_assert(runs_of_blocks(mixture<exponent>) == 1 && repeated_steps(mixture<exponent>) == 0);
  static_assert(runs_of_blocks(mixture_gradients<exponent>) == 2 && repeated_steps(mixture_gradients<exponent>) == 1);
  static_assert(runs_of_blocks(mixture_gradients<exponent_of_triangle>) == 2);
  static_assert(repeated_steps(mixture_gradients<exponent_of_triangle>) == 1);
  static_assert(runs_of_blocks(mixture_products) >= 2 && repeated_steps(mixture_products) >= 1);
  // The rows of the last pair are so long that a block is one of them.
  for (const auto& [count, points] : {std::pair<std::size_t, std::size_t>{1, 5}, {64, 5}, {65, 5}, {1500, 3}, {3, 900}, {0, 5}}) {
    CAPTURE(count);
    matrix mean(count, std::size_t{7}), x(points, std::size_t{7});
    matrices scale(count, std::size_t{7}, std::size_t{7});
    fill(mean, 14);
    fill(scale, 15);
    fill(x, 16);
    check_sums(mixture_gradients<exponent>, mean, scale, x);
    check_sums(mixture_gradients<exponent_of_triangle>, mean, scale, x);
    if (count < 100) check_sums(mixture_products, mean, scale, x);
  }
}

TEST_CASE("the text of a plan names the step that a later run of blocks repeats") {
  const ebb::graph g = program<decltype(mixture_gradients<exponent>), matrix, matrices, matrix>::g.thaw();
  const std::string text = ebb::plan_text(g, ebb::make_plan(g)).text();
  INFO(text);
  CHECK(text.find("\n  repeats step ") != std::string::npos);
}

namespace {

constexpr auto parts = [](auto x) {
  const auto [a, b] = ebb::chunk<1, 2>(ebb::slice<1, 3>(x) * ebb::slice<1, 0, -3>(x) - ebb::slice<1, -34>(x));
  return ebb::softmax<1>(a - b);
};
constexpr auto parts_of_temporary = [](auto x) {
  const auto p = ebb::softmax<1>(x);
  return ebb::softmax<1>(ebb::slice<1, 2>(p) - ebb::slice<1, 0, -2>(p));
};
constexpr auto differences = [](auto x) {
  const auto d = ebb::slice<1, 1>(x) - ebb::slice<1, 0, -1>(x), e = ebb::slice<-1, 2>(x) * ebb::slice<-1, 1, -1>(x);
  const auto s = ebb::select<1, 2>(x) * ebb::select<1, -1>(x);
  return std::tuple(d, ebb::sum<2>(d * d), e, s - ebb::select<1, 0>(x * x), ebb::exp(ebb::slice<1, 1, 3>(x)) + 1.0);
};
template <class F, class... A>
int copies(const F&) {
  int count = 0;
  for (const ebb::plan_step& s : program<F, A...>::plan.steps) count += s.nest < 0;
  return count;
}

}  // namespace

TEST_CASE("loops read slices along any axis where they lie") {
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{65}, many}) {
    CAPTURE(count);
    matrix m(count, std::size_t{37});
    fill(m, 13);
    check_sums(parts, m);
    check_sums(parts_of_temporary, m);
  }
  using boxes = ebb::tensor<float, dyn, dyn, dyn>;
  for (const auto& [n, m, k] : {std::tuple<std::size_t, std::size_t, std::size_t>{3, 5, 70}, {2, 3, 2}, {4, 9, 33}, {0, 4, 3}}) {
    boxes x(n, m, k);
    for (std::size_t i = 0; i < x.size(); ++i) x.mutable_data()[i] = static_cast<float>(i * 7919 % 1009) / 512 - 1;
    const auto compiled = ebb::compile(differences)(x);
    const auto known = differences(x);
    CHECK(test::same_bits(std::get<0>(compiled), std::get<0>(known)));
    CHECK(test::same_bits(std::get<1>(compiled), std::get<1>(known)));
    CHECK(test::same_bits(std::get<2>(compiled), std::get<2>(known)));
    CHECK(test::same_bits(std::get<3>(compiled), std::get<3>(known)));
    CHECK(test::same_bits(std::get<4>(compiled), std::get<4>(known)));
  }
  CHECK(copies<decltype(parts), matrix>(parts) == 0);
  CHECK(copies<decltype(parts_of_temporary), matrix>(parts_of_temporary) == 0);
  CHECK(copies<decltype(differences), boxes>(differences) == 0);
}

TEST_CASE("the text of a plan says which steps run on blocks of rows") {
  const ebb::graph g = program<decltype(occupancy), matrix, numbers>::g.thaw();
  const std::string text = ebb::plan_text(g, ebb::make_plan(g)).text();
  INFO(text);
  CHECK(text.find("the next 3 steps run on blocks of rows, of n\nstep 0: a loop over [n, m]\n") == 0);
}

TEST_CASE("a sum over rows may be written over an argument that all blocks read") {
  matrix m(many, std::size_t{37});
  numbers c(std::size_t{37});
  fill(m, 10);
  fill(c, 11);
  const numbers known = ebb::compile(occupancy)(m, c);
  ebb::compile(occupancy)(ebb::into(c), m, c);
  CHECK(test::same_bits(c, known));
}

TEST_CASE("a bad index in a block is reported by its number in the call") {
  const auto f = ebb::compile([](auto x, auto places) { return ebb::map(norm, ebb::take(x, ebb::select<1, 1>(places))); });
  points x(many);
  fill(x, 4);
  ebb::tensor<std::int32_t, dyn, 2> places(many);
  places.mutable_data()[2 * 8990 + 1] = 9001;
  std::string text;
  try {
    static_cast<void>(f(x, places));
  } catch (const ebb::error& e) {
    text = e.what();
  }
  CHECK(text == "ebb::compile: take: number 8990 of the indices of shape [9001] is 9001, and there are 9001 rows");
}

TEST_CASE("results of blocks are written over arguments") {
  points x(many);
  fill(x, 5);
  const points known = ebb::compile(norms)(x);
  ebb::compile(norms)(ebb::into(x), x);
  CHECK(test::same_bits(x, known));
}

TEST_CASE("a row of an argument that all blocks read is not written over, whichever step reads the argument last") {
  const auto check = [](auto f) {
    using rows = ebb::tensor<double, dyn, 5>;
    static_assert(runs_in_blocks<rows>(f));
    rows x(many);
    fill(x, 12);
    const rows known = ebb::compile(f)(x);
    ebb::compile(f)(ebb::into(x), x);
    CHECK(test::same_bits(x, known));
  };
  check([](auto x) { return ebb::softmax<1>(x - ebb::select<0, 1>(x)); });
  check([](auto x) { return ebb::softmax<1>(ebb::softmax<1>(x - ebb::select<0, 1>(x)) + x); });
}

TEST_CASE("the number of a singular matrix counts those of all blocks") {
  using small_matrices = ebb::tensor<double, dyn, 3, 3>;
  using pairs = ebb::tensor<double, dyn, 2, 2, 2>;
  static_assert(runs_in_blocks<small_matrices>(inverses));
  constexpr std::size_t bad = 7654;
  small_matrices x(many);
  for (std::size_t i = 0; i < many; ++i)
    for (std::size_t k = 0; k < 3; ++k) x.at(i, k, k) = i == bad ? 0 : 1;
  const std::string singular = test::raised([&] { static_cast<void>(ebb::compile(inverses)(x)); });
  CHECK(singular.find("matrix 7654 of 9001 is singular: pivot 0 is 0") != std::string::npos);
  pairs y(many);
  for (std::size_t i = 0; i < many; ++i)
    for (std::size_t j = 0; j < 2; ++j)
      for (std::size_t k = 0; k < 2; ++k) y.at(i, j, k, k) = i == bad && j == 1 ? -1 : 1;
  const std::string indefinite = test::raised([&] { static_cast<void>(ebb::compile(roots)(y)); });
  CHECK(indefinite.find("matrix 16655 of 18002 is not positive definite") != std::string::npos);
}

TEST_CASE("loops read rows backwards and by steps where they lie") {
  constexpr auto turned = [](auto x) {
    const auto by_two = ebb::slice<1, 1, ebb::to_end, 2>(x);
    return std::tuple(x - ebb::flip<0>(x) * ebb::flip<1>(x) * ebb::flip<2>(x), ebb::sum<0>(by_two * 2.), ebb::grad([](auto y) {
      return ebb::sum(ebb::square(ebb::flip<0>(y)) * y);
    })(x), ebb::sum<2>(ebb::flip<2>(x) + 1.));
  };
  using box = ebb::tensor<double, dyn, dyn, dyn>;
  const auto compiled = ebb::compile(turned);
  for (const auto& [l, n, m] : {std::array<std::size_t, 3>{5, 4, 17}, {1, 1, 16}, {2, 3, 70}, {0, 3, 20}, {3, 5, 0}}) {
    box x(l, n, m);
    fill(x, 7);
    const auto [a, b, c, p] = compiled(x);
    const auto [d, e, f, q] = turned(x);
    CHECK(same(a, d));
    CHECK(same(b, e));
    CHECK(same(c, f));
    CHECK(same(p, q));
  }
  CHECK(program<std::remove_cvref_t<decltype(turned)>, box>::plan.size.steps == 3);
}

// test/exec/run.cpp — compiled programs at many sizes: rows shorter than a step of lanes, tails, leaves of reductions, empty axes.
// SPDX-License-Identifier: BSL-1.0
// covers: run.hpp band.hpp one_step.hpp evaluate.hpp symbol_values.hpp
// covers: kernel/nest.hpp kernel/nest_places.hpp kernel/nest_step.hpp kernel/part.hpp kernel/run_state.hpp kernel/slots.hpp
#include <ebb/ebb.hpp>

#include <ebb/op/extremum.hpp>
#include <ebb/op/linear.hpp>
#include <ebb/op/reduce.hpp>

#include "../catch.hpp"
#include "run_random.hpp"

#include <array>
#include <tuple>

namespace {

using ebb::dyn, ebb::term;
using test::cells;

template <class F, class... T>
using program_of = ebb::executable<ebb::frozen<ebb::detail::forward_program<F, T...>>>;

template <std::size_t... N>
constexpr std::size_t numbers[] = {N...};

/// Runs F on random arrays of these extents, compiled and block by block, and compares with the scalar run.
template <class F, class... T>
void check(F, std::initializer_list<ebb::extent_list> extents, std::type_identity<std::tuple<T...>>) {
  using program = program_of<F, T...>;
  test::random_program p;
  p.types = {ebb::dtype_of<typename T::value_type>...};
  for (const ebb::extent_list& x : extents) {
    p.arguments.push(x);
    p.places.push(0);
  }
  const ebb::graph g = program::g.thaw();
  const ebb::vec<cells> arguments = test::random_arguments(p, 5);
  const ebb::vec<std::size_t> symbols = ebb::symbol_values(g, p.arguments);
  const ebb::vec<cells> scalar = test::run_scalar(g, arguments, symbols);
  bool guarded = true;
  const auto compiled = [&](void* const* from, void* const* to) { ebb::run_program<program>(from, to, symbols.data()); };
  INFO("extents " << p.arguments[0].e[0] << ", " << p.arguments[0].e[1] << ", " << p.arguments[0].e[2]);
  REQUIRE(test::difference(test::run_on_memory(g, p.types, arguments, symbols, guarded, compiled), scalar) == "");
  REQUIRE(guarded);
  for (const std::size_t block : numbers<33, 512>) {
    const auto blocks = [&](void* const* from, void* const* to) {
      ebb::block_program(g, ebb::make_plan(g), block).run(from, to, symbols.data());
    };
    REQUIRE(test::difference(test::run_on_memory(g, p.types, arguments, symbols, guarded, blocks), scalar) == "");
    REQUIRE(guarded);
  }
}
template <class... T>
using terms = std::type_identity<std::tuple<T...>>;

ebb::extent_list of(std::size_t a) { return {1, {a}}; }
ebb::extent_list of(std::size_t a, std::size_t b) { return {2, {a, b}}; }
ebb::extent_list of(std::size_t a, std::size_t b, std::size_t c) { return {3, {a, b, c}}; }

constexpr std::size_t sizes[] = {0, 1, 2, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 257,
                                 1000, 4095, 4096, 4097, 8191, 8193, 12289, 20001};

}  // namespace

TEST_CASE("programs over one axis of any length have the bits of scalar runs") {
  for (const std::size_t n : sizes)
    check([](auto x, auto y) { return std::tuple{ebb::sum(x * y), x * y + 1.f, ebb::sum(x)}; }, {of(n), of(n)},
          terms<term<float, dyn>, term<float, dyn>>{});
}

TEST_CASE("double and float in one nest have the bits of scalar runs") {
  for (const std::size_t n : sizes)
    check([](auto x, auto y) { return std::tuple{ebb::sum(x * y), x < y, x + y}; }, {of(n), of(n)},
          terms<term<float, dyn>, term<double, dyn>>{});
}

TEST_CASE("a row that fits one step of lanes runs through all nests at once") {
  constexpr auto spread = [](auto x, auto y) {  // five nests, two of them of numbers
    const auto [value, slope] = ebb::value_and_grad([](auto z) { return ebb::logsumexp(z); })(x * y);
    const auto share = ebb::softmax<0>(x);
    return std::tuple{value, slope, share, ebb::sum(share * slope) > value, x < slope};
  };
  constexpr auto centred = [](auto x, auto y) {  // integers, and a bool for each element
    const auto apart = x - ebb::max<0>(x);
    return std::tuple{apart * y, ebb::any(apart == y), ebb::sum<0>(apart), apart < ebb::min<0>(y)};
  };
  using ebb::detail::one_step;
  STATIC_REQUIRE(one_step<program_of<decltype(spread), term<double, dyn>, term<float, dyn>>>::possible);
  STATIC_REQUIRE_FALSE(one_step<program_of<decltype(spread), term<double, dyn>, term<float, dyn>>>::always);
  STATIC_REQUIRE(one_step<program_of<decltype(spread), term<float, 3>, term<float, 3>>>::always);
  STATIC_REQUIRE_FALSE(one_step<program_of<decltype(spread), term<float, 33>, term<float, 33>>>::possible);
  for (std::size_t n = 1; n <= ebb::lane_count + 1; ++n) {
    check(spread, {of(n), of(n)}, terms<term<double, dyn>, term<float, dyn>>{});
    check(spread, {of(n), of(n)}, terms<term<float, dyn>, term<float, dyn>>{});
    check(centred, {of(n), of(n)}, terms<term<std::int32_t, dyn>, term<std::int32_t, dyn>>{});
    check(centred, {of(n), of(n)}, terms<term<ebb::bfloat16, dyn>, term<ebb::bfloat16, dyn>>{});
  }
  check(spread, {of(0), of(0)}, terms<term<float, dyn>, term<float, dyn>>{});
  check(spread, {of(1), of(1)}, terms<term<float, 1>, term<float, 1>>{});
  check(spread, {of(3), of(3)}, terms<term<float, 3>, term<double, 3>>{});
  check(spread, {of(ebb::lane_count), of(ebb::lane_count)}, terms<term<double, ebb::lane_count>, term<float, ebb::lane_count>>{});
}

TEST_CASE("a short row's results may overwrite its arguments") {
  constexpr auto slope = ebb::value_and_grad([](auto x) { return ebb::logsumexp(x); });
  std::vector<double> x(static_cast<std::size_t>(ebb::lane_count) + 3), want(x.size()), over(x.size());
  for (std::size_t n = 1; n <= x.size(); ++n) {
    for (std::size_t i = 0; i < n; ++i) over[i] = x[i] = static_cast<double>(i * i % 7) - 3;
    const auto row = [n](std::vector<double>& of) { return std::span(of.data(), n); };
    double value = 0, other = 0;
    slope(ebb::into(value, row(want)), row(x));
    slope(ebb::into(other, row(over)), row(over));
    CHECK(other == value);
    CHECK(over == want);
    slope(ebb::into(x[n - 1], row(over)), row(x));
    CHECK(x[n - 1] == value);
    CHECK(over == want);
  }
}

TEST_CASE("a mean over a dyn extent counts its elements exactly") {
  constexpr auto slope = [](auto x) { return ebb::grad([](auto y) { return ebb::mean(y * y); })(x); };
  for (const std::size_t n : sizes) {
    check(slope, {of(n)}, terms<term<float, dyn>>{});
    check(slope, {of(n)}, terms<term<double, dyn>>{});
  }
  constexpr auto slopes = [](auto x) { return ebb::grad([](auto y) { return ebb::sum(ebb::mean<0>(y) * ebb::mean<1>(y)); })(x); };
  for (const std::size_t n : numbers<0, 1, 5, 16, 17, 65>) check(slopes, {of(n, n)}, terms<term<float, dyn, dyn>>{});
  // More elements than float can count; the other extent is 0, so that no memory is needed.
  constexpr auto means = [](auto x) { return ebb::mean<0>(x); };
  for (const std::size_t n : numbers<(1u << 24) - 1, (1u << 24) + 1>) check(means, {of(n, 0)}, terms<term<float, dyn, dyn>>{});
}

TEST_CASE("a nest with more loads, sums and stores than one fold takes") {
  constexpr std::size_t many = ebb::detail::most_in_fold + 3, length = 19;
  using numbers = ebb::tensor<double, dyn>;
  std::array<numbers, many> x;
  for (std::size_t i = 0; i < many; ++i) {
    x[i] = numbers(length);
    for (std::size_t j = 0; j < length; ++j) x[i].mutable_data()[j] = static_cast<double>(i * length + j);
  }
  const auto [sums, negated] = ebb::compile([](auto all) {
    const auto sum_of_each = [](auto... each) { return std::array{ebb::sum(each)...}; };
    const auto negative = [](auto... each) { return std::array{-each...}; };
    return std::tuple(std::apply(sum_of_each, all), std::apply(negative, all));
  })(x);
  for (std::size_t i = 0; i < many; ++i) {
    CHECK(sums[i] == static_cast<double>(length * (i * length) + length * (length - 1) / 2));
    for (std::size_t j = 0; j < length; ++j) CHECK(negated[i].data()[j] == -static_cast<double>(i * length + j));
  }
}

TEST_CASE("a sum over two loops takes rows that begin in any lane") {
  for (const std::size_t m : numbers<0, 1, 2, 3, 5, 7, 15, 17, 31, 33, 47, 100, 4097>)
    for (const std::size_t n : numbers<0, 1, 2, 3, 40, 200>)
      check([](auto x, auto row) { return std::tuple{ebb::sum(x * row), ebb::sum<0>(x * row), x * row}; }, {of(n, m), of(m)},
            terms<term<float, dyn, dyn>, term<float, dyn>>{});
}

TEST_CASE("sums over a middle, a leading and a trailing axis have the bits of scalar runs") {
  for (const std::size_t a : numbers<1, 3, 9>)
    for (const std::size_t b : numbers<0, 1, 5, 33>)
      for (const std::size_t c : numbers<1, 2, 19, 64>)
        check([](auto x) {
                return std::tuple{ebb::sum<1>(x), ebb::sum<0>(x), ebb::sum<2>(x), ebb::sum<0, 1>(x), ebb::sum<1, 2>(x), ebb::sum<0, 2>(x)};
              },
              {of(a, b, c)}, terms<term<double, dyn, dyn, dyn>>{});
}

TEST_CASE("narrow floats and integers have the bits of scalar runs") {
  for (const std::size_t n : numbers<1, 3, 31, 70, 5000>) {
    check([](auto x, auto y) { return std::tuple{x * y, ebb::max<0>(x + y), ebb::sum<0>(x), ebb::maximum(x, y)}; }, {of(n), of(n)},
          terms<term<ebb::bfloat16, dyn>, term<ebb::bfloat16, dyn>>{});
    check([](auto x, auto y) { return std::tuple{x + y, ebb::min<0>(x), ebb::sum<0>(x), ebb::any(x == y), ebb::all(x <= y)}; },
          {of(n), of(n)}, terms<term<std::int32_t, dyn>, term<std::int32_t, dyn>>{});
  }
}

TEST_CASE("products with vectors are summed in lanes, others in sequence, and narrow ones are rounded once") {
  for (const std::size_t k : numbers<0, 1, 2, 31, 32, 33, 100, 1025>)
    for (const std::size_t m : numbers<1, 2, 9>) {
      constexpr auto f = [](auto x, auto y) { return ebb::matmul(x, y); };
      check(f, {of(m, k), of(k, 1)}, terms<term<float, dyn, dyn>, term<float, dyn, dyn>>{});
      check(f, {of(m, k), of(k, m)}, terms<term<ebb::bfloat16, dyn, dyn>, term<ebb::bfloat16, dyn, dyn>>{});
      check(f, {of(2, m, k), of(2, k, 5)}, terms<term<std::int64_t, dyn, dyn, dyn>, term<std::int64_t, dyn, dyn, dyn>>{});
    }
}

TEST_CASE("a matrix is read once, in bands of rows, by its products with two vectors") {
  constexpr auto gradient = [](auto x, auto w, auto t) {
    const auto z = ebb::matmul(x, w), e = ebb::exp(z), g = e / (1.f + e) - t;
    return std::tuple{ebb::sum(g * z), ebb::matmul(ebb::transpose(x), g), ebb::sum(g), g, ebb::mean(ebb::log(1.f + e)) * t};
  };
  using real = std::type_identity<std::tuple<term<float, dyn, dyn>, term<float, dyn>, term<float, dyn>>>;
  using program = program_of<decltype(gradient), term<float, dyn, dyn>, term<float, dyn>, term<float, dyn>>;
  STATIC_REQUIRE(program::plan.size.bands == 1);
  STATIC_REQUIRE(program::plan.bands[0].count >= 3);
  for (const std::size_t m : numbers<0, 1, 2, 31, 32, 33, 100, 447, 448, 449, 1000, 4097, 5000>)
    for (const std::size_t k : numbers<1, 2, 5, 16, 35, 50, 55>) check(gradient, {of(m, k), of(k), of(m)}, real{});
  check(gradient, {of(70, 9000), of(9000), of(70)}, real{});
  constexpr auto whole_numbers = [](auto x, auto w) { return ebb::matmul(ebb::transpose(x), ebb::matmul(x, w) * 3); };
  for (const std::size_t m : numbers<5, 300, 1500>)
    check(whole_numbers, {of(m, 20), of(20)}, terms<term<std::int64_t, dyn, dyn>, term<std::int64_t, dyn>>{});
}

TEST_CASE("what each part of a band reads whole is not written over by rows") {
  constexpr auto square = [](auto x, auto v) {
    const auto w = ebb::exp(v);
    return ebb::matmul(ebb::transpose(x), ebb::matmul(x, w) * w);
  };
  using program = program_of<decltype(square), term<float, dyn, dyn>, term<float, dyn>>;
  STATIC_REQUIRE(program::plan.size.bands == 1);
  for (const std::size_t n : numbers<1, 33, 100, 300>) check(square, {of(n, n), of(n)}, terms<term<float, dyn, dyn>, term<float, dyn>>{});
  constexpr auto kept = [](auto x, auto v) {  // the row-wise product is a result, in whose memory w could be
    const auto w = ebb::exp(v), z = ebb::matmul(x, w) * w;
    return std::tuple{z, ebb::matmul(ebb::transpose(x), z)};
  };
  for (const std::size_t n : numbers<1, 33, 100, 300>) check(kept, {of(n, n), of(n)}, terms<term<float, dyn, dyn>, term<float, dyn>>{});
}

TEST_CASE("a result may overwrite an argument that its band still reads") {
  const auto x = ebb::normal<float, dyn, 20>(7, {900});
  const auto t = ebb::normal<float, dyn>(8, {900});
  const auto w = ebb::normal<float, 20>(9);
  constexpr auto slopes = ebb::grad<0, 2>([](auto weights, auto rows, auto scale) {
    return ebb::sum(ebb::tanh(ebb::matmul(rows, weights)) * scale);
  });
  const auto [dw, dt] = slopes(w, x, t);
  auto over_w = w;
  auto over_t = t;
  slopes(ebb::into(over_w, over_t), over_w, x, over_t);
  for (std::size_t i = 0; i < 20; ++i) CHECK(over_w(i) == dw(i));
  for (std::size_t i = 0; i < 900; ++i) REQUIRE(over_t(i) == dt(i));
}

TEST_CASE("a value that is several results is stored in each: one element, rows, in the memory of an argument") {
  constexpr auto thrice = [](auto x) {
    const auto y = x * x + 1;
    return std::tuple{y, ebb::flatten(y), y};
  };
  STATIC_REQUIRE(program_of<decltype(thrice), term<float, dyn, dyn>>::plan.size.copies == 0);
  for (const std::size_t n : {0u, 1u, 3u, 40u, 333u}) {
    auto x = ebb::normal<float, dyn, dyn>(n + 1, {n, 3});
    const auto [y, flat, z] = ebb::compile(thrice)(x);
    const auto expected = ebb::compile([](auto v) { return v * v + 1; })(x);
    ebb::tensor<float, dyn> over(n * 3);
    ebb::tensor<float, dyn, dyn> other(n, 3);
    CHECK((ebb::all_equal(y, expected) && ebb::all_equal(z, expected) && ebb::all_equal(ebb::reshape<dyn, 3>(flat), expected)));
    ebb::compile(thrice)(ebb::into(other, over, x), x);
    CHECK((ebb::all_equal(x, expected) && ebb::all_equal(other, expected) && ebb::all_equal(over, flat)));
  }
  const auto [a, b] = ebb::compile([](auto x) { return std::tuple{2 * x, 2 * x}; })(3.0);
  CHECK((a == 6 && b == 6));
  const auto [dx, dy] = ebb::grad<0, 1>([](auto x, auto y) { return ebb::sum(x + y); })(ebb::tensor<double, 5>{}, ebb::tensor<double, 5>{});
  CHECK((ebb::all_equal(dx, ebb::tensor<double, 5>{1, 1, 1, 1, 1}) && ebb::all_equal(dy, dx)));
}

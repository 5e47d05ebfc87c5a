// test/op/random.cpp — random numbers in traced functions: the bits of those outside, keys made from keys, parameters with derivatives.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"
#include "../same_bits.hpp"

#include <ebb/ebb.hpp>

#include <cmath>
#include <limits>

namespace {

using ebb::dyn;
using traced_key = ebb::tensor<std::int64_t>;

template <class T>
void draws_as_outside() {
  constexpr auto all = ebb::compile([](auto key) {
    return std::tuple(ebb::uniform<T, 3, 43>(key), ebb::uniform<T, 129>(key, -2, 0.7), ebb::normal<T, 129>(key),
                      ebb::normal<T, 129>(key, 0.3, 1.7));
  });
  for (const std::int64_t key : {std::int64_t{0}, std::int64_t{-7}, std::int64_t{0x7edc'ba98'7654'3210}}) {
    INFO("key " << key);
    const auto [u, v, z, y] = all(traced_key(key));
    CHECK(test::same_bits(u, ebb::uniform<T, 3, 43>(key)));
    CHECK(test::same_bits(v, ebb::uniform<T, 129>(key, ebb::as_element<T>(-2), ebb::as_element<T>(0.7))));
    CHECK(test::same_bits(z, ebb::normal<T, 129>(key)));
    CHECK(test::same_bits(y, ebb::normal<T, 129>(key, ebb::as_element<T>(0.3), ebb::as_element<T>(1.7))));
  }
}

TEST_CASE("uniform and normal in traced functions give the bits of those outside") {
  draws_as_outside<float>();
  draws_as_outside<double>();
  const traced_key key(5);  // called on arrays, without a compiled function around them
  CHECK(test::same_bits(ebb::uniform<ebb::bf16, 300>(key), ebb::uniform<ebb::bf16, 300>(5)));
  CHECK(test::same_bits(ebb::normal<ebb::bf16, 300>(key), ebb::normal<ebb::bf16, 300>(5)));
  CHECK(test::same_bits(ebb::normal<ebb::f16, 300>(ebb::tensor<int>(5)), ebb::normal<ebb::f16, 300>(5)));
  CHECK(ebb::uniform<float, 0>(key).size() == 0);
}

TEST_CASE("bernoulli marks what the one outside marks; probabilities may be arrays, and NaN marks nothing") {
  const traced_key key(11);
  const auto marked =
      ebb::compile([](auto k, auto p) { return std::tuple(ebb::bernoulli<200>(k, 0.3), ebb::bernoulli(k, p), ebb::bernoulli<2, 3>(k)); });
  ebb::tensor<double, dyn> p(200);
  for (std::size_t i = 0; i < 200; ++i)
    p.mutable_data()[i] = i % 4 == 3 ? std::numeric_limits<double>::quiet_NaN() : 0.5 * static_cast<double>(i % 4);
  const auto [fixed, own, halves] = marked(key, p);
  CHECK(ebb::all_equal(fixed, ebb::bernoulli<200>(11, 0.3)));
  CHECK(ebb::all_equal(halves, ebb::bernoulli<2, 3>(11)));
  const auto half = ebb::bernoulli<200>(11, 0.5);
  for (std::size_t i = 0; i < 200; ++i) CHECK(own.data()[i] == (i % 4 == 2 || (i % 4 == 1 && half.data()[i])));
}

TEST_CASE("split_key and fold_in in traced functions give the keys of random_key") {
  constexpr auto keys = ebb::compile([](auto key, auto step) {
    const auto [a, b] = ebb::split_key<2>(key);
    return std::tuple(a, b, ebb::fold_in(b, step), ebb::fold_in(key, 3), ebb::uniform<double, 5>(a));
  });
  const auto seed = [](ebb::random_key k) { return static_cast<std::int64_t>(k.seed()); };
  for (const std::int64_t from : {std::int64_t{0}, std::int64_t{-9}, std::numeric_limits<std::int64_t>::min()}) {
    const ebb::random_key key(from);
    const auto [a, b] = key.split<2>();
    const auto [x, y, folded, third, drawn] = keys(traced_key(from), ebb::tensor<int>(-17));
    CHECK(x == seed(a));
    CHECK(y == seed(b));
    CHECK(folded == seed(b.fold_in(-17)));
    CHECK(third == seed(key.fold_in(3)));
    CHECK(test::same_bits(drawn, ebb::uniform<double, 5>(a)));
  }
  const ebb::random_key key(1);
  CHECK(ebb::split_key<2>(key)[1] == key.split<2>()[1]);
  CHECK(ebb::fold_in(key, 3) == key.fold_in(3));
}

TEST_CASE("random numbers by parameters have their first and second derivatives, on the tape too") {
  // z does not depend on the parameters: d/dmean is 1, d/ddeviation is z, and so on; the sum of squares bends by 2, 2 z, 2 z^2.
  const auto squares = [](auto mean, auto deviation, auto key) { return ebb::sum(ebb::square(ebb::normal<double>(key, mean, deviation))); };
  const ebb::tensor<double, dyn> mean{1, -2, 0.5};
  const ebb::tensor<double, dyn> deviation{0.5, 0, 3};
  const traced_key key(4);
  const auto z = ebb::normal<double, 3>(4);
  const auto [dm, ds] = ebb::grad<0, 1>(squares)(mean, deviation, key);
  const auto [mm, ss] = ebb::grad<0, 1>([](auto m, auto s, auto k) {
    const auto [a, b] =
        ebb::grad<0, 1>([](auto m1, auto s1, auto k1) { return ebb::sum(ebb::square(ebb::normal<double>(k1, m1, s1))); })(m, s, k);
    return ebb::sum(a) + 3 * ebb::sum(b);
  })(mean, deviation, key);
  for (int i = 0; i < 3; ++i) {
    const long double value = static_cast<long double>(mean(i)) + static_cast<long double>(deviation(i)) * z(i);
    CHECK(std::fabs(dm(i) - 2 * value) <= 1e-14L);
    CHECK(std::fabs(ds(i) - 2 * value * z(i)) <= 1e-14L);
    CHECK(std::fabs(mm(i) - (2 + 6 * static_cast<long double>(z(i)))) <= 1e-14L);
    CHECK(std::fabs(ss(i) - (2 * static_cast<long double>(z(i)) + 6 * static_cast<long double>(z(i)) * z(i))) <= 1e-14L);
  }
  const auto u = ebb::uniform<float, 4>(4);
  const auto range = [](auto lo, auto hi, auto k) { return ebb::sum(ebb::uniform<float, 4>(k, lo, hi)); };
  const auto [dlo, dhi] = ebb::grad<0, 1>(range)(-1.0f, 3.0f, key);
  float sum = 0;
  for (int i = 0; i < 4; ++i) sum += u(i);
  CHECK(dhi == Approx(sum).epsilon(1e-6));
  CHECK(dlo == Approx(4 - sum).epsilon(1e-6));
  for (const bool captured : {false, true}) {
    ebb::variable m(mean), s(deviation);
    ebb::backward(squares(m, s, key), {.compiled_autograd = captured});
    CHECK(test::same_bits(m.grad().value(), dm));
    CHECK(test::same_bits(s.grad().value(), ds));
  }
}

TEST_CASE("random numbers in map: rows with keys of their own, rows that share one, and keys split in each row; empty ranges give lo") {
  const ebb::tensor<std::int64_t, dyn> keys{4, 5, 6};
  const auto drawn = [](auto key) { return ebb::uniform<float, 7>(key); };
  const auto own = ebb::map(drawn, keys);
  const auto split = ebb::map([](auto key) { return ebb::split_key<2>(key)[1]; }, keys);
  const auto shared =
      ebb::map([](auto x, auto key) { return x + ebb::uniform<double>(key, x - x, x / x); }, keys + 0.0, ebb::whole(traced_key(5)));
  for (int i = 0; i < 3; ++i) {
    const auto row = ebb::uniform<float, 7>(4 + i);
    for (int j = 0; j < 7; ++j) CHECK(own(i, j) == row(j));
    CHECK(split(i) == static_cast<std::int64_t>(ebb::random_key(4 + i).split<2>()[1].seed()));
    CHECK(shared(i) - (4 + i) == Approx(ebb::uniform<double>(5)).epsilon(1e-12));
  }
  const traced_key key(3);
  CHECK(ebb::all_equal(ebb::uniform<float, 5>(key, 2.0f, 2.0f), ebb::tensor<float, 5>::full(2)));
  CHECK(ebb::all_equal(ebb::uniform<float, 5>(key, 2.0f, -1.0f), ebb::tensor<float, 5>::full(2)));
  CHECK(std::isnan(ebb::normal<double>(key, std::numeric_limits<double>::quiet_NaN(), 1.0)));
}

}  // namespace

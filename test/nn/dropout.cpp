// test/nn/dropout.cpp — dropout: the elements that bernoulli marks, p = 0 and 1, infinities, derivatives, keys in maps, errors.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"
#include "../random_array.hpp"
#include "../same_bits.hpp"

#include <ebb/ebb.hpp>
#include <ebb/nn.hpp>

#include <cmath>

namespace {

using ebb::dyn;
using dropped_row = ebb::tensor<float, dyn>;
using dropout_key = ebb::tensor<std::int64_t>;
constexpr auto drop = [](auto x, auto p, auto key) { return ebb::dropout(x, p, key); };

TEST_CASE("dropout drops what bernoulli marks, and divides the rest by 1 - p") {
  const auto x = test::random_array<dropped_row>(1, 1001);
  for (const std::int64_t key : {std::int64_t{0}, std::int64_t{77}, std::int64_t{-3}, std::int64_t{0x7edc'ba98'7654'3210}})
    for (const float p : {-1.0f, 0.0f, 0.25f, 0.9f, 1.0f}) {
      INFO("key " << key << ", p " << p);
      const auto y = drop(x, ebb::tensor<float>(p), dropout_key(key));
      const auto marked = ebb::bernoulli<dyn>(key, 1001, std::max(p, 0.0f));
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < 1001; ++i) {
        const float want = marked.data()[i] ? 0.0f : x.data()[i] * static_cast<float>(1 / (1 - std::max<double>(p, 0)));
        wrong += !(y.data()[i] == want);
      }
      CHECK(wrong == 0);
    }
  const auto fixed = ebb::dropout(ebb::tensor<double, 2, 3>::full(5), 0.5, dropout_key(9));
  const auto marked = ebb::bernoulli<2, 3>(9, 0.5);
  for (std::size_t i = 0; i < 6; ++i) CHECK(fixed.data()[i] == (marked.data()[i] ? 0 : 10));
}

TEST_CASE("dropout at infinities, NaN, no elements, narrow floats and integers") {
  dropped_row x(64);
  for (std::size_t i = 0; i < 64; ++i) x.mutable_data()[i] = i % 2 ? HUGE_VALF : NAN;
  const auto y = drop(x, ebb::tensor<float>(0.5f), dropout_key(5));
  const auto marked = ebb::bernoulli<dyn>(5, 64, 0.5);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < 64; ++i) {
    kept += !marked.data()[i];
    CHECK((marked.data()[i] ? y.data()[i] == 0 : !std::isfinite(y.data()[i])));
  }
  CHECK((kept > 16 && kept < 48));
  CHECK(drop(dropped_row(0), ebb::tensor<float>(0.5f), dropout_key(5)).size() == 0);
  const auto low = ebb::dropout(ebb::tensor<ebb::bf16, 40>::full(ebb::bf16(3.0f)), 0.25, dropout_key(2));
  const auto out = ebb::bernoulli<40>(2, 0.25);
  for (std::size_t i = 0; i < 40; ++i) CHECK(static_cast<float>(low.data()[i]) == (out.data()[i] ? 0 : 4));
  const auto of_integers = ebb::dropout(ebb::tensor<std::int32_t, 4>{1, 2, 3, 4}, 0.0, dropout_key(2));
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(of_integers)>, ebb::tensor<float, 4>>);
  CHECK(of_integers.data()[3] == 4);
}

constexpr auto sum_of_squares_kept = [](auto a, auto key) { return ebb::sum(ebb::square(ebb::dropout(a, 0.2, key))); };

TEST_CASE("dropout has the gradient g / (1 - p) where it keeps, and its second derivative; the tape gives the same") {
  const auto x = test::random_array<dropped_row>(3, 50);
  const auto g = ebb::grad(sum_of_squares_kept)(x, dropout_key(8));
  const auto marked = ebb::bernoulli<dyn>(8, 50, 0.2f);
  for (std::size_t i = 0; i < 50; ++i) {
    const long double scale = 1 / (1 - static_cast<long double>(0.2f));
    CHECK(std::fabs(g.data()[i] - (marked.data()[i] ? 0 : 2 * scale * scale * x.data()[i])) <= 1e-6L);
  }
  const auto second = ebb::grad([](auto a, auto key) { return ebb::sum(ebb::grad(sum_of_squares_kept)(a, key) * a); })(x, dropout_key(8));
  for (std::size_t i = 0; i < 50; ++i) CHECK(second.data()[i] == Approx(2 * g.data()[i]).epsilon(1e-6));  // f is quadratic
  for (const bool captured : {false, true}) {
    ebb::variable v(x);
    ebb::backward(sum_of_squares_kept(v, dropout_key(8)), {.compiled_autograd = captured});
    CHECK(test::same_bits(v.grad().value(), g));
  }
}

constexpr auto squares_of_channels = [](auto a, auto key) { return ebb::sum(ebb::square(ebb::dropout_channels(a, 0.25, key))); };

TEST_CASE("dropout_channels drops the channels that bernoulli of [n, channels] marks, with their gradients, also in a map") {
  using images = ebb::tensor<float, dyn, dyn, dyn, dyn>;
  constexpr auto kept = [](auto a, auto key) { return ebb::dropout_channels(a, 0.25, key); };
  auto x = test::random_array<images>(4, 6, 7, 3, 2);
  x.mutable_data()[0] = HUGE_VALF, x.mutable_data()[1] = NAN;  // in a channel that is dropped
  const std::int64_t seed = [] {
    for (std::int64_t k = 0;; ++k)
      if (ebb::bernoulli<1>(k, 0.25).data()[0]) return k;
  }();
  const auto y = kept(x, dropout_key(seed)), slope = ebb::grad(squares_of_channels)(x, dropout_key(seed));
  const auto marked = ebb::bernoulli<dyn>(seed, 42, 0.25f);
  std::size_t dropped = 0;
  const float scale = static_cast<float>(1 / 0.75);
  for (std::size_t i = 0; i < 252; ++i) {
    INFO(i);
    const bool gone = marked.data()[i / 6];
    dropped += gone;
    CHECK(y.data()[i] == (gone ? 0.0f : x.data()[i] * scale));
    CHECK(slope.data()[i] == Approx(gone ? 0.0f : 2 * y.data()[i] * scale));
  }
  CHECK((dropped > 0 && dropped < 252));
  CHECK(kept(images(2, 3, 0, 4), dropout_key(1)).size() == 0);
  // Without further axes it is dropout. Rows of a map have keys of their own.
  const ebb::tensor<float, 3, 20> matrix = ebb::tensor<float, 3, 20>::full(3);
  CHECK(ebb::all_equal(kept(matrix, dropout_key(5)), ebb::dropout(matrix, 0.25, dropout_key(5))));
  const auto pairs = test::random_array<images>(5, 2, 6, 7, 3);
  const auto product = [](auto a, auto key) { return ebb::sum(ebb::grad(squares_of_channels)(a, key) * a); };
  const auto second = ebb::grad(product)(pairs, dropout_key(seed));
  for (std::size_t i = 0; i < 252; ++i) CHECK(second.data()[i] == Approx(marked.data()[i / 21] ? 0 : 4 * pairs.data()[i] / (0.75 * 0.75)));
  const auto rows = ebb::map(kept, pairs, ebb::tensor<std::int64_t, dyn>{seed, 8});
  const auto other = ebb::bernoulli<42>(8, 0.25);
  for (std::size_t i = 0; i < 126; ++i) {
    CHECK((rows.data()[i] == 0) == marked.data()[i / 3]);
    CHECK((rows.data()[126 + i] == 0) == other.data()[i / 3]);
  }
}

TEST_CASE("dropout in a map: rows with keys of their own, and rows that share a key") {
  const auto x = test::random_array<ebb::tensor<float, dyn, dyn>>(3, 3, 20);
  const ebb::tensor<std::int64_t, dyn> keys{4, 5, 6};
  const auto f = [](auto row, auto key) { return ebb::dropout(row, 0.5, key); };
  const auto own = ebb::map(f, x, keys), shared = ebb::map(f, x, ebb::whole(dropout_key(5)));
  for (std::size_t i = 0; i < 3; ++i) {
    const auto of_key = ebb::bernoulli<20>(static_cast<std::int64_t>(4 + i), 0.5), of_all = ebb::bernoulli<20>(5, 0.5);
    for (std::size_t j = 0; j < 20; ++j) {
      CHECK((own(i, j) == 0) == of_key.data()[j]);
      CHECK((shared(i, j) == 0) == of_all.data()[j]);
    }
  }
}

}  // namespace

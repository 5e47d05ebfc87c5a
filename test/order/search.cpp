// test/order/search.cpp — searchsorted, bucketize, bincount, histogram: recorded values, batches, dtypes, gradients by weights, errors.
// SPDX-License-Identifier: BSL-1.0
#include "../linalg/oracle.hpp"

#include "../random_array.hpp"

#include <ebb/functional.hpp>
#include <ebb/graph/valid.hpp>
#include <ebb/order.hpp>

namespace {

using ebb::dyn;

template <class... A, class F>
void places_as_recorded(const std::string& name, F) {
  const ebb::graph g = ebb::trace_of<F, A...>::make();
  REQUIRE_FALSE(ebb::first_error(g));
  golden::check_traced("ops2", name, "", g, {.value = 0, .grad = 0, .sign_is_open = true});
}

TEST_CASE("places among edges and counts in bins are PyTorch's") {
  using vector = ebb::term<double, dyn>;
  places_as_recorded<vector, vector>("searchsorted_right_0", [](auto e, auto v) { return ebb::searchsorted(e, v); });
  places_as_recorded<ebb::term<double, 5>, vector>("searchsorted_right_1",
                                                   [](auto e, auto v) { return ebb::searchsorted(e, v, ebb::after_equal); });
  places_as_recorded<vector, ebb::term<double, dyn, dyn>>("bucketize", [](auto e, auto v) { return ebb::bucketize(v, e); });
  using bins = ebb::term<std::int64_t, dyn>;
  places_as_recorded<bins, vector>("bincount_weights", [](auto i, auto w) { return ebb::bincount<6>(i, w); });
  places_as_recorded<bins>("bincount", [](auto i) { return ebb::bincount<6>(i); });
  places_as_recorded<vector>("histogram", [](auto x) { return ebb::histogram<4>(x, -1.0, 1.0); });
}

TEST_CASE("searches in batches, in long rows, in integers, with NaN among the edges") {
  const auto unsorted = test::random_array<ebb::tensor<float, 3, 100>>(1);
  const auto edges = std::get<0>(ebb::sort(unsorted));
  const auto v = test::random_array<ebb::tensor<float, 3, 20>>(2);
  const auto r = ebb::searchsorted(edges, v);
  for (std::size_t b = 0; b < 3; ++b)
    for (std::size_t i = 0; i < 20; ++i) {
      std::int64_t less = 0;
      for (std::size_t k = 0; k < 100; ++k) less += edges(b, k) < v(b, i);
      CHECK(r(b, i) == less);
    }
  const auto each = ebb::map([](auto e, auto x) { return ebb::searchsorted(e, x); }, edges, v);
  CHECK(ebb::all_equal(each, r));
  const auto shared = ebb::map([](auto x, auto e) { return ebb::searchsorted(e, x); }, v, ebb::whole(ebb::tensor<float, 2>{-0.5f, 0.5f}));
  CHECK(ebb::all_equal(shared, ebb::searchsorted(ebb::tensor<float, 2>{-0.5f, 0.5f}, v)));
  const ebb::tensor<std::int64_t, 3> large{-5, 0, (std::int64_t{1} << 60) + 1};
  const ebb::tensor<std::int64_t, 3> whole{(std::int64_t{1} << 60), (std::int64_t{1} << 60) + 1, -5};
  CHECK(ebb::all_equal(ebb::searchsorted(large, whole), ebb::tensor<std::int64_t, 3>{2, 2, 0}));
  CHECK(ebb::all_equal(ebb::searchsorted(large, whole, ebb::after_equal), ebb::tensor<std::int64_t, 3>{2, 3, 1}));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(ebb::all_equal(ebb::searchsorted(ebb::tensor<float, 3>{1, nan, nan}, ebb::tensor<float, 2>{nan, 2}),
                       ebb::tensor<std::int64_t, 2>{1, 1}));
  CHECK(ebb::searchsorted(ebb::tensor<float, dyn>(0), ebb::tensor<float, 2>{1, 2})(1) == 0);

  const auto places_of = []<class T>(std::type_identity<T>) {
    const ebb::tensor<T, 4> steps{static_cast<T>(1.f), static_cast<T>(2.f), static_cast<T>(2.f), static_cast<T>(3.f)};
    const ebb::tensor<T, 3> values{static_cast<T>(0.5f), static_cast<T>(2.f), static_cast<T>(4.f)};
    const auto before = ebb::searchsorted(steps, values), after = ebb::searchsorted(steps, values, ebb::after_equal);
    CHECK((before(0) == 0 && before(1) == 1 && before(2) == 4));
    CHECK((after(0) == 0 && after(1) == 3 && after(2) == 4));
  };
  places_of(std::type_identity<ebb::bfloat16>{});
  places_of(std::type_identity<ebb::float16>{});
  const auto truths = ebb::searchsorted(ebb::tensor<bool, 3>{false, true, true}, ebb::tensor<bool, 2>{false, true});
  CHECK((truths(0) == 0 && truths(1) == 1));
}

TEST_CASE("bins: weights of all dtypes, gradients by weights, bounds, elements outside, errors") {
  const ebb::tensor<int, 5> bins{1, 0, 1, 3, 1};
  const ebb::tensor<double, 5> w{1, 2, 4, 8, 16};
  CHECK(ebb::all_equal(ebb::bincount<4>(bins), ebb::tensor<std::int64_t, 4>{1, 3, 0, 1}));
  CHECK(ebb::all_equal(ebb::bincount<4>(bins, w), ebb::tensor<double, 4>{2, 21, 0, 8}));
  constexpr auto loss = [](auto i, auto u) { return ebb::sum(ebb::square(ebb::bincount<4>(i, u))); };
  CHECK(ebb::all_equal(ebb::grad<1>(loss)(bins, w), ebb::tensor<double, 5>{42, 4, 42, 16, 42}));
  CHECK(test::says(test::raised([&] { ebb::bincount<3>(bins); }), {"bincount", "is 3", "there are 3"}));
  CHECK(test::says(test::raised([&] { ebb::bincount<3>(ebb::tensor<int, dyn>{-1}); }), {"bincount", "is -1"}));
  const ebb::tensor<ebb::bf16, 300> ones = ebb::tensor<ebb::bf16, 300>::full(ebb::bf16(1.f));
  CHECK(ebb::bincount<1>(ebb::tensor<int, 300>(), ones)(0) == ebb::bf16(300.f));  // sums in bf16 would stay 256
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const ebb::tensor<float, 8> x{0, 0.5f, 0.9999999f, 1, nan, inf, -inf, -1e-7f};
  CHECK(ebb::all_equal(ebb::histogram<2>(x, 0, 1), ebb::tensor<std::int64_t, 2>{1, 3}));
  CHECK(ebb::all_equal(ebb::histogram<2>(x, 1.0f, 1.0f), ebb::tensor<std::int64_t, 2>{0, 1}));
  const ebb::tensor<float, 8> weights{1, 2, 4, 8, 16, 32, 64, 128};
  constexpr auto weighted = [](auto v, auto low, auto high, auto u) { return ebb::sum(ebb::square(ebb::histogram<2>(v, low, high, u))); };
  CHECK(weighted(x, 0.0f, 1.0f, weights) == 1 + 14 * 14);
  CHECK(ebb::all_equal(ebb::grad<3>(weighted)(x, 0.0f, 1.0f, weights), ebb::tensor<float, 8>{2, 28, 28, 28, 0, 0, 0, 0}));
  CHECK(ebb::all_equal(ebb::grad<0>(weighted)(x, 0.0f, 1.0f, weights), ebb::tensor<float, 8>{}));
}

TEST_CASE("sums of weights in bins and parts have the first and second derivatives of loops over the weights") {
  const auto check = [](const char* name, auto f, auto bin) {
    const auto of_cubes = [](auto x) { return ebb::square(decltype(f){}(x, x * x * x)); };
    const auto x = linalg_test::random_numbers(7, 6);
    const auto oracle = [&](const linalg_test::long_numbers& w) {
      linalg_test::long_numbers r(3);
      for (std::size_t i = 0; i < w.size(); ++i) r[bin(i, x[i])] += w[i] * w[i] * w[i];
      for (long double& e : r) e *= e;
      return r;
    };
    linalg_test::against_differences<ebb::term<double, 7>>(name, of_cubes, x, linalg_test::extents_of({7}), oracle, 1e-9L, 1e-5L);
    linalg_test::against_differences<ebb::term<double, dyn>>(name, of_cubes, x, linalg_test::extents_of({7}), oracle, 1e-9L, 1e-5L);
  };
  check("bincount", [](auto x, auto w) { return ebb::bincount<3>(ebb::iota<0>(x) % 3, w); }, [](std::size_t i, double) { return i % 3; });
  check("histogram", [](auto x, auto w) { return ebb::histogram<3>(x, -1, 1, w); },
        [](std::size_t, double x) { return static_cast<std::size_t>(x < -1 / 3.0 ? 0 : x < 1 / 3.0 ? 1 : 2); });
}

}  // namespace

// test/kernel/extremum_place.cpp — places of first extrema against plain code: ties, NaN, infinities, zeros, all axes, many lengths.
// SPDX-License-Identifier: BSL-1.0
// covers: op/extremum_place.hpp
#include "../build.hpp"
#include "../catch.hpp"
#include "../exec/run_random.hpp"

#include <ebb/ebb.hpp>
#include <ebb/exec/blocks.hpp>
#include <ebb/reductions.hpp>

#include <limits>
#include <tuple>
#include <vector>

namespace {

using ebb::dyn;

/// Elements with many ties, and NaN, infinities and both zeros if T has them; one in `special` of these.
template <class T>
std::vector<T> elements(std::size_t count, std::uint64_t seed, int special) {
  test::random r{seed * 31 + 7};
  std::vector<T> x;
  while (x.size() < count) {
    if constexpr (std::is_same_v<T, bool>) x.push_back(r.chance(2));
    else if constexpr (std::is_integral_v<T>) {
      const T ends[] = {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
      x.push_back(special > 0 && r.chance(special) ? ends[r.below(2)] : static_cast<T>(r.below(9) - 4));
    } else {
      constexpr float inf = std::numeric_limits<float>::infinity();
      constexpr float hard[] = {0.f, -0.f, inf, -inf, std::numeric_limits<float>::quiet_NaN()};
      x.push_back(static_cast<T>(special > 0 && r.chance(special) ? hard[r.below(5)] : static_cast<float>(r.below(17) - 8) / 4));
    }
  }
  return x;
}
template <class T>
using wide = std::conditional_t<std::is_arithmetic_v<T>, T, float>;

/// The place of the first NaN, else that of the first extremum.
template <bool Largest, class T>
std::int64_t plain_place(const std::vector<T>& x, std::size_t from, std::size_t n, std::size_t step) {
  std::size_t best = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto e = static_cast<wide<T>>(x[from + i * step]), most = static_cast<wide<T>>(x[from + best * step]);
    if (e != e) return static_cast<std::int64_t>(i);
    if (Largest ? e > most : e < most) best = i;
  }
  return static_cast<std::int64_t>(best);
}
template <bool Largest, class T>
std::vector<std::int64_t> plain_places(const std::vector<T>& x, std::size_t before, std::size_t n, std::size_t after) {
  std::vector<std::int64_t> r;
  for (std::size_t i = 0; i < before * after; ++i) r.push_back(plain_place<Largest>(x, i / after * n * after + i % after, n, after));
  return r;
}

template <class T>
void check_kernel() {
  CAPTURE(ebb::dtype_of<T>);
  const auto check = [](std::size_t before, std::size_t n, std::size_t after) {
    for (const int special : {0, 40, 3}) {
      const std::vector<T> x = elements<T>(before * n * after, before + 3 * n + 5 * after, special);
      const auto memory = std::make_unique<T[]>(x.size());  // of this size: a read beyond is seen by the sanitizers
      std::copy(x.begin(), x.end(), memory.get());
      std::vector<std::int64_t> least(before * after, -1), most = least;
      ebb::kernel::extremum_places<ebb::kernel::smallest_first>(memory.get(), before, n, after, least.data());
      ebb::kernel::extremum_places<ebb::kernel::largest_first>(memory.get(), before, n, after, most.data());
      CAPTURE(before, n, after, special);
      CHECK(least == plain_places<false>(x, before, n, after));
      CHECK(most == plain_places<true>(x, before, n, after));
    }
  };
  for (const std::size_t n : std::vector<std::size_t>{1, 2, 3, 7, 10, 15, 16, 17, 31, 33, 63, 64, 65, 100, 129, 1000})
    for (const std::size_t before : std::vector<std::size_t>{1, 2, 15, 16, 63, 64, 65, 131}) check(before, n, 1);
  for (const std::size_t n : std::vector<std::size_t>{1, 2, 9, 50})
    for (const std::size_t after : std::vector<std::size_t>{2, 3, 15, 16, 17, 33, 64, 127, 128, 129, 200, 263})
      check(n == 9 ? 3 : 1, n, after);
}

/// Both places of x, [before, n, after], by compiled functions, with the axis as a dynamic and as a static extent.
template <class T, std::size_t N>
void check_functions(std::size_t before, std::size_t after) {
  CAPTURE(N, before, after);
  const std::vector<T> x = elements<T>(before * N * after, 5 * N + after, 9);
  const auto least = plain_places<false>(x, before, N, after), most = plain_places<true>(x, before, N, after);
  constexpr auto both = ebb::compile([](auto y) {
    return std::tuple(ebb::argmin<1>(y), ebb::argmax<1>(y), ebb::min_with_index<1>(y), ebb::max_with_index<1>(y * 1));
  });
  const auto check = [&](const auto& y) {
    const auto [low, high, lowest, highest] = both(y);
    CHECK(std::vector(low.begin(), low.end()) == least);
    CHECK(std::vector(high.begin(), high.end()) == most);
    for (const auto& [pair, places] : {std::pair(&lowest, &least), std::pair(&highest, &most)}) {
      const auto& [values, at] = *pair;
      CHECK(std::vector(at.begin(), at.end()) == *places);
      for (std::size_t i = 0; i < before * after; ++i) {
        const T want = x[(i / after * N + static_cast<std::size_t>((*places)[i])) * after + i % after];
        CHECK(test::same_cell(ebb::dtype_of<T>, ebb::to_cell(values.data()[i]), ebb::to_cell(want)));
      }
    }
  };
  check(ebb::tensor<T, dyn, dyn, dyn>(ebb::view<const T, dyn, dyn, dyn>(x.data(), before, N, after)));
  check(ebb::tensor<T, dyn, N, dyn>(ebb::view<const T, dyn, N, dyn>(x.data(), before, after)));
}

/// The gradient of the values is 1 at their places.
template <class T, std::size_t N>
void check_gradient(std::size_t before, std::size_t after) {
  CAPTURE(N, before, after);
  const std::vector<T> x = elements<T>(before * N * after, 3 * N + after, 0);
  const auto least = plain_places<false>(x, before, N, after);
  constexpr auto weighted = [](auto y, auto w) { return ebb::sum(std::get<0>(ebb::min_with_index<1>(y)) * w); };
  const ebb::tensor<T, dyn, N, dyn> y(ebb::view<const T, dyn, N, dyn>(x.data(), before, after));
  const ebb::tensor<T, dyn, dyn> w(before, after);
  const auto weights = w + 3;
  const auto slope = ebb::grad(weighted)(y, weights);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t to = i / (N * after) * after + i % after, at = i / after % N;
    CHECK(slope.data()[i] == (least[to] == static_cast<std::int64_t>(at) ? T(3) : T(0)));
  }
}

}  // namespace

TEST_CASE("places of extrema are those of plain code, for all element types") {
  check_kernel<float>();
  check_kernel<double>();
  check_kernel<std::int32_t>();
  check_kernel<std::int64_t>();
  check_kernel<ebb::bfloat16>();
  check_kernel<ebb::float16>();
  check_kernel<bool>();
}

TEST_CASE("argmin, argmax and the values at their places, along each axis, of static and dynamic extents") {
  check_functions<float, 3>(50, 1);
  check_functions<float, 10>(1000, 1);
  check_functions<float, 33>(37, 1);
  check_functions<float, 300>(5, 1);
  check_functions<float, 7>(3, 20);
  check_functions<float, 4>(20, 3);
  check_functions<double, 3>(50, 1);
  check_functions<double, 10>(100, 1);
  check_functions<double, 65>(21, 1);
  check_functions<double, 9>(1, 130);
  check_gradient<float, 10>(40, 1);
  check_gradient<float, 5>(2, 7);
  check_gradient<double, 100>(3, 1);
  check_gradient<double, 3>(9, 2);
}

namespace {

/// Rows of matrices, and rows of rows: the batch that they are already becomes longer.
template <class T, std::size_t K>
void check_mapped_matrices() {
  ebb::tensor<T, dyn, dyn, K> x(5, 7);
  for (std::size_t i = 0; i < x.size(); ++i) x.mutable_data()[i] = static_cast<T>(static_cast<float>(i * 37 % 101));
  const auto want = ebb::argmin<2>(x);
  CHECK(ebb::all_equal(ebb::map([](auto m) { return ebb::argmin<1>(m); }, x), want));
  CHECK(ebb::all_equal(ebb::map([](auto m) { return ebb::map([](auto r) { return ebb::argmin(r); }, m); }, x), want));
  CHECK(ebb::all_equal(ebb::map([](auto m) { return ebb::argmin<1>(m + m); }, x), want));
  const auto [values, places] = ebb::map([](auto m) { return ebb::max_with_index<1>(m); }, x);
  CHECK(ebb::all_equal(places, ebb::argmax<2>(x)));
  CHECK(ebb::all_equal(values, std::get<0>(ebb::max_with_index<2>(x))));
}

}  // namespace

TEST_CASE("places in blocks of rows, in mapped functions and in constant expressions are the same") {
  const std::size_t rows = 20000;
  const std::vector<float> x = elements<float>(rows * 12, 1, 50);
  const ebb::tensor<float, dyn, dyn> y(ebb::view<const float, dyn, dyn>(x.data(), rows, 12));
  constexpr auto of_products = [](auto z) { return ebb::min_with_index<1>(z * z - z); };
  const auto [values, places] = ebb::compile(of_products)(y);
  const auto products = y * y - y;
  const auto want = plain_places<false>(std::vector(products.begin(), products.end()), rows, 12, 1);
  CHECK(std::vector(places.begin(), places.end()) == want);
  const auto mapped = ebb::map([](auto row) { return ebb::argmin<0>(row * row - row); }, y);
  CHECK(std::vector(mapped.begin(), mapped.end()) == want);
  check_mapped_matrices<float, 3>();
  check_mapped_matrices<float, 4>();
  check_mapped_matrices<double, 3>();
  check_mapped_matrices<std::int32_t, 3>();
  check_mapped_matrices<ebb::float16, 3>();
  check_mapped_matrices<ebb::bfloat16, 20>();
  const auto columns = ebb::map([](auto matrix) { return ebb::argmax<0>(matrix); }, ebb::tensor<float, 2, 9, 30>::ones());
  CHECK(ebb::all_equal(columns, ebb::tensor<std::int64_t, 2, 30>::zeros()));
  constexpr ebb::tensor<double, 2, 7> constant{{3, 1, 2, 1, 5, 5, 4}, {-1, -1, -1, -1, -1, -1, -1}};
  static_assert(ebb::argmin<1>(constant)(0) == 1 && ebb::argmax<1>(constant)(0) == 4 && ebb::argmin<1>(constant)(1) == 0);
  static_assert(ebb::argmax(constant) == 4 && ebb::argmax<0>(constant)(6) == 0);
}

TEST_CASE("programs from tables find the same places, and refuse axes without elements") {
  const ebb::graph g = test::build([](test::builder& b) {
    const auto x = b.in({test::n, test::m, 3});
    const auto low = ebb::emit_on<ebb::op::argmin>({1}, x * x);
    const auto high = ebb::emit_on<ebb::op::argmax>({0}, x);
    return b.returns(low, high, ebb::emit_on<ebb::op::argmin>({2}, x));
  });
  CHECK(test::error_text(g) == "");
  CHECK(ebb::to_string(g).find("argmin b by 1 : i64[n, 3]") != std::string::npos);
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const test::call c = test::random_call(g, seed, 3 + static_cast<std::size_t>(seed));
    const auto want = ebb::evaluate(g, c.arguments, c.symbols);
    ebb::block_program program(g, ebb::make_plan(g), 64);
    std::vector<float> x;
    for (const ebb::cell e : c.arguments[0]) x.push_back(ebb::from_cell<float>(e));
    std::vector<std::int64_t> to[3];
    void* results[3];
    for (int o = 0; o < 3; ++o) {
      to[o].resize(static_cast<std::size_t>(want[o].size()));
      results[o] = to[o].data();
    }
    void* arguments[] = {x.data()};
    program.run(arguments, results, c.symbols.data());
    for (int o = 0; o < 3; ++o)
      for (int i = 0; i < want[o].size(); ++i) CHECK(to[o][static_cast<std::size_t>(i)] == ebb::from_cell<std::int64_t>(want[o][i]));
  }
  CHECK(ebb::argmin<0>(ebb::tensor<float, dyn, dyn>(2, 0)).size() == 0);
  CHECK(test::says(test::raised([] { static_cast<void>(ebb::argmin<1>(ebb::tensor<float, dyn, dyn>(2, 0))); }),
                   {"ebb::argmin over no elements", "[2, 0]"}));
  CHECK(test::says(test::raised([] { static_cast<void>(ebb::max_with_index<0>(ebb::tensor<float, dyn, dyn>(0, 2))); }),
                   {"ebb::argmax over no elements", "[0, 2]"}));
}

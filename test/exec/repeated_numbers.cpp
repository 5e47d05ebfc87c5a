// test/exec/repeated_numbers.cpp — loops that read one number for each row: few are loaded before the row, others where they are used.
// SPDX-License-Identifier: BSL-1.0
// covers: kernel/nest_step.hpp
#include <ebb/functional.hpp>

#include "../catch.hpp"

#include <cstdint>
#include <cstring>

namespace {

using ebb::dyn;

template <class A>
A filled(std::size_t rows, std::size_t columns, int by) {
  using T = typename A::value_type;
  A a(rows, columns);
  for (std::size_t i = 0; i < a.size(); ++i) a.mutable_data()[i] = static_cast<T>(static_cast<int>(i * i) % 29 * by - 100) / T(3);
  return a;
}
template <class A>
A column(std::size_t rows, int by) {
  using T = typename A::value_type;
  A a(rows);
  for (std::size_t i = 0; i < rows; ++i) a.mutable_data()[i] = static_cast<T>(static_cast<int>(i) * by - 7) / T(2);
  return a;
}

}  // namespace

TEMPLATE_TEST_CASE("rows of all lengths see their own numbers, few and many, converted and not", "", float, double) {
  using matrix = ebb::tensor<TestType, dyn, dyn>;
  using numbers = ebb::tensor<TestType, dyn, 1>;
  using places = ebb::tensor<std::int64_t, dyn, 1>;
  const auto few = [](auto x, auto a, auto i) {
    using T = typename decltype(a)::value_type;
    return x * a + ebb::cast<T>(i);
  };
  const auto many = [](auto x, auto a, auto b, auto c, auto d, auto i) {
    using T = typename decltype(a)::value_type;
    return (((x * a + b) * c - d) * ebb::cast<T>(i) + a) * b;
  };
  for (const std::size_t rows : {0u, 1u, 2u, 5u})
    for (const std::size_t columns : {0u, 1u, 7u, 8u, 15u, 16u, 17u, 33u, 64u, 97u}) {
      const auto x = filled<matrix>(rows, columns, 3);
      const auto a = column<numbers>(rows, 1), b = column<numbers>(rows, 3), c = column<numbers>(rows, -2), d = column<numbers>(rows, 5);
      const auto i = column<places>(rows, 4);
      matrix y(rows, columns), z(rows, columns);
      ebb::compile(few)(ebb::into(y), x, a, i);
      ebb::compile(many)(ebb::into(z), x, a, b, c, d, i);
      std::size_t wrong = 0;
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t k = 0; k < columns; ++k) {
          const TestType at = static_cast<TestType>(i.data()[r]), e = x.data()[r * columns + k];
          const TestType first = e * a.data()[r] + at;
          const TestType second = (((e * a.data()[r] + b.data()[r]) * c.data()[r] - d.data()[r]) * at + a.data()[r]) * b.data()[r];
          wrong += std::memcmp(&first, y.data() + r * columns + k, sizeof first) != 0;
          wrong += std::memcmp(&second, z.data() + r * columns + k, sizeof second) != 0;
        }
      CAPTURE(rows, columns);
      REQUIRE(wrong == 0);
    }
}

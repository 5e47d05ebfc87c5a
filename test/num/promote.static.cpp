// test/num/promote.static.cpp — the dtype of an operation on two dtypes, for all pairs: the table of torch.promote_types.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/num/promote.hpp>

#include <cstdint>
#include <type_traits>

namespace {

using i32 = std::int32_t;
using i64 = std::int64_t;
using f16 = ebb::float16;
using b16 = ebb::bfloat16;

template <class A, class... B>
struct row {
  /// Whether the dtypes of A with each of B... are those of Expected..., in both orders.
  template <class... Expected>
  static constexpr bool is =
      (std::is_same_v<ebb::promoted<A, B>, Expected> && ...) && (std::is_same_v<ebb::promoted<B, A>, Expected> && ...);
};
template <class A>
using with_all = row<A, bool, i32, i64, f16, b16, float, double>;

//                                 bool    i32     i64     f16    b16    f32    f64
static_assert(with_all<bool>::is<  bool,   i32,    i64,    f16,   b16,   float, double>);
static_assert(with_all<i32>::is<   i32,    i32,    i64,    f16,   b16,   float, double>);
static_assert(with_all<i64>::is<   i64,    i64,    i64,    f16,   b16,   float, double>);
static_assert(with_all<f16>::is<   f16,    f16,    f16,    f16,   float, float, double>);
static_assert(with_all<b16>::is<   b16,    b16,    b16,    float, b16,   float, double>);
static_assert(with_all<float>::is< float,  float,  float,  float, float, float, double>);
static_assert(with_all<double>::is<double, double, double, double, double, double, double>);

/// Whether a number of type Number beside arrays of T... gives Expected...: it changes the kind of number, never the width.
template <class Number, class... Expected>
constexpr bool beside = []<class... T>(row<void, T...>*) {
  return (std::is_same_v<ebb::promoted_weak<T, Number>, Expected> && ...);
}(static_cast<row<void, bool, i32, i64, f16, b16, float, double>*>(nullptr));

static_assert(beside<bool,   bool,  i32,   i64,   f16, b16, float, double>);
static_assert(beside<int,    i64,   i32,   i64,   f16, b16, float, double>);
static_assert(beside<float,  float, float, float, f16, b16, float, double>);
static_assert(beside<double, float, float, float, f16, b16, float, double>);

}  // namespace

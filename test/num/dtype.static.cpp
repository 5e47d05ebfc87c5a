// test/num/dtype.static.cpp — dtypes as values, and narrow floats as constants.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/num/dtype.hpp>

using ebb::bfloat16, ebb::cell, ebb::dtype, ebb::float16;

static_assert(ebb::dtype_of<bool> == dtype::boolean && ebb::dtype_of<std::int64_t> == dtype::i64);
static_assert(ebb::dtype_of<bfloat16> == dtype::bf16 && ebb::dtype_of<float16> == dtype::f16);
static_assert(ebb::element<float16> && !ebb::element<char> && ebb::real_element<double> && !ebb::real_element<int>);
static_assert(ebb::size_of(dtype::boolean) == 1 && ebb::size_of(dtype::f16) == 2 && ebb::size_of(dtype::i64) == 8);
static_assert(ebb::name_of(dtype::bf16) == "bf16" && ebb::is_real(dtype::f16) && !ebb::is_real(dtype::i64));

constexpr bool same_size(dtype d) {
  return ebb::with_dtype(d, [](auto x) { return sizeof x; }) == ebb::size_of(d);
}
static_assert(same_size(dtype::boolean) && same_size(dtype::i32) && same_size(dtype::i64));
static_assert(same_size(dtype::f16) && same_size(dtype::bf16) && same_size(dtype::f32) && same_size(dtype::f64));

template <class T>
constexpr bool returns(T x) { return ebb::to_cell(ebb::from_cell<T>(ebb::to_cell(x))) == ebb::to_cell(x); }
static_assert(returns(true) && returns(-1) && returns(std::int64_t{-5}) && returns(1.5f) && returns(-0.));
static_assert(returns(bfloat16(3.f)) && returns(float16(-2.f)));
static_assert(ebb::to_cell(-1) == 0xffffffffu && ebb::to_cell(1.f) == 0x3f800000u && ebb::to_cell(true) == 1);

static_assert(bfloat16(1.f).bits == 0x3f80 && bfloat16(0x1.01p0f).bits == 0x3f80 && bfloat16(0x1.03p0f).bits == 0x3f82);
static_assert(float16(1.f).bits == 0x3c00 && float16(65519.f).bits == 0x7bff && float16(65520.f).bits == 0x7c00);
static_assert(float16(0x1p-25f).bits == 0 && float16(0x1.8p-25f).bits == 1);
static_assert(static_cast<float>(float16(0x1p-24f)) == 0x1p-24f && static_cast<float>(bfloat16(-0x1p-133f)) == -0x1p-133f);

// test/num/polynomial.static.cpp — Horner's rule, and the parts of ln 2.
// SPDX-License-Identifier: BSL-1.0
// covers: polynomial.hpp constant.hpp
#include <ebb/num/constant.hpp>
#include <ebb/num/polynomial.hpp>

namespace lane = ebb::lane;

constexpr double terms[] = {1, -2, 3, 0.5};
constexpr float one_term[] = {7};
static_assert(lane::horner(2., terms) == 1 - 4 + 12 + 4 && lane::horner(0., terms) == 1 && lane::horner(5.f, one_term) == 7);
constexpr double odd_count[] = {1, -2, 3, 0.5, -1};
static_assert(lane::horner_by_pairs(2., terms) == 13 && lane::horner_by_pairs(5.f, one_term) == 7);
static_assert(lane::horner_by_pairs(2., odd_count) == 13 - 16 && lane::horner_by_pairs(0., odd_count) == 1);

// Products of the upper part with exponents are exact: the upper part ends in as many zeros as an exponent has digits.
static_assert((lane::to_bits(lane::ln2<float>::high) & 0x1ff) == 0 && (lane::to_bits(lane::ln2<double>::high) & 0xfff) == 0);
static_assert(lane::ln2<float>::high + lane::ln2<float>::low == 0.693147181f);
static_assert(lane::ln2<double>::high + lane::ln2<double>::low == 0.69314718055994531);
static_assert(lane::ln2<float>::low > 0 && lane::ln2<double>::low > 0);

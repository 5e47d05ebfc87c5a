// test/random/random.static.cpp — known answers of the generator, and bits that may never change.
// SPDX-License-Identifier: BSL-1.0
// covers: random.hpp philox.hpp
#include <ebb/random/random.hpp>
#include <ebb/tensor/equal.hpp>

using namespace ebb;

namespace {

struct words {
  std::uint32_t word[4];
  friend constexpr bool operator==(const std::array<std::uint32_t, 4>& a, const words& b) {
    for (std::size_t i = 0; i < 4; ++i)
      if (a[i] != b.word[i]) return false;
    return true;
  }
};

// The philox4x32 10 lines of kat_vectors, a file of the authors' Random123.
static_assert(philox({0, 0, 0, 0}, {0, 0}) == words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
static_assert(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}) ==
              words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
static_assert(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
              words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});

// A 64-bit key and counter, low word first.
static_assert(random_key(0).block(0) == words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
static_assert(random_key(0x299f31d0a4093822).block(0x85a308d3243f6a88)[1] ==
              philox({0x243f6a88, 0x85a308d3, 0, 0}, {0xa4093822, 0x299f31d0})[1]);

// Keys.
static_assert(random_key(1).split<2>()[0] != random_key(1).split<2>()[1] && random_key(1).split<3>()[1] == random_key(1).split<2>()[1]);
static_assert(random_key(1).fold_in(0) != random_key(1).split<1>()[0] && random_key(1).fold_in(0) != random_key(2).fold_in(0));
static_assert(random_key(-1).seed() == 0xffffffffffffffff && random_key(5) == random_key(5L));

// Arrays computed by hand from the block above: fractions of 24 and 53 bits, and floor(bits * 10 / 2^64).
static_assert(ebb::all_equal(uniform<float, 2>(0), tensor<float, 2>{0x6627e8p-24f, 0xe169c5p-24f}));
static_assert(ebb::all_equal(uniform<double, 2>(0), tensor<double, 2>{static_cast<double>(0xe169c58d6627e8d5 >> 11) * 0x1p-53,
                                                                      static_cast<double>(0x9b00dbd8bc57ac4c >> 11) * 0x1p-53}));
static_assert(ebb::all_equal(uniform<bfloat16, 2>(0), tensor<bfloat16, 2>{bfloat16(0x66p-8f), bfloat16(0xe1p-8f)}));
static_assert(uniform<float16, 1>(0)(0) == float16(0x331p-11f));  // 0x6627e8d5 >> 21
static_assert(ebb::all_equal(uniform<std::int32_t, 2>(0, 0, 10), tensor<std::int32_t, 2>{8, 6}));
static_assert(ebb::all_equal(bernoulli<4>(0), tensor<bool, 4>{true, false, false, false}));

// A shorter array is the beginning of a longer one; an array of rank 0 is its first element.
static_assert(normal<float, 8>(3)(4) == normal<float, 5>(3)(4) && uniform<float>(0) == 0x6627e8p-24f);

}  // namespace

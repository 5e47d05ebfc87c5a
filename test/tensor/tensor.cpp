// test/tensor/tensor.cpp — values, sharing, heap blocks and errors of tensors; also layout, storage, cells and literal.
// SPDX-License-Identifier: BSL-1.0
// covers: tensor.hpp cells.hpp storage.hpp layout.hpp literal.hpp
#include <ebb/tensor/equal.hpp>
#include <ebb/tensor/tensor.hpp>

#include "../catch.hpp"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <new>
#include <numeric>
#include <thread>
#include <vector>

using namespace ebb;

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define COUNTED 0  // clang's sanitizer defines its own operator new, which cannot be replaced
#endif
#endif
#ifndef COUNTED
#define COUNTED 1
#endif

namespace {

bool aligned(const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 64 == 0; }
}  // namespace

#if COUNTED
static std::atomic<long> allocations{0};

template <class F>
static long allocations_in(F&& f) {
  ebb::keep_freed_memory(0);
  const long before = allocations;
  f();
  return allocations - before;
}

// Only tensor blocks use aligned allocation in this executable.
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  ++allocations;
  void* memory = std::aligned_alloc(static_cast<std::size_t>(alignment), bytes);
  if (!memory) std::abort();
  return memory;
}
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
#endif

TEST_CASE("a tensor with dynamic extents is zeros in aligned, padded memory") {
  const std::size_t n = 5;
  const tensor<float, dyn, 3> x(n);
  CHECK(x.shape() == std::array<std::size_t, 2>{5, 3});
  CHECK(x.size() == 15);
  CHECK(std::count(x.begin(), x.end(), 0.f) == 15);
  CHECK(aligned(x.data()));

  for (int count : {1, 15, 16, 17, 100}) {
    auto y = tensor<float, dyn>::full(1.f, count);
    CHECK(aligned(y.data()));
    CHECK(y.block().bytes() == 4 * static_cast<std::size_t>(count));
    const std::size_t padded = (static_cast<std::size_t>(count) + 15) / 16 * 16;
    for (std::size_t k = y.size(); k < padded; ++k) CHECK(y.data()[k] == 0);
    auto copy = y;
    copy.at(0) = 2;  // detached blocks are padded too
    for (std::size_t k = y.size(); k < padded; ++k) CHECK(copy.data()[k] == 0);
  }
  CHECK(tensor<float, dyn>().size() == 0);
  CHECK(ebb::all_equal(tensor<float, dyn>(), tensor<float, dyn>(0)));
  CHECK(tensor<double, dyn, 4>(0).shape() == std::array<std::size_t, 2>{0, 4});
}

TEST_CASE("tensors are made from lists, spans and generators") {
  const tensor<float, dyn, dyn> list{{1, 2}, {3, 4}, {5, 6}};
  CHECK(list.shape() == std::array<std::size_t, 2>{3, 2});
  CHECK(list(2, 1) == 6);
  const tensor<int, dyn> row{4, 5, 6};
  CHECK(row.size() == 3);
  CHECK(row(2) == 6);

  std::vector<float> numbers(12);
  std::iota(numbers.begin(), numbers.end(), 0.f);
  CHECK(tensor<float, dyn>(numbers).extent(0) == 12);
  CHECK(tensor<float, dyn, 3>(numbers).extent(0) == 4);  // the extent of the only dyn axis may be left out
  CHECK(tensor<float, dyn, dyn>(numbers, 2, 6)(1, 0) == 6);
  CHECK(tensor<float, 3, 4>(numbers)(2, 3) == 11);
  CHECK(ebb::all_equal(tensor<float, 3, 4>(numbers), tensor<float, 3, 4>::iota()));

  using matrix = tensor<double, dyn, 3>;
  CHECK(ebb::all_equal(matrix::zeros(2), matrix{{0, 0, 0}, {0, 0, 0}}));
  CHECK(ebb::all_equal(matrix::ones(1), matrix{{1, 1, 1}}));
  CHECK(ebb::all_equal(matrix::full(2.5, 1), matrix{{2.5, 2.5, 2.5}}));
  CHECK(ebb::all_equal(matrix::iota(2), matrix{{0, 1, 2}, {3, 4, 5}}));
  CHECK(ebb::all_equal(matrix::generate([](std::size_t i, std::size_t j) { return i == j ? 1 : 0; }, 3),
                       matrix{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}));
  CHECK(matrix::uninitialized(7).extent(0) == 7);

  CHECK(ebb::all_equal(arange(0, 5), tensor<int, dyn>{0, 1, 2, 3, 4}));
  CHECK(ebb::all_equal(arange(5, 0, -2), tensor<int, dyn>{5, 3, 1}));
  CHECK(ebb::all_equal(arange(1.0, 2.0, 0.25), tensor<double, dyn>{1, 1.25, 1.5, 1.75}));
  CHECK(ebb::all_equal(arange(0.f, 1.1f, 0.5f), tensor<float, dyn>{0, 0.5f, 1}));
  CHECK(arange(3, 3).size() == 0);
  CHECK(arange(3, 1).size() == 0);
  constexpr int most = std::numeric_limits<int>::max(), least = std::numeric_limits<int>::min();
  CHECK(ebb::all_equal(arange(least, most, most), tensor<int, dyn>{least, -1, most - 1}));
  CHECK(ebb::all_equal(arange(most, least, least), tensor<int, dyn>{most, -1}));
  constexpr std::int64_t far = std::numeric_limits<std::int64_t>::max();
  CHECK(ebb::all_equal(arange<std::int64_t>(-far, far, far), tensor<std::int64_t, dyn>{-far, 0}));
}

TEST_CASE("copies share memory until one of them is written") {
  tensor<float, dyn> a{1, 2, 3};
  const tensor<float, dyn> kept = a;
  CHECK(a.is_shared());
  CHECK(a.use_count() == 2);
  CHECK(a.data() == kept.data());
  CHECK(a(1) == 2);
  CHECK(a.is_shared());  // reading does not copy

  a.at(1) = 20;
  CHECK_FALSE(a.is_shared());
  CHECK(a.data() != kept.data());
  CHECK(ebb::all_equal(kept, tensor<float, dyn>{1, 2, 3}));
  CHECK(ebb::all_equal(a, tensor<float, dyn>{1, 20, 3}));

  const float* own = a.data();
  a.mutable_data()[0] = 10;
  a.mutable_span()[2] = 30;
  a.mutable_view()(1) = 21;
  CHECK(a.data() == own);  // a sole owner writes in place
  CHECK(ebb::all_equal(a, tensor<float, dyn>{10, 21, 30}));

  a = kept;
  CHECK(a.data() == kept.data());
  a.mutable_view()(0) = 0;
  CHECK(kept(0) == 1);
}

TEST_CASE("a tensor survives self-assignment, moves, and assignment to a moved-from tensor") {
  tensor<float, dyn> a{1, 2, 3};
  auto& alias = a;
  a = alias;
  CHECK(ebb::all_equal(a, tensor<float, dyn>{1, 2, 3}));
  a = std::move(alias);
  CHECK(ebb::all_equal(a, tensor<float, dyn>{1, 2, 3}));
  CHECK_FALSE(a.is_shared());

  const float* data = a.data();
  tensor<float, dyn> b = std::move(a);
  CHECK(b.data() == data);
  CHECK(a.size() == 0);  // a moved-from tensor is empty
  CHECK(ebb::all_equal(a, tensor<float, dyn>()));
  CHECK(a.mutable_span().empty());
  a = b;
  CHECK(a.data() == data);
  a = std::move(b);
  CHECK(a.use_count() == 1);

  tensor<double, 300> big = tensor<double, 300>::iota(), stolen = std::move(big);
  CHECK(stolen(299) == 299);
  big = stolen;
  CHECK(ebb::all_equal(big, stolen));
  big.at(0) = -1;
  CHECK(stolen(0) == 0);

  tensor<int, 3> small{1, 2, 3}, copy = small;
  auto& same = small;
  small = same;
  copy.at(0) = 9;
  CHECK(small(0) == 1);
}

TEST_CASE("the static part of a shape can change while the elements stay shared") {
  const tensor<float, dyn, dyn> x{{1, 2}, {3, 4}, {5, 6}};
  const tensor<float, dyn, 2> half(x);
  CHECK(half.data() == x.data());
  const tensor<float, 3, 2> known(x);  // inline, so its elements are copied
  CHECK(ebb::all_equal(known, x));
  CHECK(ebb::all_equal(tensor<float, dyn, dyn>(known), x));
  const auto large = tensor<float, 30, 20>::iota();
  const tensor<float, dyn, 20> less(large);
  CHECK(less.data() == large.data());
  CHECK(ebb::all_equal(tensor<float, dyn, dyn>(view(x)), x));

  const tensor<float, dyn> whole(layout<dyn>(dynamic_extents<1>(6)), x.block());  // a block with another shape
  CHECK(whole.data() == x.data());
  CHECK(whole(5) == 6);
}

#if COUNTED
TEST_CASE("tensors allocate only for new heap blocks") {
  CHECK(allocations_in([] {
          tensor<float, 16, 16> a, b = a;
          a.at(3, 3) = 1;
          b = a;
          CHECK(b(3, 3) == 1);
          const auto* inside = reinterpret_cast<const char*>(a.data());
          CHECK(inside >= reinterpret_cast<const char*>(&a));
          CHECK(inside < reinterpret_cast<const char*>(&a + 1));
        }) == 0);
  CHECK(allocations_in([] { tensor<float, 17, 16> a; }) == 1);
  CHECK(allocations_in([] { tensor<float, dyn> a, b(0); }) == 0);
  CHECK(allocations_in([] {
          tensor<float, dyn> a(100), b = a, c = std::move(b);
          c = a;
        }) == 1);
  CHECK(allocations_in([] {
          tensor<float, dyn> a(100), b = a;
          for (int i = 0; i < 100; ++i) a.at(i) = b(i);
        }) == 2);
  CHECK(allocations_in([] { const auto a = tensor<float, dyn, 3>::generate([](std::size_t) { return 1; }, 50); }) == 1);
  CHECK(allocations_in([] { const auto a = tensor<float, dyn>(std::span<const float>(std::vector<float>(9))); }) == 1);
}
#endif

TEST_CASE("many threads copy, read, drop and detach one tensor") {
  const auto shared = tensor<std::int64_t, dyn>::iota(1000);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 300; ++i) {
        auto mine = shared;
        auto second = mine;
        if (second(999) != 999) ++wrong;
        mine.at(i) = -t - 1;
        if (mine(i) != -t - 1 || second(i) != i) ++wrong;
        second = std::move(mine);
      }
    });
  for (auto& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(shared.use_count() == 1);
  CHECK(ebb::all_equal(shared, tensor<std::int64_t, dyn>::iota(1000)));
}

TEST_CASE("the last two owners release a tensor in different threads") {
  for (int i = 0; i < 200; ++i) {
    tensor<int, dyn> a = tensor<int, dyn>::full(1, 64), b = a;
    std::thread other([mine = std::move(b)]() mutable { mine.at(0) = 2; });
    a.at(0) = 3;
    other.join();
    REQUIRE(a(0) == 3);
  }
}

TEST_CASE("all_equal compares shapes and values") {
  const tensor<float, dyn, dyn> a(2, 3), b(3, 2);
  CHECK_FALSE(ebb::all_equal(a, b));
  CHECK(!ebb::all_equal(a, b));
  CHECK(ebb::all_equal(a, tensor<float, 2, 3>()));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const tensor<float, dyn> c{1, nan}, shared = c;
  CHECK_FALSE(ebb::all_equal(c, shared));  // also if the elements are shared
  CHECK(ebb::all_equal(tensor<bfloat16, dyn>::iota(3), tensor<bfloat16, 3>::iota()));
}

TEST_CASE("the error for a bad argument names call, index and shape") {
  tensor<float, dyn, 64> x(10);
  const tensor<float, dyn> keep{1, 2, 3};
  CHECK(test::raised([&] { (void)x(10, 3); }) == "ebb::tensor::operator(): index [10, 3] is out of range for shape [10, 64]");
  CHECK(test::raised([&] { (void)x(-11, 3); }) == "ebb::tensor::operator(): index [-11, 3] is out of range for shape [10, 64]");
  CHECK(test::raised([&] { x.at(0, 64) = 1; }) == "ebb::tensor::at: index [0, 64] is out of range for shape [10, 64]");
  CHECK(test::raised([&] { (void)x.row(10); }) == "ebb::tensor::row: index [10] is out of range for shape [10]");
  CHECK(test::raised([] { tensor<float, 3> v{1, 2}; }) == "ebb::tensor: shape [2] was given for extents [3]");
  CHECK(test::raised([] { tensor<float, dyn, 2> v{{1, 2, 3}}; }) == "ebb::tensor: shape [1, 3] was given for extents [dyn, 2]");
  CHECK(test::raised([] { tensor<float, dyn, 2> v{{1, 2}, {1}}; }) == "ebb::tensor: ragged list: 1 items stand beside 2");
  CHECK(test::raised([] { tensor<float, 2, 2> v{1, 2, 3}; }) == "ebb::tensor: 3 elements were given for shape [2, 2]");
  CHECK(test::raised([&] { tensor<float, dyn, 2> v(keep.span()); }) == "ebb::tensor: 3 elements were given for shape [1, 2]");
  CHECK(test::raised([&] { tensor<float, dyn, dyn> v(keep.span(), 2, 2); }) == "ebb::tensor: 3 elements were given for shape [2, 2]");
  CHECK(test::raised([&] { tensor<float, 4> v(keep); }) == "ebb::tensor: shape [3] was given for extents [4]");
  CHECK(test::raised([&] { tensor<float, dyn> v(layout<dyn>(dynamic_extents<1>(4)), keep.block()); }) ==
        "ebb::tensor: 3 elements were given for shape [4]");
  CHECK(test::raised([] { tensor<float, dyn, dyn> v(2, -3); }) == "ebb::tensor: negative extent in [2, -3]");
  CHECK(test::raised([] { tensor<float, 4, dyn>::full(1, -1); }) == "ebb::tensor: negative extent in [4, -1]");
  CHECK(test::raised([] { view<const float, dyn, 3>(nullptr, -1); }) == "ebb::view: negative extent in [-1, 3]");
  CHECK(test::raised([] { layout<dyn>(-1); }) == "ebb::layout: negative extent in [-1]");
  CHECK(test::raised([] { tensor<float, dyn, dyn> v(std::size_t{1} << 40, std::size_t{1} << 40); }) ==
        "ebb::tensor: shape [1099511627776, 1099511627776] is too large");
  CHECK(test::raised([] { arange(1, 2, 0); }) == "ebb::arange: no numbers from 1 to 2 by 0");
  CHECK(test::says(test::raised([] { arange(0.0, 0.0, 0.0); }), {"ebb::arange: no numbers from 0 to 0 by 0"}));
  CHECK(test::says(test::raised([] { arange(0.0, 1e30); }), {"ebb::arange: no numbers from 0 to 1e+30 by 1"}));
  CHECK(test::says(test::raised([] { arange(0.f, std::numeric_limits<float>::infinity()); }), {"ebb::arange: no numbers", " to inf"}));
  CHECK(test::says(test::raised([] { arange(0.f, 1.f, std::numeric_limits<float>::quiet_NaN()); }), {"ebb::arange:", " by nan"}));
  CHECK(ebb::all_equal(x, tensor<float, dyn, 64>(10)));
}

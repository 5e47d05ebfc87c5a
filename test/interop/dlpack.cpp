// test/interop/dlpack.cpp — arrays from and for DLPack: nothing is copied, each deleter is called once, and what does not fit is refused.
// SPDX-License-Identifier: BSL-1.0
// covers: dlpack.hpp dlpack_abi.hpp
#include <ebb/ebb.hpp>
#include <ebb/interop/dlpack.hpp>

#include "../catch.hpp"

#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
#define TEST_DLPACK_H 1
#else
#define TEST_DLPACK_H 0
#endif

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

using ebb::dyn, ebb::tensor;

namespace {

/// The structs as C programs declare them, with enums.
namespace as_in_c {
enum device_type : int { host = 1, other_host = 3 };
struct device {
  as_in_c::device_type device_type;
  int device_id;
};
struct array {
  void* data;
  as_in_c::device device;
  int ndim;
  struct {
    unsigned char code, bits;
    unsigned short lanes;
  } dtype;
  std::int64_t *shape, *strides;
  std::uint64_t byte_offset;
};
struct legacy {
  array dl_tensor;
  void* manager_ctx;
  void (*deleter)(legacy* self);
};
}  // namespace as_in_c

/// An array of another library, which counts the calls of its deleter.
template <class T, class M = ebb::dlpack::managed_versioned>
struct foreign_array {
  std::vector<T> elements;
  std::vector<std::int64_t> shape, strides;
  int deleted = 0;
  M managed{};

  foreign_array(std::vector<T> e, std::vector<std::int64_t> n, std::vector<std::int64_t> s = {})
      : elements(std::move(e)), shape(std::move(n)), strides(std::move(s)) {
    using bits = std::conditional_t<std::is_same_v<T, std::uint8_t>, bool, T>;  // a vector of bools has no elements
    managed.dl_tensor = {elements.data(), {1, 0}, static_cast<std::int32_t>(shape.size()), ebb::dlpack::type_of(ebb::dtype_of<bits>),
                         shape.data(), strides.empty() ? nullptr : strides.data(), 0};
    managed.manager_ctx = this;
    managed.deleter = [](M* m) { ++static_cast<foreign_array*>(m->manager_ctx)->deleted; };
    if constexpr (ebb::dlpack::versioned_like<M>) managed.version = {1, 1};
  }
  foreign_array(foreign_array&&) = delete;
};

foreign_array<double> twelve(std::vector<std::int64_t> shape, std::vector<std::int64_t> strides = {}) {
  return {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, std::move(shape), std::move(strides)};
}

constexpr auto dlpack_loss = [](auto x, auto w) { return ebb::sum(ebb::tanh(ebb::matmul(x, w))); };

}  // namespace

TEST_CASE("the structs are those of DLPack's C header") {
  namespace dl = ebb::dlpack;
  CHECK(std::is_standard_layout_v<dl::managed>);
  CHECK(std::is_standard_layout_v<dl::managed_versioned>);
  CHECK(offsetof(dl::array, device) == sizeof(void*));
  CHECK(offsetof(dl::array, ndim) == sizeof(void*) + 8);
  CHECK(offsetof(dl::array, dtype) == sizeof(void*) + 12);
  CHECK(offsetof(dl::array, shape) == sizeof(void*) + 16);
  CHECK(offsetof(dl::array, byte_offset) == 3 * sizeof(void*) + 16);
  CHECK(offsetof(dl::managed, manager_ctx) == sizeof(dl::array));
  CHECK(offsetof(dl::managed_versioned, manager_ctx) == 8);
  CHECK(offsetof(dl::managed_versioned, flags) == 8 + 2 * sizeof(void*));
}

#if TEST_DLPACK_H
TEST_CASE("the structs of DLPack's own header are taken and made") {  // of Debian's libdlpack-dev, which has the legacy ones only
  static_assert(sizeof(DLTensor) == sizeof(ebb::dlpack::array) && sizeof(DLManagedTensor) == sizeof(ebb::dlpack::managed));
  static_assert(offsetof(DLTensor, byte_offset) == offsetof(ebb::dlpack::array, byte_offset));
  static_assert(offsetof(DLManagedTensor, deleter) == offsetof(ebb::dlpack::managed, deleter));
  DLManagedTensor* const m = ebb::to_dlpack<DLManagedTensor>(tensor<ebb::bfloat16, dyn>::iota(3));
  CHECK(m->dl_tensor.device.device_type == kDLCPU);
  CHECK(m->dl_tensor.dtype.code == kDLBfloat);
  CHECK(ebb::from_dlpack<const ebb::bfloat16, 3>(m).size() == 3);
}
#endif

TEST_CASE("a tensor that is moved into DLPack keeps its memory, and can be written there") {
  tensor<float, dyn, 3> x{{1, 2, 3}, {4, 5, 6}};
  const float* const at = x.data();
  ebb::dlpack::managed_versioned* const m = ebb::to_dlpack(std::move(x));
  CHECK(m->dl_tensor.data == at);
  CHECK(m->version.major == 1);
  CHECK(m->flags == 0);
  CHECK(m->dl_tensor.device.device_type == 1);
  CHECK(m->dl_tensor.ndim == 2);
  CHECK(std::tuple(m->dl_tensor.shape[0], m->dl_tensor.shape[1]) == std::tuple(2, 3));
  CHECK(std::tuple(m->dl_tensor.strides[0], m->dl_tensor.strides[1]) == std::tuple(3, 1));
  CHECK(std::tuple(m->dl_tensor.dtype.code, m->dl_tensor.dtype.bits, m->dl_tensor.dtype.lanes) == std::tuple(2, 32, 1));
  auto y = ebb::from_dlpack<float, dyn, dyn>(m);
  CHECK(y.origin() == at);
  y.view()(1, 2) = 7;
  CHECK(ebb::all_equal(y.to_tensor(), tensor<float, 2, 3>{{1, 2, 3}, {4, 5, 7}}));
}

TEST_CASE("a tensor that others share is read-only in DLPack, and keeps its value") {
  tensor<double, dyn> x{1, 2, 3};
  ebb::dlpack::managed_versioned* const m = ebb::to_dlpack(x);
  CHECK(m->flags == ebb::dlpack::read_only);
  CHECK(m->dl_tensor.data == x.data());
  CHECK(test::raised([&] { ebb::from_dlpack<double, dyn>(m); }) ==
        "ebb::from_dlpack: expected an array that can be written, found one that is read-only");
  const auto y = ebb::from_dlpack<const double, dyn>(m);
  x.at(0) = 9;  // has its own memory from now on
  CHECK(x(0) == 9);
  CHECK(y.view()(0) == 1);
  CHECK(x.use_count() == 1);

  const auto z = x;
  CHECK(test::raised([&] { ebb::to_dlpack<ebb::dlpack::managed>(x); }) ==
        "ebb::to_dlpack: 3 tensors share the elements of shape [3], and a legacy struct cannot say that they are read-only: "
        "move the only tensor, or make a dlpack::managed_versioned");
  CHECK(x.use_count() == 2);
  auto* const legacy = ebb::to_dlpack<ebb::dlpack::managed>(tensor<double, dyn>{4, 5});
  CHECK(ebb::from_dlpack<double, 2>(legacy).view()(1) == 5);
}

TEST_CASE("the elements live as long as DLPack's deleter is not called, in any thread") {
  const tensor<float, dyn> x = tensor<float, dyn>::iota(100);
  auto* const m = ebb::to_dlpack(x);
  CHECK(x.use_count() == 2);
  m->deleter(m);
  CHECK(x.use_count() == 1);
  auto* const n = ebb::to_dlpack(x);
  std::thread([n] { n->deleter(n); }).join();
  CHECK(x.use_count() == 1);
}

TEST_CASE("numbers, empty arrays, small static tensors and each dtype go to DLPack and back") {
  const auto back = [](auto x) {
    const auto check = [&]<class T, std::size_t... E>(const tensor<T, E...>& a) {
      auto y = ebb::from_dlpack<const T, E...>(ebb::to_dlpack(a));
      CHECK(y.shape() == a.shape());
      CHECK(y.in_rows());
      CHECK(ebb::same_bits(y.to_tensor(), a));
      const auto z = ebb::from_dlpack<T, E...>(ebb::to_dlpack<ebb::dlpack::managed>(tensor<T, E...>(ebb::view<const T, E...>(a))));
      CHECK(ebb::same_bits(z.to_tensor(), a));
    };
    check(x);
  };
  back(tensor<double>(2.5));
  back(tensor<float, 2, 2>{{1, 2}, {3, 4}});
  back(tensor<std::int32_t, dyn>{1, -2});
  back(tensor<std::int64_t, dyn, 1>{{1}, {-2}});
  back(tensor<bool, dyn>{true, false, true});
  back(tensor<ebb::float16, dyn>::iota(5));
  back(tensor<ebb::bfloat16, dyn>::iota(5));
  back(tensor<float, dyn, 3>(0));
  back(tensor<float, 3, dyn, dyn>(2, 0));
}

TEST_CASE("a view goes to DLPack with the owner of its elements") {
  const auto all = std::make_shared<std::vector<float>>(6, 1.0f);
  auto* const m = ebb::to_dlpack(ebb::view<float, dyn, 3>(all->data(), 2), all);
  auto* const n = ebb::to_dlpack(ebb::view<const float, dyn>(all->data() + 1, 5), all);
  CHECK(all.use_count() == 3);
  CHECK(m->flags == 0);
  CHECK(n->flags == ebb::dlpack::read_only);
  {
    auto x = ebb::from_dlpack<float, dyn, 3>(m);
    const auto y = ebb::from_dlpack<const float, 5>(n);
    CHECK(x.origin() == all->data());
    CHECK(y.origin() == all->data() + 1);
    x.view()(0, 1) = 4;
    CHECK(y.view()(0) == 4);
  }
  CHECK(all.use_count() == 1);
  auto* const l = ebb::to_dlpack<ebb::dlpack::managed>(ebb::view<float>(all->data()), all);
  CHECK(l->dl_tensor.ndim == 0);
  l->deleter(l);
  CHECK(all.use_count() == 1);
}

TEST_CASE("an array from DLPack is given back once") {
  auto a = twelve({3, 4}), b = twelve({12, 1});
  {
    auto x = ebb::from_dlpack<double, dyn, dyn>(&a.managed);
    auto y = std::move(x);
    CHECK(y.origin() == a.elements.data());
    CHECK(a.deleted == 0);
    y = ebb::from_dlpack<double, dyn, dyn>(&b.managed);
    CHECK(a.deleted == 1);
    CHECK(y.extent(0) == 12);
    auto& same = y;
    y = std::move(same);
    CHECK(b.deleted == 0);
    CHECK(y.origin() == b.elements.data());
  }
  CHECK(a.deleted == 1);
  CHECK(b.deleted == 1);
  a.managed.deleter = nullptr;
  { const auto x = ebb::from_dlpack<const double, 3, 4>(&a.managed); }
  CHECK(a.deleted == 1);
}

TEST_CASE("structs of DLPack that others declare are taken and made, too") {
  auto* const m = ebb::to_dlpack<as_in_c::legacy>(tensor<float, dyn>{1, 2, 3});
  CHECK(m->dl_tensor.device.device_type == as_in_c::host);
  CHECK(ebb::from_dlpack<const float, 3>(m).view()(2) == 3);
  foreign_array<float, ebb::dlpack::managed> legacy({1, 2}, {2});
  CHECK(ebb::from_dlpack<float, dyn>(&legacy.managed).view()(1) == 2);
  CHECK(legacy.deleted == 1);
}

TEST_CASE("a strided array from DLPack is an argument and a destination") {
  const tensor<double, 2, 3> x{{0.1, -0.2, 0.3}, {0.4, 0.5, -0.6}};
  const auto check = [&](std::vector<std::int64_t> strides, std::uint64_t offset, bool in_rows) {
    auto a = twelve({3, 2}, strides);
    for (double& e : a.elements) e = e / 8 - 0.5;
    a.managed.dl_tensor.byte_offset = offset * sizeof(double);
    tensor<double, 3, 2> w;
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t k = 0; k < 2; ++k)
        w.at(i, k) = a.elements[static_cast<std::size_t>(static_cast<std::int64_t>(offset) + static_cast<std::int64_t>(i) * strides[0] +
                                                         static_cast<std::int64_t>(k) * strides[1])];
    const auto [value, slope] = ebb::value_and_grad<1>(dlpack_loss)(x, w);
    const auto before = a.elements;
    {
      const auto y = ebb::from_dlpack<double, dyn, 2>(&a.managed);
      CHECK(y.in_rows() == in_rows);
      CHECK(ebb::all_equal(y.to_tensor(), w));
      const auto [same_value, same_slope] = ebb::value_and_grad<1>(dlpack_loss)(x, y);
      CHECK(same_value == value);
      CHECK(ebb::all_equal(same_slope, slope));
      double to = 0;
      ebb::value_and_grad<1>(dlpack_loss)(ebb::into(to, y), x, y);  // over the argument itself
      CHECK(to == value);
      CHECK(ebb::all_equal(y.to_tensor(), slope));
      if (!in_rows)
        CHECK(test::raised([&] { static_cast<void>(y.view()); }) ==
              "ebb::dlpack_array::view: expected elements in row-major order without gaps, found shape [3, 2] with strides [" +
                  std::to_string(strides[0]) + ", " + std::to_string(strides[1]) +
                  "]: calls take the array itself, and to_tensor() copies it");
    }
    std::size_t changed = 0;
    for (std::size_t i = 0; i < before.size(); ++i) changed += before[i] != a.elements[i];
    CHECK(changed == 6);  // and nothing between
    CHECK(a.deleted == 1);
  };
  check({2, 1}, 0, true);
  check({2, 1}, 3, true);
  check({1, 3}, 0, false);    // transposed
  check({4, 1}, 1, false);    // every second row
  check({-2, -1}, 11, false);  // backwards

  auto repeated = twelve({3, 2}, {0, 1});  // one row three times: to be read only
  CHECK(test::raised([&] { ebb::from_dlpack<double, 3, 2>(&repeated.managed); }) ==
        "ebb::from_dlpack: expected elements to be written in memory of their own, found shape [3, 2] with strides [0, 1]");
  CHECK(ebb::sum(ebb::from_dlpack<const double, 3, 2>(&repeated.managed)) == 3);
  CHECK(repeated.deleted == 1);
  auto overlapping = twelve({3, 3}, {2, 1});
  CHECK(test::raised([&] { ebb::from_dlpack<double, 3, 3>(&overlapping.managed); }).ends_with("found shape [3, 3] with strides [2, 1]"));
  auto one_row = twelve({1, 4, 1}, {0, 3, -7});  // strides of one element mean nothing
  one_row.managed.dl_tensor.data = one_row.elements.data() + 1;
  CHECK(ebb::all_equal(ebb::from_dlpack<double, 1, 4, 1>(&one_row.managed).to_tensor(), tensor<double, 1, 4, 1>{1, 4, 7, 10}));
}

TEST_CASE("what does not fit is refused with what was expected and what was found, and stays with the caller") {
  auto a = twelve({3, 4});
  auto& t = a.managed.dl_tensor;
  const auto says = [&](auto change, const std::string& text) {
    const auto before = a.managed;
    change();
    CHECK(test::raised([&] { ebb::from_dlpack<double, dyn, 4>(&a.managed, "mine: x"); }) == "mine: x: expected " + text);
    CHECK(a.deleted == 0);
    a.managed = before;
  };
  says([&] { t.dtype.bits = 32; }, "f64 of shape [dyn, 4], found f32 of shape [3, 4]");
  says([&] { t.dtype = {1, 8, 1}; }, "f64 of shape [dyn, 4], found u8 of shape [3, 4]");
  says([&] { t.dtype = {4, 16, 1}; }, "f64 of shape [dyn, 4], found bf16 of shape [3, 4]");
  says([&] { t.dtype = {5, 128, 1}; }, "f64 of shape [dyn, 4], found c128 of shape [3, 4]");
  says([&] { t.dtype = {6, 8, 1}; }, "f64 of shape [dyn, 4], found bool of shape [3, 4]");
  says([&] { t.dtype = {7, 8, 1}; }, "f64 of shape [dyn, 4], found f8_e3m4 of shape [3, 4]");  // the first and the last of the named ones
  says([&] { t.dtype = {10, 8, 1}; }, "f64 of shape [dyn, 4], found f8_e4m3fn of shape [3, 4]");
  says([&] { t.dtype = {17, 4, 2}; }, "f64 of shape [dyn, 4], found f4_e2m1fn in vectors of 2 of shape [3, 4]");
  says([&] { t.dtype = {18, 8, 1}; }, "f64 of shape [dyn, 4], found elements of 8 bits with code 18 of shape [3, 4]");
  says([&] { t.dtype.lanes = 4; }, "f64 of shape [dyn, 4], found f64 in vectors of 4 of shape [3, 4]");
  says([&] { t.ndim = 1; }, "f64 of shape [dyn, 4], found f64 of shape [3]");
  says([&] { t.shape[1] = 3; }, "f64 of shape [dyn, 4], found f64 of shape [3, 3]");
  t.shape[1] = 4;
  says([&] { t.device = {2, 1}; }, "memory of the CPU, found that of CUDA device 1");
  says([&] { t.device = {3, 0}; }, "memory of the CPU, found that of pinned CUDA device 0");
  says([&] { t.device = {77, 0}; }, "memory of the CPU, found that of type 77 device 0");
  says([&] { t.device = {-1, 0}; }, "memory of the CPU, found that of type -1 device 0");
  says([&] { t.byte_offset = 4; }, "elements aligned to 8 bytes, found an address 4 past such a boundary");
  says([&] { t.data = nullptr; }, "12 elements, found a null pointer");
  says([&] { t.shape = nullptr; }, "the extents of 2 axes, found a null pointer");
  says([&] { t.ndim = -1; }, "at most 8 axes, found -1");
  says([&] { t.ndim = 9; }, "at most 8 axes, found 9");
  says([&] { a.managed.version.major = 2; }, "version 1 of DLPack, found 2");
  says([&] { a.managed.flags = 1; }, "an array that can be written, found one that is read-only");
  const auto extents = [&](std::int64_t rows, const std::string& found) {
    says([&] { t.shape[0] = rows; }, "extents and strides of an array in memory, found " + found);
    t.shape[0] = 3;
  };
  extents(-1, "shape [-1, 4]");
  extents(std::int64_t{1} << 60, "shape [1152921504606846976, 4]");
  std::int64_t far[2] = {std::int64_t{1} << 61, 1};
  says([&] { t.strides = far; }, "extents and strides of an array in memory, found shape [3, 4] with strides [2305843009213693952, 1]");

  const auto nothing = static_cast<ebb::dlpack::managed*>(nullptr);
  CHECK(test::raised([&] { ebb::from_dlpack<float, 3>(nothing); }) == "ebb::from_dlpack: expected a DLPack tensor, found a null pointer");
  { const auto x = ebb::from_dlpack<double, dyn, 4>(&a.managed); }
  CHECK(a.deleted == 1);
}

TEST_CASE("an array from DLPack without elements may be null, and its strides mean nothing") {
  auto a = twelve({0, 4}, {std::int64_t{1} << 62, -3});
  a.managed.dl_tensor.data = nullptr;
  a.managed.dl_tensor.byte_offset = 5;
  const auto x = ebb::from_dlpack<double, dyn, 4>(&a.managed);
  CHECK(x.size() == 0);
  CHECK(x.in_rows());
  CHECK(x.view().data() == nullptr);
  CHECK(ebb::sum(x) == 0);
}

TEST_CASE("bools from DLPack are 0 or 1 where they are read") {
  foreign_array<std::uint8_t> bits({1, 0, 2, 1}, {2}, {3});
  CHECK(ebb::from_dlpack<const bool, 2>(&bits.managed).to_tensor()(1));  // the first and the last
  bits.strides[0] = 2;
  CHECK(test::raised([&] { ebb::from_dlpack<const bool, 2>(&bits.managed); }) ==
        "ebb::from_dlpack: expected bools that are 0 or 1, found one of the bits 2");
  const auto to = ebb::from_dlpack<bool, 2>(&bits.managed);  // what is written may be anything before
  const auto less = ebb::compile([](auto a, auto b) { return a < b; });
  less(ebb::into(to), tensor<float, 2>{1, 2}, tensor<float, 2>{2, 1});
  CHECK(bits.elements[0] == 1);
  CHECK(bits.elements[2] == 0);
}

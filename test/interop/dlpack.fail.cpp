// test/interop/dlpack.fail.cpp — calls that from_dlpack and to_dlpack refuse at compile time.
// SPDX-License-Identifier: BSL-1.0
// covers: dlpack.hpp
// ERRORS: 1
#include <ebb/ebb.hpp>
#include <ebb/interop/dlpack.hpp>

struct no_dlpack {
  int* data;
};

int main() {
  ebb::tensor<float, ebb::dyn> x{1, 2, 3};
  ebb::dlpack::managed_versioned* m = nullptr;
  [[maybe_unused]] no_dlpack* other = nullptr;
#if EBB_CASE == 0
  m = ebb::to_dlpack(x);
  const auto y = ebb::from_dlpack<const float, ebb::dyn>(m);
  return static_cast<int>(y.size());
#elif EBB_CASE == 1
  // EXPECT: E0350 from_dlpack, to_dlpack: a struct with the members of DLManagedTensor or DLManagedTensorVersioned
  [[maybe_unused]] const auto y = ebb::from_dlpack<const float, ebb::dyn>(other);  // LINE
#elif EBB_CASE == 2
  // EXPECT: E0350 from_dlpack, to_dlpack: a struct with the members of DLManagedTensor or DLManagedTensorVersioned
  other = ebb::to_dlpack<no_dlpack>(x);  // LINE
#elif EBB_CASE == 3
  // EXPECT: E0351 from_dlpack<T, extents...>: T is an element type, const if it is only read, with at most 8 extents
  [[maybe_unused]] const auto y = ebb::from_dlpack<unsigned, ebb::dyn>(m);  // LINE
#elif EBB_CASE == 4
  // EXPECT: E0351 from_dlpack<T, extents...>: T is an element type, const if it is only read, with at most 8 extents
  [[maybe_unused]] const auto y = ebb::from_dlpack<const float, 1, 1, 1, 1, 1, 1, 1, 1, 1>(m);  // LINE
#elif EBB_CASE == 5
  // EXPECT: E0352 to_dlpack: a legacy struct cannot say that an array is read-only: the view's elements are const
  [[maybe_unused]] const auto legacy = ebb::to_dlpack<ebb::dlpack::managed>(ebb::view(x), x);  // LINE
#elif EBB_CASE == 6
  // EXPECT: E0353 to_dlpack takes a tensor, or a view and the owner of its elements, which the receiver then keeps
  m = ebb::to_dlpack(x.mutable_view());  // LINE
#endif
  return m == nullptr;
}

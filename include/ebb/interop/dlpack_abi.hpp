// ebb/interop/dlpack_abi.hpp — the structs of DLPack, through which libraries in one process share arrays; and their dtypes as text.
// SPDX-License-Identifier: BSL-1.0
//
// [note: the structs of DLPack]
// https://dmlc.github.io/dlpack/latest/c_api.html defines an ABI of a few C structs. They are declared here, under names of ebb, so that
// ebb needs no header of DLPack. A program that includes <dlpack/dlpack.h> can use its structs: functions take any type that has the
// members of DLManagedTensor (a legacy tensor) or of DLManagedTensorVersioned (a versioned one). Both are in use: NumPy before 2.1 knows
// the first only, and only the second can say that an array is read-only.
//
// DLPack has no byte order: elements are always those of the machine.
#pragma once

#include "../num/dtype.hpp"
#include "../tensor/shape.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>

namespace ebb::inline EBB_ABI::dlpack {

struct device {
  std::int32_t device_type;
  std::int32_t device_id;
};
/// `code` is the kind of number, see code_of; an element is `lanes` numbers of `bits` bits.
struct data_type {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};
/// DLTensor: an array of any strides, in elements. Null strides mean row-major order without gaps.
struct array {
  void* data;
  dlpack::device device;
  std::int32_t ndim;
  data_type dtype;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;  // from data to the element at index 0
};
/// DLManagedTensor, in a Python capsule called "dltensor". The receiver calls the deleter, once and unless it is null.
struct managed {
  array dl_tensor;
  void* manager_ctx;
  void (*deleter)(managed* self);
};
struct version_pair {
  std::uint32_t major;
  std::uint32_t minor;
};
/// DLManagedTensorVersioned, in a Python capsule called "dltensor_versioned". With another major version, only the members before `flags`
/// are known.
struct managed_versioned {
  version_pair version;
  void* manager_ctx;
  void (*deleter)(managed_versioned* self);
  std::uint64_t flags;
  array dl_tensor;
};
static_assert(sizeof(data_type) == 4 && sizeof(device) == 8);
static_assert(sizeof(void*) != 8 || (sizeof(array) == 48 && sizeof(managed) == 64 && sizeof(managed_versioned) == 80));
static_assert(sizeof(void*) != 8 || offsetof(managed_versioned, dl_tensor) == 32);

inline constexpr std::int32_t cpu = 1;         // a device_type
inline constexpr std::uint64_t read_only = 1;  // a flag
inline constexpr version_pair written_version{1, 0};

inline constexpr std::uint8_t codes[] = {6, 0, 0, 2, 4, 2, 2};  // bool, int, int, float, bfloat, float, float
constexpr data_type type_of(dtype d) { return {codes[static_cast<int>(d)], static_cast<std::uint8_t>(8 * size_of(d)), 1}; }

/// M has the members of DLManagedTensor or of DLManagedTensorVersioned, whoever declares it.
template <class M>
concept managed_like = requires(M& m) {
  { m.dl_tensor.data } -> std::convertible_to<void*>;
  m.dl_tensor.device.device_type, m.dl_tensor.device.device_id;
  m.dl_tensor.dtype.code, m.dl_tensor.dtype.bits, m.dl_tensor.dtype.lanes;
  { m.dl_tensor.shape } -> std::convertible_to<const std::int64_t*>;
  { m.dl_tensor.strides } -> std::convertible_to<const std::int64_t*>;
  m.dl_tensor.ndim, m.dl_tensor.byte_offset;
  { m.manager_ctx } -> std::convertible_to<void*>;
  m.deleter(&m);
};
/// M can say that the array is read-only.
template <class M>
concept versioned_like = managed_like<M> && requires(M& m) { m.version.major, m.version.minor, m.flags; };

namespace detail {

/// A managed array of either ABI, for checks that are no templates.
struct description {
  array at{};
  std::uint64_t flags = 0;

  template <managed_like M>
  static description of(const M& m) {
    description d;
    const auto& t = m.dl_tensor;
    d.at = {t.data, {static_cast<std::int32_t>(t.device.device_type), t.device.device_id}, t.ndim,
            {t.dtype.code, t.dtype.bits, t.dtype.lanes}, t.shape, t.strides, t.byte_offset};
    if constexpr (versioned_like<M>) d.flags = m.flags;
    return d;
  }
};

/// "f32", or "u8", "c64", "f8_e4m3fn", "f32 in vectors of 4" for what ebb has no elements of.
EBB_COLD std::string text_of(data_type t) {
  constexpr const char* kinds[] = {"i", "u", "f", "opaque", "bf", "c"};  // and the bits
  constexpr const char* narrow[] = {"f8_e3m4", "f8_e4m3", "f8_e4m3b11fnuz", "f8_e4m3fn", "f8_e4m3fnuz", "f8_e5m2", "f8_e5m2fnuz",
                                    "f8_e8m0fnu", "f6_e2m3fn", "f6_e3m2fn", "f4_e2m1fn"};  // codes 7 and more
  const std::string bits = std::to_string(t.bits);
  std::string text = t.code == 6                      ? t.bits == 8 ? "bool" : "bool of " + bits + " bits"
                     : t.code < 6                     ? kinds[t.code] + bits
                     : t.code < 7 + std::size(narrow) ? std::string(narrow[t.code - 7])
                                                      : "elements of " + bits + " bits with code " + std::to_string(t.code);
  if (t.lanes != 1) text += " in vectors of " + std::to_string(t.lanes);
  return text;
}
EBB_COLD std::string text_of(device d) {
  constexpr const char* kinds[] = {"", "CPU", "CUDA", "pinned CUDA", "OpenCL", "", "", "Vulkan", "Metal", "VPI", "ROCm", "pinned ROCm",
                                   "", "managed CUDA", "oneAPI", "WebGPU", "Hexagon", "MAIA"};
  constexpr auto count = static_cast<std::int32_t>(sizeof kinds / sizeof *kinds);
  const bool known = d.device_type > 0 && d.device_type < count && *kinds[d.device_type];
  return (known ? std::string(kinds[d.device_type]) : "type " + std::to_string(d.device_type)) + " device " + std::to_string(d.device_id);
}

/// Whether no two elements are at the same place. Some arrays for which that is true are not recognized: those in which the axes cannot be
/// ordered so that each stride is longer than the reach of all axes before it.
EBB_ONCE bool elements_are_apart(int rank, const std::int64_t* shape, const std::ptrdiff_t* strides) {
  bool used[max_rank] = {};
  std::uint64_t reach = 0;  // of the elements of the axes before
  for (int round = 0; round < rank; ++round) {
    int next = -1;
    std::uint64_t step = 0;
    for (int i = 0; i < rank; ++i) {
      const auto size = strides[i] < 0 ? -static_cast<std::uint64_t>(strides[i]) : static_cast<std::uint64_t>(strides[i]);
      if (!used[i] && (next < 0 || size < step)) next = i, step = size;
    }
    used[next] = true;
    if (shape[next] < 2) continue;
    if (step <= reach) return false;
    reach += static_cast<std::uint64_t>(shape[next] - 1) * step;
  }
  return true;
}

}  // namespace detail

}  // namespace ebb::inline EBB_ABI::dlpack

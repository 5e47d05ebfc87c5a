// ebb/tensor/storage.hpp — a reference-counted block of aligned memory, shared by copies of a tensor.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../base/counted.hpp"
#include "../base/probe.hpp"

#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

namespace ebb::inline EBB_ABI {

namespace detail {
/// The size of an array of `bytes` bytes with its padding.
constexpr std::size_t padded_bytes(std::size_t bytes) { return (bytes + 63) / 64 * 64; }
}  // namespace detail

/// A handle to a block of bytes, aligned to 64 and padded with zeros to a multiple of 64, so that a vector load may pass the end.
/// Copying the handle shares the block. Several threads may copy and drop handles to one block at once; only a handle that is the only
/// owner may write the bytes. A block of no bytes has no memory: data() is null.
//
// Not std::shared_ptr: half the handle, one allocation, and no <memory>, which costs a tenth of a second to include.
class storage {
 public:
  static constexpr std::size_t alignment = 64;

  constexpr storage() noexcept = default;
  /// Uninitialized except for the padding.
  EBB_ONCE_CTOR explicit storage(std::size_t bytes) {
    if (bytes == 0) return;
    EBB_PROBE(if (probe_listener_here) probe_listener_here->allocated(bytes);)
    const std::size_t padded = detail::padded_bytes(bytes);
    void* memory = take_block(sizeof(header) + padded);
    data_ = reinterpret_cast<std::byte*>(::new (memory) header{owner_count(1), bytes} + 1);
    if (padded != bytes) std::memset(data_ + bytes, 0, padded - bytes);
  }
  EBB_INLINE storage(const storage& other) noexcept : data_(other.data_) {
    if (data_) head()->owners.add();
  }
  EBB_INLINE storage(storage&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  EBB_INLINE storage& operator=(const storage& other) noexcept {
    storage copy(other);
    std::swap(data_, copy.data_);
    return *this;
  }
  EBB_INLINE storage& operator=(storage&& other) noexcept {
    std::byte* const old = std::exchange(data_, nullptr);
    data_ = std::exchange(other.data_, nullptr);
    drop(old);
    return *this;
  }
  EBB_INLINE ~storage() { drop(data_); }

  std::byte* data() const noexcept { return data_; }
  std::size_t bytes() const noexcept { return data_ ? head()->bytes : 0; }
  /// The number of handles that share the block; 0 without one. The answer 1 holds until this handle is copied; others may be outdated.
  std::size_t use_count() const noexcept { return data_ ? head()->owners.value() : 0; }

  /// Makes this handle the only owner of its block, of a copy if necessary.
  EBB_ONCE void detach() {
    if (use_count() <= 1) return;
    storage copy(bytes());
    std::memcpy(copy.data_, data_, bytes());
    std::swap(data_, copy.data_);
  }

 private:
  struct alignas(alignment) header {
    owner_count owners;
    std::size_t bytes;
  };
  static header* head_of(std::byte* data) noexcept { return std::launder(reinterpret_cast<header*>(data) - 1); }
  header* head() const noexcept { return head_of(data_); }
  EBB_INLINE static void drop(std::byte* data) noexcept {
    if (!data) return;
    header* const h = head_of(data);
    if (h->owners.drop()) free(h);
  }
  // Out of line: a handle is destroyed in hundreds of places, and most often frees nothing. Inlined, this was a sixth of a region's code.
  [[gnu::noinline]] static void free(header* h) noexcept { give_block(h, sizeof(header) + detail::padded_bytes(h->bytes)); }

  std::byte* data_ = nullptr;  // the header is in the 64 bytes before
};

}  // namespace ebb::inline EBB_ABI

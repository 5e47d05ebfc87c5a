// ebb/io/mapped_file.hpp — the bytes of a file: mapped into memory on POSIX systems, read elsewhere.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "file.hpp"

#include "../base/config.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#if EBB_HAS_MMAP
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace ebb::inline EBB_ABI {

/// The bytes of a plain file, to be read. A mapped page is read from disk when it is first looked at: other pages cost nothing.
/// If another program shortens the file meanwhile, a look at bytes that are gone ends the program (SIGBUS). Writers that rename a complete
/// file, as ebb's do, are no danger: the old file stays as long as it is mapped.
class mapped_file {
 public:
  mapped_file() = default;
  EBB_COLD_CTOR explicit mapped_file(const std::string& path) { open(path); }
  mapped_file(mapped_file&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)), problem_(std::move(other.problem_)),
        read_(std::move(other.read_)) {}
  mapped_file& operator=(mapped_file&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(problem_, other.problem_);
    std::swap(read_, other.read_);
    return *this;
  }
  EBB_COLD_CTOR ~mapped_file() {
#if EBB_HAS_MMAP
    if (data_ && read_.empty()) ::munmap(const_cast<std::byte*>(data_), size_);
#endif
  }

  const std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  /// Why there are no bytes, or nothing.
  const std::string& problem() const { return problem_; }

 private:
#if EBB_HAS_MMAP
  EBB_COLD void open(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat is;
    if (file < 0 || ::fstat(file, &is) != 0) problem_ = std::strerror(errno);
    else if (!S_ISREG(is.st_mode)) problem_ = "expected a plain file";
    else if (is.st_size > 0) {
      void* const at = ::mmap(nullptr, static_cast<std::size_t>(is.st_size), PROT_READ, MAP_PRIVATE, file, 0);
      if (at == MAP_FAILED) problem_ = std::strerror(errno);
      else data_ = static_cast<const std::byte*>(at), size_ = static_cast<std::size_t>(is.st_size);
    }
    if (file >= 0) ::close(file);
  }
#else
  EBB_COLD void open(const std::string& path) {
    open_file file(path, "rb");
    if (!file) problem_ = std::strerror(errno);
    else {
      const std::size_t step = 1u << 20u;
      for (std::size_t got = step; got == step; size_ += got) {
        if (read_.size() - size_ < step) read_.resize(std::max(2 * read_.size(), step));
        got = file.read_some(read_.data() + size_, step);
      }
      if (file.failed()) problem_ = std::strerror(errno), size_ = 0;
      data_ = read_.data();
    }
  }
#endif

  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::string problem_;
  std::vector<std::byte> read_;
};

}  // namespace ebb::inline EBB_ABI

// ebb/io/file.hpp — files that close themselves, and new files that appear only when they are complete.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../base/config.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#if __has_include(<sys/stat.h>)
#include <sys/stat.h>
#endif

#if EBB_HAS_MMAP
#include <unistd.h>
#elif defined(_WIN32)
#include <io.h>
#endif

#if defined(_WIN32)  // declared as in <windows.h>, which would bring thousands of macros
extern "C" __declspec(dllimport) int __stdcall MoveFileExA(const char*, const char*, unsigned long);
#endif

namespace ebb::inline EBB_ABI {

/// An open file that closes itself.
class open_file {
 public:
  open_file(const std::string& path, const char* mode) : file_(std::fopen(path.c_str(), mode)) {}
  open_file(const open_file&) = delete;
  open_file& operator=(const open_file&) = delete;
  ~open_file() { close(); }
  explicit operator bool() const { return file_ != nullptr; }
  bool read(void* to, std::size_t bytes) { return bytes == 0 || std::fread(to, 1, bytes, file_) == bytes; }
  bool write(const void* from, std::size_t bytes) { return bytes == 0 || std::fwrite(from, 1, bytes, file_) == bytes; }
  /// Reads at most so many bytes. Returns how many; fewer at the end, or where reading failed.
  std::size_t read_some(void* to, std::size_t bytes) { return std::fread(to, 1, bytes, file_); }
  bool failed() const { return std::ferror(file_) != 0; }
  /// Waits until what was written is on the disk, where the system has a call for that and the file is on one.
  EBB_COLD bool sync() {
    if (std::fflush(file_) != 0) return false;
#if defined(_WIN32)
    return ::_commit(::_fileno(file_)) == 0;
#elif EBB_HAS_MMAP
    return ::fsync(::fileno(file_)) == 0 || errno == EINVAL || errno == ENOTSUP;  // a pipe, a device
#else
    return true;
#endif
  }
  bool close() { return !file_ || std::fclose(std::exchange(file_, nullptr)) == 0; }
  /// The number of bytes after the position; 0 if it cannot be determined, as for a directory.
  EBB_COLD std::size_t remaining() {
    const long here = std::ftell(file_);
    if (here < 0 || std::fseek(file_, 0, SEEK_END) != 0) return 0;
    const long end = std::ftell(file_);
    return std::fseek(file_, here, SEEK_SET) == 0 && end > here ? static_cast<std::size_t>(end - here) : 0;
  }

 private:
  std::FILE* file_;
};

/// Whether the path names an existing file that a new file must not replace: a device, a pipe, a link.
EBB_COLD bool is_no_plain_file([[maybe_unused]] const std::string& path) {
#if __has_include(<sys/stat.h>) && !defined(_WIN32)  // Windows has the header, but neither lstat nor such files
  struct stat is;
  return ::lstat(path.c_str(), &is) == 0 && !S_ISREG(is.st_mode);
#else
  return false;
#endif
}

/// Renames a complete file; an existing file of the new name is replaced in one step. Sets errno on failure.
EBB_COLD bool rename_file(const std::string& from, const std::string& to) {
#if defined(_WIN32)  // std::rename replaces no existing file here
  constexpr unsigned long replace_existing = 1, write_through = 8;
  if (MoveFileExA(from.c_str(), to.c_str(), replace_existing | write_through) != 0) return true;
  errno = EACCES;
  return false;
#else
  return std::rename(from.c_str(), to.c_str()) == 0;
#endif
}

/// Writes a file: put(file) writes the contents and returns whether that succeeded. The file appears under its name only when it is
/// complete: it is written as `<path>.part` and then renamed. A device, a pipe and the target of a link are written in place.
/// Returns the system's message on failure, else an empty text. After a failure an existing file is unchanged.
template <class Put>
std::string write_file(const std::string& path, Put put) {
  const bool in_place = is_no_plain_file(path);
  const std::string part = in_place ? path : path + ".part";
  open_file file(part, "wb");
  if (file && put(file) && file.close() && (in_place || rename_file(part, path))) return {};
  std::string problem = std::strerror(errno);
  file.close();
  if (!in_place) std::remove(part.c_str());
  return problem;
}

}  // namespace ebb::inline EBB_ABI

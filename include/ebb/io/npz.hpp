// ebb/io/npz.hpp — .npz files, NumPy's archives of arrays: read, packed or not.
// SPDX-License-Identifier: BSL-1.0
//
// Not in ebb.hpp: programs that read no archives need not compile it.
//   const ebb::npz file("arrays.npz");              // of numpy.savez or numpy.savez_compressed
//   const auto w = file.load<float, ebb::dyn, 64>("w");
// An archive is a ZIP file whose members are .npy files. It may come from anywhere: each length and offset in its directory is checked.
// Source: PKWARE, .ZIP File Format Specification (APPNOTE), sections 4.3 to 4.5. Archives of more than one disk, encrypted members, and
// directories beyond 4 GB or 65,534 members are refused.
#pragma once

#include "inflate.hpp"
#include "mapped_file.hpp"
#include "npy.hpp"
#include "safetensors_header.hpp"

#include "../base/error.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ebb::inline EBB_ABI {

namespace detail {

/// Bytes in memory, read as an open_file is.
class memory_reader {
 public:
  explicit memory_reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  bool read(void* to, std::size_t bytes) {
    if (bytes > bytes_.size()) return false;
    if (bytes) std::memcpy(to, bytes_.data(), bytes);
    bytes_ = bytes_.subspan(bytes);
    return true;
  }
  std::size_t remaining() const { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
};

/// A member of a ZIP file: its name, and its packed bytes.
struct zip_member {
  std::string name;
  std::uint16_t method = 0;
  std::uint32_t crc = 0;
  std::uint64_t packed = 0, unpacked = 0, header = 0;
  std::span<const std::byte> bytes;
};

/// The members of a ZIP file in memory.
class zip_directory {
 public:
  /// Nothing, or what is wrong.
  EBB_COLD std::string read(std::span<const std::byte> file, std::vector<zip_member>& to) {
    file_ = file;
    constexpr std::size_t end_bytes = 22;
    if (file.size() < end_bytes) return "expected a .npz file, found one of " + std::to_string(file.size()) + " bytes";
    std::size_t end = file.size() - end_bytes;  // in front of a comment of up to 65,535 bytes
    const std::size_t first = end - std::min<std::size_t>(end, 0xffff);
    while (end > first && (number<4>(end) != 0x06054b50 || end + end_bytes + number<2>(end + 20) != file.size())) --end;
    if (number<4>(end) != 0x06054b50 || end + end_bytes + number<2>(end + 20) != file.size())
      return "expected a .npz file, found no directory of a ZIP file at its end";
    const std::uint64_t count = number<2>(end + 10), bytes = number<4>(end + 12), begin = number<4>(end + 16);
    if (number<2>(end + 4) != 0 || number<2>(end + 6) != 0 || number<2>(end + 8) != count) return "the archive has several disks";
    if (count == 0xffff || bytes == 0xffffffff || begin == 0xffffffff) return "the directory is of more than 4 GB or 65,534 members";
    if (begin > end || bytes != end - begin) return "the directory is not in front of its end";

    std::size_t at = static_cast<std::size_t>(begin);
    for (std::uint64_t i = 0; i < count; ++i) {
      zip_member m;
      if (std::string problem = entry(at, end, m); !problem.empty()) return problem;
      to.push_back(std::move(m));
    }
    if (at != end) return "the directory has more bytes than members";
    std::sort(to.begin(), to.end(), [](const zip_member& a, const zip_member& b) { return a.bytes.data() < b.bytes.data(); });
    for (std::size_t i = 1; i < to.size(); ++i)  // else a file of some kilobytes could unpack to terabytes
      if (to[i - 1].bytes.data() + to[i - 1].bytes.size() > to[i].bytes.data()) return json_text(to[i].name) + " overlaps another member";
    std::sort(to.begin(), to.end(), [](const zip_member& a, const zip_member& b) { return a.name < b.name; });
    for (std::size_t i = 1; i < to.size(); ++i)
      if (to[i - 1].name == to[i].name) return json_text(to[i].name) + " is there twice";
    return {};
  }

 private:
  /// A number of so many bytes, which are there.
  template <int Bytes>
  std::uint64_t number(std::size_t at) const {
    std::uint64_t n = 0;
    std::memcpy(&n, file_.data() + at, Bytes);
    return n;
  }
  std::string text(std::size_t at, std::size_t bytes) const { return {reinterpret_cast<const char*>(file_.data()) + at, bytes}; }

  EBB_COLD std::string entry(std::size_t& at, std::size_t end, zip_member& m) const {
    if (end - at < 46 || number<4>(at) != 0x02014b50) return "the directory is damaged";
    const std::size_t name = number<2>(at + 28), extra = number<2>(at + 30), comment = number<2>(at + 32);
    if (end - at - 46 < name + extra + comment) return "the directory is damaged";
    m.name = text(at + 46, name);
    const std::string who = json_text(m.name);
    if (number<2>(at + 8) & 1) return who + " is encrypted";
    m.method = static_cast<std::uint16_t>(number<2>(at + 10));
    m.crc = static_cast<std::uint32_t>(number<4>(at + 16));
    m.packed = number<4>(at + 20);
    m.unpacked = number<4>(at + 24);
    m.header = number<4>(at + 42);
    if (!wide_sizes(at + 46 + name, extra, m)) return who + " has no sizes";
    at += 46 + name + extra + comment;

    if (m.header > file_.size() || file_.size() - m.header < 30) return who + " is outside of the file";
    const auto here = static_cast<std::size_t>(m.header);
    if (number<4>(here) != 0x04034b50) return who + " is not where the directory says";
    const std::uint64_t start = m.header + 30 + number<2>(here + 26) + number<2>(here + 28);
    if (start > file_.size() || m.packed > file_.size() - start) return who + " is outside of the file";
    if (number<2>(here + 26) != name || text(here + 30, name) != m.name) return who + " has another name in the directory";
    m.bytes = file_.subspan(static_cast<std::size_t>(start), static_cast<std::size_t>(m.packed));
    return {};
  }
  /// Sizes and offsets that do not fit four bytes are in the extra field 1, in this order.
  EBB_COLD bool wide_sizes(std::size_t at, std::size_t bytes, zip_member& m) const {
    std::uint64_t* const wide[] = {&m.unpacked, &m.packed, &m.header};
    bool all = true;
    for (const std::uint64_t* w : wide) all = all && *w != 0xffffffff;
    if (all) return true;
    while (bytes >= 4) {
      const std::size_t length = number<2>(at + 2);
      if (length > bytes - 4) return false;
      if (number<2>(at) == 1) {
        std::size_t from = 0;
        for (std::uint64_t* w : wide) {
          if (*w != 0xffffffff) continue;
          if (length - from < 8) return false;
          *w = number<8>(at + 4 + from);
          from += 8;
        }
        return true;
      }
      at += 4 + length;
      bytes -= 4 + length;
    }
    return false;
  }

  std::span<const std::byte> file_;
};

}  // namespace detail

/// An archive of numpy.savez or numpy.savez_compressed: its arrays by name. The file is mapped, see mapped_file; an array is unpacked when
/// it is loaded, and its checksum compared.
class npz {
 public:
  /// Throws: error naming the file and what is wrong with it.
  EBB_COLD_CTOR explicit npz(const std::string& path) : path_(path), file_(path) {
    if (!file_.problem().empty()) raise_npy("ebb::npz", path_, file_.problem());
    read({file_.data(), file_.size()});
  }
  /// The same contents in memory, which must outlive the object.
  EBB_COLD_CTOR explicit npz(std::span<const std::byte> bytes EBB_LIFETIMEBOUND) : path_("memory") { read(bytes); }

  /// The arrays, sorted: numpy.savez(file, w=w) has "w", numpy.savez(file, a, b) has "arr_0" and "arr_1".
  EBB_COLD std::vector<std::string> names() const {
    std::vector<std::string> all;
    all.reserve(members_.size());
    for (const auto& m : members_) all.push_back(m.name.substr(0, m.name.size() - 4));
    return all;
  }
  bool contains(std::string_view name) const { return find(name) != nullptr; }

  /// One array: load<float, dyn, 64>("w") takes any number of rows of 64.
  /// Throws: error naming the file, the array, what was expected and what was found, as load_npy; also for damaged bytes.
  template <npy_element T, std::size_t... E>
  tensor<T, E...> load(std::string_view name) const {
    const std::string who = path_ + ": " + detail::json_text(name);
    std::vector<std::byte> unpacked;
    detail::memory_reader in(bytes_of(name, who, unpacked));
    return read_npy<T, E...>(in, "ebb::npz::load", who);
  }

 private:
  EBB_COLD void read(std::span<const std::byte> bytes) {
    const std::string problem = detail::zip_directory().read(bytes, members_);
    if (!problem.empty()) raise_npy("ebb::npz", path_, problem);
    for (const auto& m : members_)
      if (!m.name.ends_with(".npy")) raise_npy("ebb::npz", path_, "expected .npy files in it, found " + detail::json_text(m.name));
  }
  EBB_COLD const detail::zip_member* find(std::string_view name) const {
    for (const auto& m : members_)
      if (m.name.size() == name.size() + 4 && m.name.starts_with(name)) return &m;
    return nullptr;
  }
  EBB_COLD std::span<const std::byte> bytes_of(std::string_view name, const std::string& who, std::vector<std::byte>& unpacked) const {
    const auto refuse = [&](const std::string& problem) { raise_npy("ebb::npz::load", who, problem); };
    const detail::zip_member* const m = find(name);
    if (!m) refuse("there is no such array");
    std::span<const std::byte> bytes = m->bytes;
    if (m->method == 8) {
      // Three bits of deflate stand for at most 258 bytes: a larger announcement is a lie, and no memory is taken for it.
      if (m->unpacked / 1032 > m->packed) refuse("its packed bytes cannot hold what is announced");
      unpacked.resize(static_cast<std::size_t>(m->unpacked));
      const std::string problem = detail::inflater(m->bytes, unpacked).run();
      if (!problem.empty()) refuse(problem);
      bytes = unpacked;
    } else if (m->method != 0) refuse("it is packed by a method other than those of numpy.savez and numpy.savez_compressed");
    if (bytes.size() != m->unpacked) refuse("two different lengths are given");
    if (detail::crc32_of(bytes) != m->crc) refuse("its bytes are damaged: the checksum differs");
    return bytes;
  }

  std::string path_;
  mapped_file file_;
  std::vector<detail::zip_member> members_;
};

}  // namespace ebb::inline EBB_ABI

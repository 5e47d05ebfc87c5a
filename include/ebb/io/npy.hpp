// ebb/io/npy.hpp — load_npy and save_npy: one array in NumPy's file format.
// SPDX-License-Identifier: BSL-1.0
//
// The format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html. Versions 1.0 to 3.0 are read, 1.0 is written.
#pragma once

#include "file.hpp"

#include "../base/config.hpp"
#include "../base/error.hpp"
#include "../num/dtype.hpp"
#include "../tensor/borrow.hpp"
#include "../tensor/layout.hpp"
#include "../tensor/tensor.hpp"

#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace ebb::inline EBB_ABI {

/// NumPy's name of an element type; empty for bfloat16, which NumPy does not have.
constexpr std::string_view npy_name(dtype d) {
  constexpr std::string_view names[] = {"|b1", "<i4", "<i8", "<f2", "", "<f4", "<f8"};
  return names[static_cast<int>(d)];
}
template <class T>
concept npy_element = element<T> && !npy_name(dtype_of<T>).empty();

static_assert(std::endian::native == std::endian::little, "elements are written as they are in memory");

/// The contents of a header, parsed from Python's notation: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
struct npy_header {
  static constexpr int max_rank = 32;

  std::string descr;
  bool fortran_order = false;
  int rank = 0;
  std::size_t shape[max_rank] = {};

  /// False if the text is not such a header.
  EBB_COLD bool parse(std::string_view text) {
    int found = 0;
    if (!skip(text, '{')) return false;
    while (!skip(text, '}')) {
      std::string_view key;
      if (!quoted(text, key) || !skip(text, ':')) return false;
      if (key == "descr") {
        std::string_view value;
        if (!quoted(text, value)) return false;
        descr = value;
        found |= 1;
      } else if (key == "fortran_order") {
        fortran_order = word(text, "True");
        if (!fortran_order && !word(text, "False")) return false;
        found |= 2;
      } else if (key == "shape") {
        if (!tuple(text)) return false;
        found |= 4;
      } else {
        return false;
      }
      if (!skip(text, ',') && !(blank(text), text.starts_with('}'))) return false;
    }
    blank(text);
    return found == 7 && text.empty();
  }

 private:
  static void blank(std::string_view& text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\n')) text.remove_prefix(1);
  }
  EBB_COLD static bool word(std::string_view& text, std::string_view w) {
    blank(text);
    if (!text.starts_with(w)) return false;
    text.remove_prefix(w.size());
    return true;
  }
  static bool skip(std::string_view& text, char c) { return word(text, {&c, 1}); }
  EBB_COLD static bool quoted(std::string_view& text, std::string_view& inside) {
    blank(text);
    const char quote = text.empty() ? '\0' : text.front();
    if (quote != '\'' && quote != '"') return false;
    const std::size_t end = text.find(quote, 1);
    if (end == std::string_view::npos) return false;
    inside = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
    return true;
  }
  EBB_COLD bool tuple(std::string_view& text) {
    if (!skip(text, '(')) return false;
    for (rank = 0; !skip(text, ')');) {
      blank(text);
      std::size_t value = 0, digits = 0;
      for (; !text.empty() && text.front() >= '0' && text.front() <= '9'; text.remove_prefix(1), ++digits)
        value = 10 * value + static_cast<std::size_t>(text.front() - '0');
      if (digits == 0 || digits > 18 || rank == max_rank) return false;
      shape[rank++] = value;
      if (!skip(text, ',') && !(blank(text), text.starts_with(')'))) return false;
    }
    return true;
  }
};

[[noreturn, gnu::cold]] inline void raise_npy(const char* call, const std::string& path, const std::string& problem) {
  raise(std::string(call) + ": " + path + ": " + problem);
}

/// Reads and checks everything before the elements. File is an open_file, or what has its functions.
template <class File>
[[gnu::cold]] npy_header read_npy_header(File& file, const char* call, const std::string& path) {
  const auto refuse = [&](const char* problem) { raise_npy(call, path, problem); };
  unsigned char start[12] = {};
  if (!file.read(start, 10)) refuse("expected a .npy file, found a file that cannot be read or is shorter than its header");
  if (std::memcmp(start, "\x93NUMPY", 6) != 0) refuse("expected a .npy file, found other first bytes");
  if (start[6] < 1 || start[6] > 3) refuse("expected version 1.0, 2.0 or 3.0 of the format, found another");
  if (start[6] > 1 && !file.read(start + 10, 2)) refuse("the header is truncated");
  const std::size_t length = start[8] | (std::size_t{start[9]} << 8u) | (std::size_t{start[10]} << 16u) | (std::size_t{start[11]} << 24u);
  if (length > file.remaining()) refuse("the header is truncated");
  std::string text(length, '\0');
  npy_header header;
  if (!file.read(text.data(), length)) refuse("the header cannot be read");
  if (!header.parse(text)) refuse("the header is not {'descr': ..., 'fortran_order': ..., 'shape': ...} of one plain element type");
  return header;
}

/// Puts elements whose first index runs fastest, as NumPy writes a transposed array, into C order.
[[gnu::cold]] inline void from_fortran_order(void* elements, std::size_t count, std::size_t size, const std::size_t* shape, int rank) {
  const std::vector<std::byte> from(static_cast<const std::byte*>(elements), static_cast<const std::byte*>(elements) + count * size);
  auto* to = static_cast<std::byte*>(elements);
  std::size_t index[npy_header::max_rank] = {}, at = 0, step[npy_header::max_rank + 1] = {1};
  for (int k = 0; k < rank; ++k) step[k + 1] = step[k] * shape[k];
  for (std::size_t i = 0; i < count; ++i, to += size) {
    std::memcpy(to, from.data() + at * size, size);
    for (int k = rank - 1; k >= 0; --k) {
      at += step[k];
      if (++index[k] < shape[k]) break;
      at -= step[k + 1];
      index[k] = 0;
    }
  }
}

/// The array in a file that is open. See load_npy.
template <npy_element T, std::size_t... E, class File>
tensor<T, E...> read_npy(File& file, const char* call, const std::string& path) {
  const npy_header header = read_npy_header(file, call, path);

  constexpr int rank = sizeof...(E);
  std::array<std::size_t, sizeof...(E)> shape{};
  bool fits = header.descr == npy_name(dtype_of<T>) && header.rank == rank;
  for (std::size_t k = 0; fits && k < sizeof...(E); ++k) {
    shape[k] = header.shape[k];
    fits = layout<E...>::declared[k] == dyn || layout<E...>::declared[k] == shape[k];
  }
  if (!fits) {
    raise_npy(call, path,
              "expected '" + std::string(npy_name(dtype_of<T>)) + "' of shape " + list_text(layout<E...>::declared.data(), rank) +
                  ", found '" + header.descr + "' of shape " +
                  list_text(header.shape, header.rank));
  }

  const layout<E...> whole(call, shape);
  const std::size_t bytes = whole.size() * sizeof(T), found = file.remaining();
  const auto truncated = [&](std::size_t had) {
    raise_npy(call, path, "expected " + std::to_string(bytes) + " bytes of elements, found " + std::to_string(had));
  };
  if (found < bytes) truncated(found);
  auto result = tensor<T, E...>::uninitialized(whole);
  T* to = result.mutable_data();
  if (!file.read(to, bytes)) truncated(0);
  if (header.fortran_order && rank > 1) from_fortran_order(to, whole.size(), sizeof(T), shape.data(), rank);
  if constexpr (std::is_same_v<T, bool>) {
    for (std::size_t k = 0; k < bytes; ++k) {  // a byte other than 0 and 1 is not a valid bool
      unsigned char byte;
      std::memcpy(&byte, to + k, 1);
      to[k] = byte != 0;
    }
  }
  return result;
}

/// The array in a .npy file. `load_npy<float, dyn, 64>("digits.npy")` takes any number of rows of 64. Elements in Fortran order, as NumPy
/// writes a transposed array, are put into C order.
/// Throws: error naming the file, what was expected and what was found, if it cannot be read, is truncated, or holds another element
/// type, rank or static extent; also for big-endian elements.
template <npy_element T, std::size_t... E>
tensor<T, E...> load_npy(const std::string& path) {
  open_file file(path, "rb");
  if (!file) raise_npy("ebb::load_npy", path, std::strerror(errno));
  return read_npy<T, E...>(file, "ebb::load_npy", path);
}

/// Writes any array as version 1.0 in C order, as a new file: see write_file.
/// Throws: error naming the file and the system's message; an existing file is left unchanged.
template <array_like A>
  requires npy_element<borrowed_element<A>>
void save_npy(const std::string& path, const A& array) {
  using T = borrowed_element<A>;
  const auto shape = layout_in(array);
  std::string header = "{'descr': '" + std::string(npy_name(dtype_of<T>)) + "', 'fortran_order': False, 'shape': (";
  for (std::size_t extent : shape.shape()) header += std::to_string(extent) + ", ";
  if (borrowed_extents<A>::rank > 1) header.resize(header.size() - 2);  // (2, 3) but (2,)
  else if (borrowed_extents<A>::rank == 1) header.pop_back();
  header += "), }";
  header.append(63 - (10 + header.size()) % 64, ' ') += '\n';
  const auto length = static_cast<std::uint16_t>(header.size());  // little endian, as the format requires
  char start[10] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0};
  std::memcpy(start + 8, &length, 2);

  const std::string problem = write_file(path, [&](open_file& file) {
    return file.write(start, sizeof start) && file.write(header.data(), header.size()) &&
           file.write(borrow<A>::data(array), shape.size() * sizeof(T));
  });
  if (!problem.empty()) raise_npy("ebb::save_npy", path, problem);
}

}  // namespace ebb::inline EBB_ABI

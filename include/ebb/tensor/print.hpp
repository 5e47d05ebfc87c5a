// ebb/tensor/print.hpp — arrays as readable text.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../base/config.hpp"
#include "../num/dtype.hpp"
#include "borrow.hpp"
#include "layout.hpp"
#include "tensor.hpp"
#include "view.hpp"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <type_traits>

namespace ebb::inline EBB_ABI {

/// One element: "true", "12", "0.3333", "1e-05", "nan". A real number has four significant digits; an integral one below a million has all.
template <element T>
std::string element_text(T x) {
  if constexpr (std::is_same_v<T, bool>) return x ? "true" : "false";
  else if constexpr (std::is_integral_v<T>) return std::to_string(x);
  else if constexpr (!std::is_floating_point_v<T>) return element_text(static_cast<float>(x));
  else {
    if (x != x) return "nan";
    char text[32];
    const bool whole = x > T(-1e6) && x < T(1e6) && x == static_cast<T>(static_cast<std::int64_t>(x));
    return {text, std::to_chars(text, text + sizeof text, x, std::chars_format::general, whole ? 6 : 4).ptr};
  }
}

/// Lays out brackets, columns and dots. A function supplies the elements as text: one class serves all types and is compiled once.
class array_printer {
 public:
  using element_source = std::string (*)(const void* elements, std::size_t number);
  static constexpr std::size_t elide_above = 1000, edge = 3, line = 100;

  EBB_COLD_CTOR array_printer(const std::size_t* shape, int rank, const void* elements, element_source source)
      : shape_(shape), rank_(rank), elements_(elements), source_(source) {
    std::size_t count = 1;
    for (int k = 0; k < rank; ++k) count *= shape[k];
    elided_ = count > elide_above;
    if (count == 0) text_ = "[]";
    else if (rank == 0) text_ = source(elements, 0);
    else {
      measure(0, 0);
      write(0, 0);
    }
  }
  const std::string& text() const { return text_; }

 private:
  /// Calls f(i) for each index of an axis that is printed, and dots() once in place of those that are not.
  template <class F, class Dots>
  void along(int axis, F f, Dots dots) const {
    const std::size_t extent = shape_[axis];
    const bool elide = elided_ && extent > 2 * edge;
    for (std::size_t i = 0; i < extent; ++i) {
      if (elide && i == edge) {
        dots();
        i = extent - edge;
      }
      f(i);
    }
  }
  // Columns are aligned at the decimal point: the head is the text before it.
  EBB_COLD static std::size_t head_of(const std::string& text) {
    const std::size_t point = text.find_first_of(".e");
    return point == std::string::npos ? text.size() : point;
  }

  EBB_COLD void measure(int axis, std::size_t number) {
    along(
        axis,
        [&](std::size_t i) {
          const std::size_t next = number * shape_[axis] + i;
          if (axis + 1 < rank_) return measure(axis + 1, next);
          const std::string item = source_(elements_, next);
          const std::size_t head = head_of(item), tail = item.size() - head;
          if (head > head_) head_ = head;
          if (tail > tail_) tail_ = tail;
        },
        [] {});
  }
  EBB_COLD void write(int axis, std::size_t number) {
    text_ += '[';
    bool first = true;
    std::size_t column = static_cast<std::size_t>(axis) + 1;
    const auto separate = [&](std::size_t width) {
      if (!first && axis + 1 < rank_) {
        text_.append(static_cast<std::size_t>(rank_ - 1 - axis), '\n').append(static_cast<std::size_t>(axis) + 1, ' ');
      } else if (!first && column + 2 + width > line) {
        text_.erase(text_.find_last_not_of(' ') + 1);
        text_.append(1, '\n').append(static_cast<std::size_t>(axis) + 1, ' ');
        column = static_cast<std::size_t>(axis) + 1 + width;
      } else {
        if (!first) text_ += "  ";
        column += first ? width : width + 2;
      }
      first = false;
    };
    along(
        axis,
        [&](std::size_t i) {
          const std::size_t next = number * shape_[axis] + i;
          separate(head_ + tail_);
          if (axis + 1 < rank_) return write(axis + 1, next);
          const std::string item = source_(elements_, next);
          const std::size_t head = head_of(item);
          text_.append(head_ - head, ' ').append(item).append(tail_ - (item.size() - head), ' ');
        },
        [&] {
          separate(3);
          text_ += "...";
        });
    text_ += ']';
  }

  const std::size_t* shape_;
  int rank_;
  const void* elements_;
  element_source source_;
  bool elided_;
  std::size_t head_ = 0, tail_ = 0;
  std::string text_;
};

/// Any array: a header with dtype and shape, then the elements; large arrays show only the first and last three along each axis.
///
///     f32[2, 3]
///     [[ 1    2.5   3    ]
///      [-4  100     0.125]]
template <array_like A>
std::string to_string(const A& array) {
  using T = borrowed_element<A>;
  const auto shape = layout_in(array).shape();
  const int rank = borrowed_extents<A>::rank;
  const auto source = [](const void* elements, std::size_t number) { return element_text(static_cast<const T*>(elements)[number]); };
  const array_printer printed(shape.data(), rank, borrow<A>::data(array), source);
  std::string text(name_of(dtype_of<T>));
  if (rank > 0) text += shape_text(shape);
  text += printed.text().find('\n') == std::string::npos ? ' ' : '\n';
  return text += printed.text();
}

// Templates over the stream's traits: only programs that print include <ostream>. Built-in numbers have operators already.
template <class Traits, element T>
  requires(!std::is_arithmetic_v<T>)
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, T x) {
  return out << element_text(x);
}
template <class Traits, element T, std::size_t... E>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const tensor<T, E...>& array) {
  return out << to_string(array);
}
template <class Traits, class T, std::size_t... E>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const view<T, E...>& array) {
  return out << to_string(array);
}

}  // namespace ebb::inline EBB_ABI

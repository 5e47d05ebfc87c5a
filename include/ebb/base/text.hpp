// ebb/base/text.hpp — a string literal as a template argument, and the names of types as text.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "config.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace ebb::inline EBB_ABI {

/// A string literal that can be a template argument: text<6>{"hello"}.
template <std::size_t N>
struct text {
  char characters[N]{};
  consteval text(const char (&literal)[N]) { std::copy_n(literal, N, characters); }
  constexpr std::string_view view() const { return {characters, N - 1}; }
};

namespace detail {

// A member of a class: g++ omits the scope of the function itself, and would print ebb::op::add and a user's ::op::add alike inside ebb.
struct signature {
  template <class T>
  static constexpr auto of() {  // auto: else g++ appends an explanation of std::string_view to the name
    return std::string_view(__PRETTY_FUNCTION__);
  }
};
inline constexpr std::size_t before_name = signature::of<int>().find("int"), after_name = signature::of<int>().size() - before_name - 3;

}  // namespace detail

/// The name of a type as the compiler prints it: for parsing, and for hashing, where each character costs a microsecond or more to compile.
template <class T>
constexpr std::string_view full_name_of() {
  const std::string_view s = detail::signature::of<T>();
  return s.substr(detail::before_name, s.size() - detail::before_name - detail::after_name);
}
/// The last part of a type's name, without template arguments.
template <class T>
constexpr std::string_view short_name_of() {
  std::string_view s = full_name_of<T>();
  s = s.substr(0, s.find('<'));
  return s.substr(s.rfind(':') + 1);
}

}  // namespace ebb::inline EBB_ABI

// test/svg/xml.hpp — whether a text is well-formed XML, as far as pictures use it.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cctype>
#include <string>
#include <string_view>
#include <vector>

namespace test {

/// The first error of a document of elements, attributes and text, or nothing: tags that do not match, attributes without quotes or given
/// twice, a bare < or &, bytes below the space, a second root.
inline std::string error_in_xml(std::string_view s) {
  std::vector<std::string> open;
  bool had_root = false;
  std::size_t i = 0;
  const auto at = [&](std::size_t p) { return p < s.size() ? s[p] : '\0'; };
  const auto here = [&](const char* what) { return std::string(what) + " at " + std::to_string(i) + ": " + std::string(s.substr(i, 40)); };
  const auto is_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == ':'; };
  const auto name = [&] {
    const std::size_t from = i;
    while (is_name(at(i))) ++i;
    return std::string(s.substr(from, i - from));
  };
  const auto space = [&] {
    while (std::isspace(static_cast<unsigned char>(at(i)))) ++i;
  };
  const auto is_entity = [&] {
    for (const std::string_view e : {"&amp;", "&lt;", "&gt;", "&quot;", "&apos;"})
      if (s.substr(i).starts_with(e)) return true;
    return false;
  };
  while (i < s.size()) {
    if (s[i] != '<') {
      const char c = s[i];
      if (c == '&' && !is_entity()) return here("a bare &");
      if (static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\t') return here("a byte that XML does not allow");
      if (open.empty() && !std::isspace(static_cast<unsigned char>(c))) return here("text outside of the root");
      ++i;
      continue;
    }
    ++i;
    if (at(i) == '/') {
      ++i;
      const std::string closed = name();
      if (open.empty() || open.back() != closed) return here("an end without a beginning");
      open.pop_back();
      if (at(i++) != '>') return here("no > after the name of an end");
      continue;
    }
    if (open.empty() && had_root) return here("a second root");
    const std::string element = name();
    if (element.empty()) return here("a bare <");
    had_root = true;
    std::vector<std::string> seen;
    for (;;) {
      const std::size_t before = i;
      space();
      if (at(i) == '>' || (at(i) == '/' && at(i + 1) == '>')) break;
      if (before == i) return here("no space before an attribute");
      const std::string attribute = name();
      if (attribute.empty() || at(i) != '=' || at(i + 1) != '"') return here("an attribute without a value in quotes");
      for (const std::string& other : seen)
        if (other == attribute) return here("an attribute twice");
      seen.push_back(attribute);
      for (i += 2; at(i) != '"'; ++i) {
        if (i >= s.size() || s[i] == '<') return here("a value without an end");
        if (s[i] == '&' && !is_entity()) return here("a bare & in a value");
      }
      ++i;
    }
    if (at(i) == '/') i += 2;
    else {
      open.push_back(element);
      ++i;
    }
  }
  if (!open.empty()) return "no end of " + open.back();
  return had_root ? "" : "no element";
}

}  // namespace test

// test/catch.hpp — Catch2, version 2 (Debian 12) or 3, and what every test may use beside it.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif

#include <ebb/base/error.hpp>

#include <csetjmp>
#include <initializer_list>
#include <string>

#if defined(__has_feature)
#define EBB_TEST_IS_WATCHED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define EBB_TEST_IS_WATCHED 0
#endif

namespace test {

/// Neither optimized nor watched by a sanitizer: only there to hear another compiler. Random programs take ten times as long, and say little
/// more than they said elsewhere.
#if defined(__OPTIMIZE__) || EBB_TEST_IS_WATCHED
inline constexpr bool is_only_compiled = false;
#else
inline constexpr bool is_only_compiled = true;
#endif

/// What f raised through ebb::error, or "" if it returned. With -fno-exceptions the error handler jumps back here instead.
template <class F>
std::string raised(F&& f) {
#if EBB_EXCEPTIONS
  try {
    f();
  } catch (const ebb::error& e) {
    return e.what();
  }
  return "";
#else
  static std::jmp_buf back;
  static char text[4096];
  text[0] = '\0';
  const auto before = ebb::set_error_handler([](const char* message) {
    for (std::size_t i = 0; i < sizeof text - 1 && (text[i] = message[i]) != '\0'; ++i) text[i + 1] = '\0';
    std::longjmp(back, 1);
  });
  if (setjmp(back) == 0) f();
  ebb::set_error_handler(before);
  return text;
#endif
}

/// Whether a message holds all of these.
inline bool says(const std::string& message, std::initializer_list<const char*> parts) {
  for (const char* part : parts)
    if (message.find(part) == std::string::npos) {
      UNSCOPED_INFO("\"" << message << "\" lacks \"" << part << '"');
      return false;
    }
  return true;
}

}  // namespace test

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

#include <initializer_list>
#include <string>

#if !EBB_EXCEPTIONS
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#endif

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

/// What f raised through ebb::error, or "" if it returned. With -fno-exceptions a child process tries that, whose error handler ends it:
/// to jump out of a call would leave alive what stands in its frames.
template <class F>
std::string raised(F&& f) {
#if EBB_EXCEPTIONS
  try {
    f();
  } catch (const ebb::error& e) {
    return e.what();
  }
#else
  static int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ebb::set_error_handler([](const char* message) {
      const std::size_t size = std::strlen(message);
      _exit(write(ends[1], message, size) == static_cast<ssize_t>(size) ? 1 : 2);
    });
    f();
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char part[1024];
  for (ssize_t size; (size = read(ends[0], part, sizeof part)) > 0;) text.append(part, static_cast<std::size_t>(size));
  close(ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  REQUIRE(WEXITSTATUS(status) < 2);
  if (WEXITSTATUS(status) == 1) return text;
  f();
#endif
  return "";
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

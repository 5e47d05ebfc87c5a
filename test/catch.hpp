// test/catch.hpp — Catch2, version 2 (Debian 12) or 3, and the helpers that every test may use.
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

/// True for a build without optimization and without sanitizers: such a build only checks that another compiler accepts the code. Random
/// programs take ten times as long there and find little that the other builds do not.
#if defined(__OPTIMIZE__) || EBB_TEST_IS_WATCHED
inline constexpr bool is_only_compiled = false;
#else
inline constexpr bool is_only_compiled = true;
#endif

/// The text of the ebb::error that f raised, or "" if f returned. With -fno-exceptions f runs in a child process whose error handler ends
/// it: a longjmp out of the call would skip the destructors of the objects in its frames.
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

/// Whether a message contains all these parts.
inline bool says(const std::string& message, std::initializer_list<const char*> parts) {
  for (const char* part : parts)
    if (message.find(part) == std::string::npos) {
      UNSCOPED_INFO("\"" << message << "\" lacks \"" << part << '"');
      return false;
    }
  return true;
}

}  // namespace test

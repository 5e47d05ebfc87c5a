// ebb/base/error.hpp — ebb::error, thrown for bad dynamic input, and the handler that replaces it without exceptions.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "config.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace ebb::inline EBB_ABI {

/// Thrown for bad dynamic input: extents that differ, an index out of range, a file that cannot be read. The text names the call,
/// the operands and both shapes. A call that throws it has changed nothing.
class error : public std::exception {
 public:
  explicit error(std::string message) : message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string message_;
};

/// With -fno-exceptions errors go to a handler. It must not return, nor jump out of the call: objects in its frames would not be destroyed.
using error_handler = void (*)(const char* message);

inline error_handler& current_error_handler() {
  static error_handler handler = nullptr;
  return handler;
}
inline error_handler set_error_handler(error_handler handler) { return std::exchange(current_error_handler(), handler); }

[[noreturn]] EBB_COLD void raise(std::string message) {
#if EBB_EXCEPTIONS
  throw error(std::move(message));
#else
  if (error_handler handler = current_error_handler()) handler(message.c_str());
  std::fputs(message.c_str(), stderr);
  std::fputc('\n', stderr);
  std::abort();
#endif
}

namespace detail {

/// "ebb::compile: max", and "ebb::max" where that is what was called.
EBB_COLD std::string call_and_op(std::string_view call, std::string_view op) {
  std::string text(call);
  if (!op.empty() && call.substr(call.rfind("::") == call.npos ? 0 : call.rfind("::") + 2) != op) text.append(": ").append(op);
  return text;
}

}  // namespace detail

}  // namespace ebb::inline EBB_ABI

// ebb/mpi/communicator.hpp — the ranks of a program, its start and its end: a rank that throws ends them all with its message.
// SPDX-License-Identifier: BSL-1.0
//
// [note: MPI is optional]
// No header of the library includes this folder, and nothing of it is in ebb::compiled: functions that are no templates are plainly inline.
// The C API of MPI alone is used. A translation unit includes the <mpi.h> of the library that it is linked to.
#pragma once

#include "../base/error.hpp"

#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

namespace ebb::inline EBB_ABI::mpi {

namespace detail {

/// Throws: error if a call of MPI has failed. It does so only if the communicator's errors return: those of data_parallel do.
inline void check(const char* call, int code) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  raise(std::string("ebb::mpi: ") + call + ": " + std::string(text, static_cast<std::size_t>(length)));
}

inline bool is_running() {
  int begun = 0, ended = 0;
  MPI_Initialized(&begun);
  MPI_Finalized(&ended);
  return begun && !ended;
}

}  // namespace detail

/// A handle to ranks that exchange messages; the program's own is the default. It owns nothing.
class communicator {
 public:
  communicator() = default;
  explicit communicator(MPI_Comm comm) : comm_(comm) {}

  int rank() const {
    int r = 0;
    detail::check("MPI_Comm_rank", MPI_Comm_rank(comm_, &r));
    return r;
  }
  int size() const {
    int n = 0;
    detail::check("MPI_Comm_size", MPI_Comm_size(comm_, &n));
    return n;
  }
  MPI_Comm handle() const { return comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_WORLD;
};

inline int rank() { return communicator().rank(); }
inline int size() { return communicator().size(); }

/// Prints the message after "rank 2 of 4: ", and ends all ranks of the program. The others need not be in a call of MPI.
[[noreturn]] inline void abort_all(const char* message) {
  std::fflush(stdout);
  if (detail::is_running()) {
    std::fprintf(stderr, "rank %d of %d: %s\n", rank(), size(), message);
    std::fflush(stderr);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // launchers end before they have passed on what was printed just now
    MPI_Abort(MPI_COMM_WORLD, 1);
  } else std::fprintf(stderr, "%s\n", message);
  std::abort();
}

namespace detail {

template <class F>
int call_of_rank(F&& f) {
  const auto call = [&] {
    if constexpr (std::is_invocable_v<F, communicator>) return f(communicator());
    else return f();
  };
  if constexpr (std::is_void_v<decltype(call())>) return call(), 0;
  else return call();
}

}  // namespace detail

/// f(), whose exceptions end all ranks, with the message of the first: otherwise the others would wait for this rank without end. With
/// -fno-exceptions ebb's errors do so.
template <class F>
int or_abort_all(F&& f) {
#if EBB_EXCEPTIONS
  try {
    return detail::call_of_rank(f);
  } catch (const std::exception& e) {
    abort_all(e.what());
  } catch (...) {
    abort_all("something was thrown that is no std::exception");
  }
#else
  const error_handler was = set_error_handler([](const char* message) { abort_all(message); });
  const int code = detail::call_of_rank(f);
  set_error_handler(was);
  return code;
#endif
}

/// All of a program on all ranks: starts MPI, calls f() or f(communicator), ends MPI. The result of f is the exit code of this rank.
///   int main(int count, char** arguments) { return ebb::mpi::run(count, arguments, [] { ... }); }
/// A rank that throws prints its message and ends all others: see or_abort_all. If MPI runs already, it is neither started nor ended.
/// One thread of a rank calls what ebb offers for MPI: the one that runs f (MPI_THREAD_FUNNELED).
template <class F>
int run(int& count, char**& arguments, F&& f) {
  constexpr bool fits = std::is_invocable_v<F, communicator> || std::is_invocable_v<F>;
  static_assert(fits, "[ebb E0340] ebb::mpi::run calls f() or f(ebb::mpi::communicator), which returns the exit code or nothing");
  if constexpr (fits) {
    int begun = 0, threads = 0;
    MPI_Initialized(&begun);
    if (!begun) detail::check("MPI_Init_thread", MPI_Init_thread(&count, &arguments, MPI_THREAD_FUNNELED, &threads));
    const int code = or_abort_all(std::forward<F>(f));
    if (!begun) detail::check("MPI_Finalize", MPI_Finalize());
    return code;
  } else return 1;
}

}  // namespace ebb::inline EBB_ABI::mpi

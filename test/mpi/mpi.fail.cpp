// test/mpi/mpi.fail.cpp — calls that ebb refuses beside MPI.
// SPDX-License-Identifier: BSL-1.0
// covers: communicator.hpp broadcast.hpp all_reduce.hpp data_parallel.hpp
// ERRORS: 1
#include <ebb/ebb.hpp>
#include <ebb/mpi.hpp>

int main(int count, char** arguments) {
  ebb::variable<float, 3> w(ebb::tensor<float, 3>{1, 2, 3});
  ebb::tensor<float, 3> g;
  ebb::random_key key(1);
#if EBB_CASE == 0
  const ebb::mpi::data_parallel all({.parts = 4}, w, std::tie(w), key);
  ebb::mpi::all_reduce(g);
  ebb::mpi::broadcast(w);
  return ebb::mpi::run(count, arguments, [](ebb::mpi::communicator) { return 0; });
#elif EBB_CASE == 1
  // EXPECT: E0340 ebb::mpi::run calls f() or f(ebb::mpi::communicator), which returns the exit code or nothing
  return ebb::mpi::run(count, arguments, [](int ranks) { return ranks; });  // LINE
#elif EBB_CASE == 2
  // EXPECT: E0341 ebb::mpi::broadcast takes arrays, leaf variables, numbers and random keys, and structures of them
  const char* text = "";
  ebb::mpi::broadcast(text);  // LINE
#elif EBB_CASE == 3
  // EXPECT: E0342 ebb::mpi::all_reduce takes arrays and numbers, and structures of them: ebb::mpi::data_parallel exchanges the gradients of variables
  ebb::mpi::all_reduce(w);  // LINE
#elif EBB_CASE == 4
  // EXPECT: E0343 ebb::mpi::data_parallel: after the options come variables, and tuples, vectors and structs of them, and random keys
  const ebb::mpi::data_parallel all({.parts = 4}, g);  // LINE
#elif EBB_CASE == 5
  // EXPECT: E0344 ebb::mpi::data_parallel writes random keys: they are no constants
  const ebb::mpi::data_parallel all({.parts = 4}, w, ebb::random_key(1), std::as_const(key));  // LINE
#endif
  return count + (arguments == nullptr) + static_cast<int>(g.size());
}

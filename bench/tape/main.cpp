// bench/tape/main.cpp — the tape: the cost of a node, and a network as two regions against the same loss as one program.
// SPDX-License-Identifier: BSL-1.0
#include "chain.hpp"
#include "mlp.hpp"
#include "shared.hpp"

#include <cstdio>
#include <cstring>
#include <thread>

int main(int count, char** arguments) {
  const bool smoke = count > 1 && std::strcmp(arguments[1], "--smoke") == 0;
  const int rounds = smoke ? 3 : 101;

  std::printf("ns a node, 16 floats; goals: record 30 and the engine's own work (backward without its kernel) 30\n");
  std::printf("%-30s %8s %8s %8s %8s %8s\n", "", "kernel", "record", "backward", "engine", "destroy");
  const auto show = [&](const char* what, int length, double kernel, auto cost) {
    std::printf("%-24s K %4d %7.1f %8.1f %8.1f %8.1f %8.1f\n", what, length, kernel, cost.record, cost.backward, cost.backward - kernel,
                cost.destroy);
  };
  const double scale_kernel = measure_kernel(scale, rounds), bend_kernel = measure_kernel(bend, rounds);
  for (int length : {1, 10, 100, 1000}) show("x * 1.01", length, scale_kernel, measure_chain(scale, length, rounds));
  for (int length : {1, 10, 100, 1000}) show("tanh, which saves", length, bend_kernel, measure_chain(bend, length, rounds));
  for (int length : {1, 10, 100, 1000}) show("x * 1.01, shared object", length, scale_kernel, measure_in_shared_object(length, rounds));
  const bool same = measure_network(rounds);

  // Once a process has had a second thread it counts owners atomically, also after that thread has ended: nothing is measured after this.
  std::thread([] {}).join();
  std::printf("\nthe same once the process has had a second thread\n");
  for (int length : {1, 100}) show("x * 1.01", length, scale_kernel, measure_chain(scale, length, rounds));
  for (int length : {1, 100}) show("tanh, which saves", length, bend_kernel, measure_chain(bend, length, rounds));
  return same ? 0 : 1;
}

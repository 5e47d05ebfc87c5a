// bench/suite/main.cpp — value and gradient by ebb, by hand-written SIMD and by plain loops, in the same run.
// SPDX-License-Identifier: BSL-1.0
//
//   bench.suite [--smoke] [row]                              checks and times all rows, or one: a, b, c1, c1-relaxed, c2, e, f, cheap...
//   bench.suite --count row type n candidate calls           runs ebb, hand or plain that often, for a tool that counts instructions
//
// The reference ("hand") is fused by hand and uses ebb's registers and vector functions: ebb/hand shows the cost of going from a lambda to
// a loop. The quality of the functions shows in plain/hand, beside the same ratio of the best known fused AVX-512 code ("table": for
// AVX-512 only).
#include "rows.hpp"

#include <cstdlib>
#include <sched.h>

int main(int argc, char** argv) {
  suite::session s;
  int at = 1;
  if (at < argc && std::string_view(argv[at]) == "--smoke") {
    s.how = suite::session::mode::smoke;
    ++at;
  }
  if (at < argc && std::string_view(argv[at]) == "--count") {
    if (argc != at + 6) {
      std::fprintf(stderr, "bench.suite --count row type n candidate calls\n");
      return 2;
    }
    s.how = suite::session::mode::count;
    s.only = argv[at + 1];
    s.type = argv[at + 2];
    s.size = std::strtoull(argv[at + 3], nullptr, 10);
    s.candidate = argv[at + 4];
    s.calls = std::strtoull(argv[at + 5], nullptr, 10);
  } else {
    if (at < argc) s.only = argv[at];
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(1, &one);
    sched_setaffinity(0, sizeof one, &one);  // if there is a second core
    suite::session::print_head();
  }
  suite::tanh_exp(s);
  suite::logsumexp(s);
  suite::gaussian(s);
  suite::logistic(s);
  suite::mlp(s);
  suite::product(s);
  suite::streams(s);
  suite::calls(s);
  suite::cart_pole(s);
  if (s.failures) std::printf("%d results are wrong\n", s.failures);
  return s.failures ? 1 : 0;
}

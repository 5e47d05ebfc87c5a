// bench/gradbench/main.cpp — evals of GradBench in ebb and by hand-written derivatives, checked and timed in the same run.
// SPDX-License-Identifier: BSL-1.0
//
//   bench.gradbench [--smoke] [--costs file] [--peers directory] [eval...]
//
// All evals, or some: lse, llsq, kmeans, gmm, ode, ba, lstm, particle, saddle, ht.
// The definitions and the default sizes are those of https://github.com/gradbench/gradbench; the data are of those sizes, from a generator.
// `manual` is a derivative written by hand in plain C++ and compiled with -O3 by g++, `natural` is ebb as its guides teach it, `sparse` is
// its sparse_jacobian, `shaped` is ebb written for speed, `simd` is vectorized by hand with ebb's registers, `reverse` is another
// derivative written by hand, `duals` is ebb's forward mode alone, `finite` are differences. The totals of an eval also have lines of code
// and seconds of the compiler, from a file that cost.sh has written. With --peers, for which bench/peers/gradbench.sh is, GradBench's own
// programs take turns with the candidates, and are the baseline in place of `manual`.
#include "session.hpp"

#include <dlfcn.h>
#include <sched.h>

std::shared_ptr<gradbench::peer::program> gradbench::session::load_peer(const std::string& eval, const peer::given& data) const {
  void* const object = dlopen((peers + "/" + eval + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const make = object ? dlsym(object, "gradbench_program") : nullptr;
  if (!make) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(1);
  }
  return std::shared_ptr<peer::program>(reinterpret_cast<peer::maker*>(make)(data));
}

int main(int argc, char** argv) {
  gradbench::session s;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--smoke") s.smoke = true;
    else if (std::string_view(argv[i]) == "--costs" && i + 1 < argc) s.read_costs(argv[++i]);
    else if (std::string_view(argv[i]) == "--peers" && i + 1 < argc) s.peers = argv[++i];
    else s.only.push_back(argv[i]);
  }
  if (!s.smoke) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(1, &one);
    sched_setaffinity(0, sizeof one, &one);  // if there is a second core
    s.print_head();
  }
  if (s.wanted("lse")) gradbench::lse(s);
  if (s.wanted("llsq")) gradbench::llsq(s);
  if (s.wanted("kmeans")) gradbench::kmeans(s);
  if (s.wanted("gmm")) gradbench::gmm(s);
  if (s.wanted("ode")) gradbench::ode(s);
  if (s.wanted("ba")) gradbench::ba(s);
  if (s.wanted("lstm")) gradbench::lstm(s);
  if (s.wanted("particle")) gradbench::particle(s);
  if (s.wanted("saddle")) gradbench::saddle(s);
  if (s.wanted("ht")) gradbench::ht(s);
}

// bench/ops/main.cpp — nanoseconds an element of each op, value and gradient, beside the best of others in the same run.
// SPDX-License-Identifier: BSL-1.0
//
//   bench.ops [--smoke] [--markdown] [row]
//
// Others are a plain loop at -O3, Eigen's array functions, libmvec's and SLEEF's vector functions, where they exist and are installed;
// for products and factors OpenBLAS and LAPACKE, for convolutions oneDNN. Elementwise rows have 4096 elements, in the first caches.
#include "rows.hpp"
#include "session.hpp"
#include "table.hpp"

#include "../suite/data.hpp"

#include <deque>
#include <sched.h>

namespace {

constexpr std::size_t size = ops::elements;

template <class T>
void elementwise(ops::session& s, const ops::op& o, const std::vector<ops::peer>& peers, bool gradient, ops::kernel<T> by_ebb,
                 ops::kernel<T> ops::peer::* of_peer) {
  if (!by_ebb) return;
  const std::size_t arity = o.operands.size(), results = gradient ? arity : 1;
  const std::string row = o.name + (gradient ? " gradient" : "") + (sizeof(T) == 4 ? " float" : " double");
  constexpr std::size_t room = 2 * size;  // a result may be larger than its operand
  suite::generator numbers(7);
  std::deque<suite::array<T>> in, out;
  const T* operands[3] = {};
  void* pointers[3] = {};
  for (std::size_t j = 0; j < arity; ++j) operands[j] = in.emplace_back(numbers, size, o.operands[j].low, o.operands[j].high).data();
  for (std::size_t j = 0; j < results; ++j) pointers[j] = out.emplace_back(room).data();

  // All candidates write to the same memory: where it lies decides about speed, too.
  std::vector<ops::candidate> all;
  std::vector<std::vector<T>> by_first;
  const auto take = [&](const std::string& who, ops::kernel<T> f) {
    for (auto& to : out) std::fill(to.data(), to.data() + room, T(0));
    f(operands, pointers, size);
    for (std::size_t j = 0; j < results; ++j) {
      if (all.empty()) by_first.emplace_back(out[j].data(), out[j].data() + room);
      else if (!o.truth) s.check(row, who, out[j].data(), by_first[j].data(), room);
      else
        s.check(row, who, static_cast<const bool*>(pointers[j]), static_cast<const bool*>(static_cast<const void*>(by_first[j].data())),
                size);
    }
    all.push_back({who, [&operands, &pointers, f] { f(operands, pointers, size); }});
  };
  take("ebb", by_ebb);
  for (const ops::peer& p : peers)
    if (p.name == o.name && p.gradient == gradient) take(p.who, p.*of_peer);
  s.measure(o.name, gradient ? "gradient" : "value", sizeof(T) == 4 ? "float" : "double", size, all);
}

}  // namespace

int main(int argc, char** argv) {
  ops::session s;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--smoke") s.smoke = true;
    else if (std::string_view(argv[i]) == "--markdown") s.markdown = true;
    else s.only = argv[i];
  }
  if (!s.smoke) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(1, &one);
    sched_setaffinity(0, sizeof one, &one);  // if there is a second core
    std::printf(s.markdown ? "| op | | type | ebb | best of others | | ebb / best |\n|---|---|---|---|---|---|---|\n"
                           : "%-16s %-9s %-7s %9s %9s %-7s %6s  (ns an element)\n", "op", "", "type", "ebb", "best", "who", "ratio");
  }
  ops::table t;
  ops::arithmetic(t);
  ops::rounding(t);
  ops::exponential(t);
  ops::logarithmic(t);
  ops::trigonometric(t);
  ops::activation(t);
  ops::shrinking(t);
  ops::normal(t);
  ops::bessel(t);
  ops::gamma(t);
  ops::incomplete(t);
  ops::reductions(t);
  ops::moments(t);
  ops::normalizations(t);
  ops::images(t);
  ops::moves(t);
  ops::densities(t);
  ops::order(t);
  ops::indexing(t);
  ops::geometry(t);
  ops::fourier(t);
  ops::pairs(t);
  ops::layers(t);
  ops::networks(t);
  ops::resampling(t);
  ops::sliding(t);
  ops::constructions(t);
  ops::peers_of_arithmetic(t);
  ops::peers_of_exponential(t);
  ops::peers_of_trigonometric(t);
  ops::peers_of_activation(t);
  ops::peers_of_special(t);
  ops::peers_of_densities(t);
  ops::peers_of_matrices(t);
  ops::peers_by_eigen(t);
  ops::peers_of_order(t);
  ops::peers_of_indexing(t);
  ops::peers_of_geometry(t);
  ops::peers_of_fourier(t);
  ops::peers_of_pairs(t);
  ops::peers_of_layers(t);
  ops::peers_of_networks(t);
  ops::peers_of_resampling(t);
  ops::peers_of_sliding(t);
  ops::peers_of_constructions(t);
  for (const ops::op& o : t.ops) {
    if (!s.wanted(o.name)) continue;
    elementwise<float>(s, o, t.peers, false, o.value_f, &ops::peer::f);
    elementwise<double>(s, o, t.peers, false, o.value_d, &ops::peer::d);
    elementwise<float>(s, o, t.peers, true, o.gradient_f, &ops::peer::f);
    elementwise<double>(s, o, t.peers, true, o.gradient_d, &ops::peer::d);
  }
  ops::linalg(s);
  ops::equations(s);
  ops::systems(s);
  ops::spectra(s);
  ops::factors(s);
  ops::convolution(s);
  s.summary();
  if (s.failures) std::printf("%d results are wrong\n", s.failures);
  return s.failures ? 1 : 0;
}

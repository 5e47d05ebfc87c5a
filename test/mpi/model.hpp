// test/mpi/model.hpp — a small network on the tape with a graph break, its data by part, and the same training without MPI.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <ebb/ebb.hpp>
#include <ebb/mpi.hpp>

#include <cstdio>
#include <string>
#include <vector>

namespace test {

[[noreturn]] inline void fail(const char* what, int line) {
  ebb::raise("line " + std::to_string(line) + ": " + what + " is false");
}
#define CHECK_HERE(...) ((__VA_ARGS__) ? void() : test::fail(#__VA_ARGS__, __LINE__))

/// The text of the ebb::error that f throws, or "".
inline std::string raised(auto&& f) {
  try {
    f();
  } catch (const ebb::error& e) {
    return e.what();
  }
  return "";
}
inline bool says(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

template <template <class, std::size_t...> class Array>
struct network {
  using hidden_weights = Array<float, 19, 7>;
  using hidden_bias = Array<float, 19>;
  using output_weights = Array<float, 3, 19>;
  using output_bias = Array<float, 3>;
  BOOST_HANA_DEFINE_STRUCT(network, (hidden_weights, w1), (hidden_bias, b1), (output_weights, w2), (output_bias, b2));
};
using arrays = network<ebb::tensor>;
using variables = network<ebb::variable>;

inline arrays initial(int seed) {
  const auto [a, b] = ebb::random_key(seed).split<2>();
  arrays net;
  net.w1 = ebb::normal<float, 19, 7>(a, 0.f, 0.4f);
  net.w2 = ebb::normal<float, 3, 19>(b, 0.f, 0.3f);
  return net;
}
inline variables tracked(const arrays& a) { return {ebb::variable(a.w1), ebb::variable(a.b1), ebb::variable(a.w2), ebb::variable(a.b2)}; }
inline arrays values(const variables& v) { return {v.w1.value(), v.b1.value(), v.w2.value(), v.b2.value()}; }
inline arrays gradients(const variables& v) {
  return {v.w1.grad().value(), v.b1.grad().value(), v.w2.grad().value(), v.b2.grad().value()};
}
inline bool same(const arrays& a, const arrays& b) {
  bool all = true;
  ebb::each_leaf([&](const auto& x, const auto& y) { all = all && ebb::same_bits(x, y); }, a, b);
  return all;
}
/// The largest difference of two elements.
inline double distance(const arrays& a, const arrays& b) {
  double most = 0;
  ebb::each_leaf(
      [&](const auto& x, const auto& y) {
        for (std::size_t i = 0; i < x.size(); ++i)
          most = std::max(most, std::abs(static_cast<double>(x.data()[i]) - static_cast<double>(y.data()[i])));
      },
      a, b);
  return most;
}
inline std::uint64_t hash_of(const arrays& a) {
  std::uint64_t h = 1;
  ebb::each_leaf(
      [&](const auto& x) {
        h = ebb::mpi::detail::add_to_hash(h, ebb::hash_text({reinterpret_cast<const char*>(x.data()), x.size() * sizeof(float)}));
      },
      a);
  return h;
}

constexpr auto hidden = ebb::compile([](auto x, auto w, auto b) { return ebb::tanh(ebb::linear(x, w, b)); });
constexpr auto error = ebb::compile([](auto h, auto w, auto b, auto t) { return ebb::mse(ebb::linear(h, w, b), t); });

/// The examples of one part of a step's batch.
struct examples {
  ebb::tensor<float, ebb::dyn, 7> x;
  ebb::tensor<float, ebb::dyn, 3> t;
};
inline examples part_of_batch(int step, int part, std::size_t rows = 8) {
  const auto [x, t] = ebb::random_key(1000 * step + part).split<2>();
  return {ebb::normal<float, ebb::dyn, 7>(x, rows), ebb::normal<float, ebb::dyn, 3>(t, rows)};
}
inline ebb::variable<float> loss(const variables& net, const examples& e) {
  const auto h = hidden(e.x, net.w1, net.b1);
  if (!(h.value()(0, 0) < 2)) ebb::raise("tanh is above 2");  // a graph break
  return error(h, net.w2, net.b2, e.t);
}
inline void backward(const variables& net, const examples& e, bool captured) {
  ebb::backward(loss(net, e), {.compiled_autograd = captured});
}

/// The gradient of one part at these values, by one backward of a network that nothing else knows.
inline arrays gradient_of(const arrays& at, const examples& e) {
  const variables net = tracked(at);
  loss(net, e).backward();
  return gradients(net);
}
inline arrays plus(const arrays& a, const arrays& b) { return {a.w1 + b.w1, a.b1 + b.b1, a.w2 + b.w2, a.b2 + b.b2}; }
/// sum(0 ... n-1) = sum(0 ... m-1) + sum(m ... n-1), m the largest power of two below n.
inline arrays tree_sum(const std::vector<arrays>& g, std::size_t first, std::size_t count) {
  if (count == 1) return g[first];
  std::size_t m = 1;
  while (2 * m < count) m *= 2;
  return plus(tree_sum(g, first, m), tree_sum(g, first + m, count - m));
}
inline arrays mean_of_parts(const arrays& at, int step, int parts) {
  std::vector<arrays> g;
  for (int p = 0; p < parts; ++p) g.push_back(gradient_of(at, part_of_batch(step, p)));
  arrays sum = tree_sum(g, 0, g.size());
  ebb::each_leaf([&](auto& x) { x = x / static_cast<float>(parts); }, sum);
  return sum;
}

}  // namespace test

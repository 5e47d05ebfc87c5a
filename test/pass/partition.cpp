// test/pass/partition.cpp — the values that partition saves and those it recomputes, graph by graph.
// SPDX-License-Identifier: BSL-1.0
#include "../build.hpp"
#include "../catch.hpp"

#include <ebb/op/exponential.hpp>
#include <ebb/op/power.hpp>
#include <ebb/op/reduce.hpp>
#include <ebb/op/contract.hpp>
#include <ebb/pass/pipeline.hpp>
#include <ebb/pass/partition.hpp>

namespace {

using test::graph;
using test::m;
using test::n;

/// The values that the forward half saves, as text: one application of an op after another.
std::string saved(const graph& g, const ebb::vec<int>& wrt) {
  const graph joint = ebb::joint(g, wrt);
  const ebb::halves h = ebb::partition(joint, g.inputs, g.out.size());
  CHECK(test::error_text(h.forward) == "");
  CHECK(test::error_text(h.backward) == "");
  CHECK(h.backward.inputs == joint.inputs + h.saved);
  CHECK(h.forward.inputs == g.inputs);
  CHECK(h.backward.out.size() == wrt.size());
  REQUIRE(h.forward.out.size() == g.out.size() + h.saved);
  const ebb::graph_text text(h.forward);
  std::string s;
  for (int i = 0; i < h.saved; ++i) s += (i ? ", " : "") + text.application(h.forward.out[g.out.size() + i]);
  return s;
}

/// The same for a function of x, y, z and the derivative with respect to the arguments with these numbers.
template <class T = float>
std::string saved_of(auto f, const ebb::vec<int>& wrt) {
  return saved(test::build([&](test::builder& b) {
                 const auto x = b.in<T>({n, m}), y = b.in<T>({n, m}), z = b.in<T>({n, m});
                 return b.returns(f(x, y, z));
               }),
               wrt);
}

}  // namespace

TEST_CASE("saving an argument is free") {
  CHECK(saved_of([](auto x, auto y, auto) { return x * y; }, {0, 1}) == "");
}

TEST_CASE("cheap values are recomputed") {
  CHECK(saved_of([](auto x, auto, auto) { return (x * 2 + 1) * (x * 2 + 1); }, {0}) == "");
  CHECK(saved_of([](auto x, auto y, auto z) { return (x * y + z) / (x - z); }, {0, 1, 2}) == "");
}

TEST_CASE("heavy functions are saved, by their result if the pull mentions it") {
  CHECK(saved_of([](auto x, auto, auto) { return ebb::tanh(x * 2); }, {0}) == "tanh d");
  CHECK(saved_of([](auto x, auto, auto) { return ebb::exp(x) * ebb::exp(x); }, {0}) == "exp a");
  CHECK(saved_of([](auto x, auto, auto) { return ebb::log(x); }, {0}) == "");  // the pull mentions x only
}

TEST_CASE("cheap work on saved values is recomputed, however long it is") {
  CHECK(saved_of([](auto x, auto y, auto z) {
          const auto t = ebb::tanh(x);
          const auto u = (t * y + z) * (t - 1);
          return u * u;
        }, {0, 1, 2}) == "tanh a");
}

TEST_CASE("a product is saved if only it mentions its factors") {
  const auto product = [](auto x, auto y, auto z) {
    const auto s = ebb::tanh(x), t = ebb::tanh(y);
    return s * t * z;
  };
  CHECK(saved_of(product, {2}) == "mul d e");
  CHECK(saved_of(product, {0, 1, 2}) == "tanh a, tanh b");
}

TEST_CASE("the smaller side of a cast or a comparison is saved") {
  // d (t * y) / dy is t: a double that the float determines
  CHECK(saved(test::build([](test::builder& b) {
          const auto x = b.in<float>({n});
          const auto y = b.in<double>({n});
          return b.returns(ebb::cast_to<double>(ebb::exp(x)) * y);
        }), {1}) == "exp a");
  CHECK(saved(test::build([](test::builder& b) {
          const auto x = b.in<double>({n});
          const auto y = b.in<float>({n});
          return b.returns(ebb::cast_to<float>(ebb::exp(x)) * y);
        }), {1}) == "cast c");
  CHECK(saved_of([](auto x, auto y, auto z) {
          const auto s = ebb::exp(x), t = ebb::exp(y);
          return ebb::where(ebb::less(s, t), z, -z);
        }, {2}) == "less d e");
  // a sum is smaller than its broadcast
  CHECK(saved(test::build([](test::builder& b) {
          const auto x = b.in<float>({n, m});
          return b.returns(ebb::broadcast_to(ebb::sum_over(x, 2), x.g->eq[x.id].shape, 2) * x);
        }), {0}) == "sum a over 1");
}

TEST_CASE("contractions are saved") {
  const auto layers = test::build([](test::builder& b) {
    const auto x = b.in<float>({n, 8});
    const auto v = b.in<float>({8, 8}), w = b.in<float>({8, 8});
    const auto h = ebb::emit_on<ebb::op::matmul>({}, x, v);
    return b.returns(ebb::emit_on<ebb::op::matmul>({}, h, w));
  });
  CHECK(saved(layers, {0, 1, 2}) == "matmul a b");
}

TEST_CASE("values that only the backward half mentions are computed there") {
  const auto power = test::build([](test::builder& b) {
    const auto x = b.in<double>({n}), y = b.in<double>({n});
    return b.returns(ebb::pow(x, y));
  });
  CHECK(saved(power, {0, 1}).find("log") == std::string::npos);
}

TEST_CASE("no value is saved twice, and literals are never saved") {
  CHECK(saved_of([](auto x, auto, auto) { return (ebb::exp(x) * 2 + ebb::exp(x)) * ebb::exp(x); }, {0}) == "exp a");
  const graph both = test::build([](test::builder& b) {
    const auto x = b.in<float>({n});
    const auto e = ebb::exp(x);
    return b.returns(e, e * e);
  });
  const ebb::halves h = ebb::partition(ebb::joint(both, {0}), 1, 2);
  CHECK(h.saved == 1);
  CHECK(h.forward.out[2] == h.forward.out[0]);  // a saved result is one array
}

TEST_CASE("a gradient that depends on no seed is a literal of the backward half") {
  const graph g = test::build([](test::builder& b) {
    const auto x = b.in<float>({n}), y = b.in<float>({n});
    (void)y;
    return b.returns(x * 2);
  });
  const ebb::halves h = ebb::partition(ebb::joint(g, {0, 1}), 2, 1);
  CHECK(h.saved == 0);
  CHECK(h.backward.op(h.backward.out[1]).what == ebb::kind::literal);
}

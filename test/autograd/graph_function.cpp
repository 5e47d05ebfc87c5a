// test/autograd/graph_function.cpp — recorded backwards: they run as compiled, and save the values that their own backward needs.
// SPDX-License-Identifier: BSL-1.0
// covers: graph_function.hpp derivation.hpp
#include "../catch.hpp"

#include <ebb/ebb.hpp>

#include <any>
#include <vector>

namespace {

using matrix = ebb::tensor<double, ebb::dyn, ebb::dyn>;
using var = ebb::variable<double, ebb::dyn, ebb::dyn>;

matrix filled(std::size_t rows, std::size_t columns, double first) {
  const auto element = [=](std::size_t i, std::size_t j) { return first + 0.25 * static_cast<double>(i) - 0.5 * static_cast<double>(j); };
  return matrix::generate(element, rows, columns);
}

struct inputs {
  matrix u = filled(2, 3, 0.5), x = filled(2, 3, -1), z = filled(2, 3, 2), w = filled(3, 4, 0.75);
};

}  // namespace

// The gradient of u is a product, and the gradients of x and z are computed from it: so the recorded backward saves one of its results.
TEST_CASE("a recorded backward saves one of its results") {
  constexpr auto region = ebb::compile([](auto u, auto x, auto z, auto w) { return ebb::matmul(u + x * z, w); });
  const inputs in;
  const var u(in.u), x(in.x), z(in.z), w(in.w);
  const auto [gu, gx, gz] = ebb::grad(region(u, x, z, w), ebb::wrt(u, x, z), {.seeds = {matrix::ones(2, 4)}, .create_graph = true});
  const matrix h = ebb::matmul(matrix::ones(2, 4), ebb::transpose(in.w));
  CHECK(ebb::all_equal(gu.value(), h));
  CHECK(ebb::all_equal(gx.value(), h * in.z));
  CHECK(ebb::all_equal(gz.value(), h * in.x));
  const auto [xz, xw] = ebb::grad(ebb::sum(gx * gx), ebb::wrt(z, w));  // of h^2 z^2
  CHECK(ebb::all_equal(xz.value(), 2 * (h * in.z) * h));
  CHECK(ebb::all_equal(xw.value(), ebb::matmul(ebb::transpose(matrix(2 * (h * in.z) * in.z)), matrix::ones(2, 4))));
}

TEST_CASE("a recorded backward saves a result that was not requested") {
  constexpr auto region = ebb::compile([](auto u, auto x, auto z, auto w) { return std::tuple(ebb::matmul(u + x * z, w), x * x * 2); });
  const inputs in;
  const var u(in.u), x(in.x), z(in.z), w(in.w);
  const auto [product, square] = region(u, x, z, w);
  const auto [gu, gx] = ebb::grad(square, ebb::wrt(u, x), {.seeds = {matrix::ones(2, 3)}, .create_graph = true, .allow_unused = true});
  CHECK_FALSE(gu.defined());
  CHECK(ebb::all_equal(gx.value(), 4 * in.x));
  const auto [xx, xw] = ebb::grad(ebb::sum(gx * gx), ebb::wrt(x, w), {.allow_unused = true, .materialize_grads = true});
  CHECK(ebb::all_equal(xx.value(), 32 * in.x));
  CHECK(ebb::all_equal(xw.value(), matrix::full(0, 3, 4)));
}

TEST_CASE("a recorded backward unpacks its saved values once") {
  constexpr auto region = ebb::compile([](auto x, auto z) { return ebb::tanh(x) * z; });
  const inputs in;
  const var x(in.x), z(in.z);
  int packed = 0, unpacked = 0;
  const var y = [&] {
    const ebb::saved_tensors_hooks scope([&](const ebb::any_tensor& v) { return ++packed, v; },
                                         [&](const ebb::any_tensor& v) { return ++unpacked, v; });
    return var(region(x, z));
  }();
  REQUIRE(packed > 0);
  const var gx = ebb::grad(y, ebb::wrt(x), {.seeds = {matrix::ones(2, 3)}, .create_graph = true});
  CHECK(unpacked == packed);
  const var plain = region(x, z);
  const var want = ebb::grad(plain, ebb::wrt(x), {.seeds = {matrix::ones(2, 3)}});
  CHECK(ebb::all_equal(gx.value(), want.value()));
}

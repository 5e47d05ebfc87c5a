// bench/ops/constructions.cpp — ranges, grids and constants, other shapes, boxes, casts, bits and truth by ebb: values.
// SPDX-License-Identifier: BSL-1.0
#include "shaped.hpp"

#include <ebb/linalg.hpp>
#include <ebb/reductions.hpp>
#include <ebb/shapes.hpp>

namespace {

using matrix = ops::of<64, 64>;
using row = ops::of<64>;
using flat = ops::of<4096>;
constexpr ops::range one[] = {{-1, 1}}, two[] = {{-1, 1}, {-1, 1}}, large[] = {{0.5, 1}}, both_large[] = {{0.5, 1}, {0.5, 1}};

void of_numbers(ops::table& t) {
  using ops::add_shaped_value;
  add_shaped_value<flat, flat>(t, "arange", one, [](auto x) { return ebb::arange<4096>(x(0), x(1)); });
  add_shaped_value<matrix, matrix>(t, "arange_like", one, [](auto x) { return x * ebb::cast<float>(ebb::arange_like<1>(x)); });
  add_shaped_value<matrix, matrix>(t, "iota", one, [](auto x) { return x * ebb::cast<float>(ebb::iota<0>(x)); });
  add_shaped_value<flat, flat>(t, "linspace", one, [](auto x) { return ebb::linspace<4096>(x(0), x(1)); });
  add_shaped_value<flat, flat>(t, "logspace", one, [](auto x) { return ebb::logspace<4096>(x(0), x(1)); });
  add_shaped_value<matrix, row, row>(t, "meshgrid", two, [](auto x, auto y) {
    const auto [a, b] = ebb::meshgrid(x, y);
    return a * b;
  });
  add_shaped_value<matrix, matrix>(t, "eye", one, [](auto x) { return x + ebb::eye<64>(x); });
  add_shaped_value<matrix, matrix>(t, "full_like", one, [](auto x) { return ebb::full_like(x, x(0, 0)); });
  add_shaped_value<matrix, matrix>(t, "ones_like", one, [](auto x) { return x + ebb::ones_like(x); });
  add_shaped_value<matrix, matrix>(t, "zeros_like", one, [](auto x) { return ebb::maximum(x, ebb::zeros_like(x)); });
  add_shaped_value<matrix, matrix>(t, "extent", one, [](auto x) { return x * ebb::cast<float>(ebb::extent<0>(x)); });
  add_shaped_value<ops::of<80, 80>, ops::of<48, 48>, ops::of<32, 32>>(t, "block_diag", two, [](auto x, auto y) {
    return ebb::block_diag(x, y);
  });
}

void of_shapes(ops::table& t) {
  using ops::add_shaped_value;
  add_shaped_value<flat, matrix>(t, "flatten", one, [](auto x) { return ebb::flatten(x); });
  add_shaped_value<ops::of<128, 32>, matrix>(t, "reshape", one, [](auto x) { return ebb::reshape<ebb::dyn, 32>(x); });
  add_shaped_value<matrix, flat, matrix>(t, "reshape_like", two, [](auto x, auto y) { return ebb::reshape_like(x, y); });
  add_shaped_value<matrix, ops::of<64, 1, 64>>(t, "squeeze", one, [](auto x) { return ebb::squeeze(x); });
  add_shaped_value<ops::of<64, 1, 64>, matrix>(t, "unsqueeze", one, [](auto x) { return ebb::unsqueeze<1>(x); });
  add_shaped_value<matrix, row>(t, "broadcast_to", one, [](auto x) { return ebb::broadcast_to<64, 64>(x); });
  add_shaped_value<matrix, row, matrix>(t, "broadcast_like", two, [](auto x, auto y) { return ebb::broadcast_like(x, y); });
  add_shaped_value<matrix, row>(t, "expand", one, [](auto x) { return ebb::expand<64, 64>(ebb::unsqueeze<1>(x)); });
  add_shaped_value<row, matrix>(t, "select", one, [](auto x) { return ebb::select<1, 3>(x); });
  add_shaped_value<ops::of<1024>, ops::of<1024, 4>>(t, "unbind", one, [](auto x) {
    const auto [a, b, c, d] = ebb::unbind<1>(x);
    return a * b + c * d;
  });
  add_shaped_value<ops::of<64, 32>, matrix>(t, "chunk", one, [](auto x) {
    const auto [a, b] = ebb::chunk<1, 2>(x);
    return a * b;
  });
  add_shaped_value<matrix, matrix>(t, "split", one, [](auto x) {
    const auto [a, b] = ebb::split<1, 24, 40>(x);
    return ebb::concat<1>(b, a);
  });
  add_shaped_value<matrix, matrix, ops::of<64, 32>>(t, "placed", two, [](auto x, auto u) { return ebb::placed<1, 8, 40>(x, u); });
  add_shaped_value<ops::of<32, 32>, matrix>(t, "dynamic_slice", large, [](auto x) {
    const auto place = ebb::cast<std::int64_t>(10 * x(0, 0));
    return ebb::dynamic_slice<32, 32>(x, place, place);
  });
  add_shaped_value<matrix, matrix, ops::of<32, 32>>(t, "dynamic_update_slice", both_large, [](auto x, auto u) {
    const auto place = ebb::cast<std::int64_t>(10 * x(0, 0));
    return ebb::dynamic_update_slice(x, u, place, place);
  });
  add_shaped_value<ops::of<32, 64>, ops::of<32, 15, 8>>(t, "fold", one, [](auto x) { return ebb::fold<1, 64, 4>(x); });
}

void of_gradients(ops::table& t) {
  using ops::add_shaped;
  add_shaped<matrix, matrix>(t, "stop_gradient", one, [](auto x) { return x * ebb::stop_gradient(x); });
  add_shaped<matrix, matrix>(t, "grad_reverse", one, [](auto x) { return ebb::grad_reverse(x); });
  add_shaped<matrix, matrix>(t, "grad_scale", one, [](auto x) { return ebb::grad_scale(x, 0.5); });
  add_shaped<matrix, matrix>(t, "straight_through", one, [](auto x) { return ebb::straight_through(ebb::round, 4 * x); });
  add_shaped<matrix, matrix>(t, "masked", one, [](auto x) { return ebb::masked(x > 0, x, 1, ebb::sqrt); });
}

constexpr auto bits = [](auto x) { return ebb::cast<int>(1000 * x); };

void of_bits(ops::table& t) {
  using ops::add_shaped_value;
  add_shaped_value<matrix, matrix>(t, "cast", one, [](auto x) { return ebb::cast<float>(bits(x)); });
  add_shaped_value<matrix, matrix, matrix>(t, "bitwise_and", two, [](auto x, auto y) {
    return ebb::cast<float>(ebb::bitwise_and(bits(x), bits(y)));
  });
  add_shaped_value<matrix, matrix, matrix>(t, "bitwise_or", two, [](auto x, auto y) {
    return ebb::cast<float>(ebb::bitwise_or(bits(x), bits(y)));
  });
  add_shaped_value<matrix, matrix, matrix>(t, "bitwise_xor", two, [](auto x, auto y) {
    return ebb::cast<float>(ebb::bitwise_xor(bits(x), bits(y)));
  });
  add_shaped_value<matrix, matrix>(t, "bitwise_not", one, [](auto x) { return ebb::cast<float>(ebb::bitwise_not(bits(x))); });
  add_shaped_value<matrix, matrix, matrix>(t, "shift_left", both_large, [](auto x, auto y) {
    return ebb::cast<float>(ebb::shift_left(bits(x), ebb::cast<int>(8 * y)));
  });
  add_shaped_value<matrix, matrix, matrix>(t, "shift_right", both_large, [](auto x, auto y) {
    return ebb::cast<float>(ebb::shift_right(bits(x), ebb::cast<int>(8 * y)));
  });
  add_shaped_value<matrix, matrix, matrix>(t, "logical_and", two, [](auto x, auto y) {
    return ebb::cast<float>(ebb::logical_and(x > 0, y > 0));
  });
  add_shaped_value<matrix, matrix, matrix>(t, "logical_or", two, [](auto x, auto y) {
    return ebb::cast<float>(ebb::logical_or(x > 0, y > 0));
  });
  add_shaped_value<matrix, matrix>(t, "logical_not", one, [](auto x) { return ebb::cast<float>(ebb::logical_not(x > 0)); });
  add_shaped_value<matrix, matrix, matrix>(t, "isclose", both_large, [](auto x, auto y) {
    return ebb::cast<float>(ebb::isclose(x, x + 1.5e-5f * (y - 0.5f)));
  });
  add_shaped_value<ops::of<>, matrix, matrix>(t, "allclose", both_large, [](auto x, auto y) {
    return ebb::cast<float>(ebb::allclose(x, x + 1e-6f * y));
  });
}

void of_sums(ops::table& t) {
  using ops::add_shaped_value;
  add_shaped_value<row, matrix>(t, "var_mean", one, [](auto x) {
    const auto [variance, mean] = ebb::var_mean<1>(x);
    return variance + mean;
  });
  add_shaped_value<row, matrix, matrix>(t, "weighted_logsumexp", both_large, [](auto x, auto w) {
    return std::get<0>(ebb::weighted_logsumexp<1>(x, w));
  });
  add_shaped_value<ops::of<16, 16>, ops::of<16, 16, 16>, ops::of<16, 16>>(t, "einsum", two, [](auto x, auto y) {
    return ebb::einsum<"bij,bj->bi">(x, y);
  });
  add_shaped_value<matrix, matrix, matrix>(t, "tensordot", two, [](auto x, auto y) { return ebb::tensordot<1>(x, y); });
}

}  // namespace

void ops::constructions(table& t) {
  of_numbers(t);
  of_shapes(t);
  of_gradients(t);
  of_bits(t);
  of_sums(t);
}

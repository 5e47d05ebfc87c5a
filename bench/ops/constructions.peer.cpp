// bench/ops/constructions.peer.cpp — ranges, grids and constants, other shapes, boxes, casts, bits and truth by plain loops.
// SPDX-License-Identifier: BSL-1.0
#include "loop.hpp"

#include <algorithm>
#include <cstdint>

#ifdef OPS_BLAS
#include <cblas.h>
#endif

namespace {

using ops::read, ops::write;

constexpr std::size_t side = 64, all = side * side;

/// Each element of an operand, or of two.
template <class F>
void add_each(ops::table& t, const char* name, F) {
  ops::add_loop(t, name, [](read x, write out) {
    for (std::size_t i = 0; i < all; ++i) out[i] = F{}(x[i]);
  });
}
template <class F>
void add_both(ops::table& t, const char* name, F) {
  ops::add_loop(t, name, [](read x, read y, write out) {
    for (std::size_t i = 0; i < all; ++i) out[i] = F{}(x[i], y[i]);
  });
}
template <class F>
void add_each_slope(ops::table& t, const char* name, F) {
  ops::add_slope(t, name, [](read x, write out) {
    for (std::size_t i = 0; i < all; ++i) out[i] = F{}(x[i]);
  });
}
void add_copy(ops::table& t, const char* name) {
  ops::add_loop(t, name, [](read x, write out) { std::copy_n(x, all, out); });
}
/// Element (i, j) of a matrix, of an operand.
template <class F>
void add_places(ops::table& t, const char* name, F) {
  ops::add_loop(t, name, [](read x, write out) {
    for (std::size_t i = 0; i < side; ++i)
      for (std::size_t j = 0; j < side; ++j) out[i * side + j] = F{}(x, i, j);
  });
}
float number(std::size_t i) { return static_cast<float>(static_cast<std::int32_t>(i)); }

void of_numbers(ops::table& t) {
  ops::add_loop(t, "arange", [](read x, write out) {
    const float first = x[0], step = x[1];
    for (std::size_t i = 0; i < all; ++i) out[i] = first + number(i) * step;
  });
  const auto line = [](read x, write out) {
    const float first = x[0], last = x[1], step = (last - first) / (all - 1);
    for (std::size_t i = 0; i < all / 2; ++i) out[i] = first + number(i) * step;
    for (std::size_t i = all / 2; i < all; ++i) out[i] = last - number(all - 1 - i) * step;
  };
  ops::add_loop(t, "linspace", line);
  ops::add_loop(t, "logspace", [](read x, write out) {
    decltype(line){}(x, out);
    for (std::size_t i = 0; i < all; ++i) out[i] = std::pow(10.0f, out[i]);
  });
  add_places(t, "arange_like", [](read x, std::size_t i, std::size_t j) { return x[i * side + j] * number(j); });
  add_places(t, "iota", [](read x, std::size_t i, std::size_t j) { return x[i * side + j] * number(j); });  // of the first axis alone
  ops::add_loop(t, "meshgrid", [](read x, read y, write out) {
    for (std::size_t i = 0; i < side; ++i)
      for (std::size_t j = 0; j < side; ++j) out[i * side + j] = x[i] * y[j];
  });
  ops::add_loop(t, "eye", [](read x, write out) {
    std::copy_n(x, all, out);
    for (std::size_t i = 0; i < side; ++i) out[i * (side + 1)] += 1;
  });
  ops::add_loop(t, "full_like", [](read x, write out) { std::fill_n(out, all, x[0]); });
  add_each(t, "ones_like", [](float x) { return x + 1; });
  add_each(t, "zeros_like", [](float x) { return x > 0 ? x : 0; });
  add_each(t, "extent", [](float x) { return x * side; });
  ops::add_loop(t, "block_diag", [](read x, read y, write out) {
    for (std::size_t i = 0; i < 48; ++i) {
      std::copy_n(x + i * 48, 48, out + i * 80);
      std::fill_n(out + i * 80 + 48, 32, 0.0f);
    }
    for (std::size_t i = 0; i < 32; ++i) {
      std::fill_n(out + (48 + i) * 80, 48, 0.0f);
      std::copy_n(y + i * 32, 32, out + (48 + i) * 80 + 48);
    }
  });
}

void of_shapes(ops::table& t) {
  for (const char* name : {"flatten", "reshape", "squeeze", "unsqueeze"}) add_copy(t, name);
  ops::add_loop(t, "reshape_like", [](read x, read, write out) { std::copy_n(x, all, out); });
  const auto repeated = [](read x, write out) {
    for (std::size_t i = 0; i < side; ++i) std::copy_n(x, side, out + i * side);
  };
  ops::add_loop(t, "broadcast_to", repeated);
  ops::add_loop(t, "broadcast_like", [](read x, read, write out) { decltype(repeated){}(x, out); });
  ops::add_loop(t, "expand", [](read x, write out) {
    for (std::size_t i = 0; i < side; ++i) std::fill_n(out + i * side, side, x[i]);
  });
  ops::add_loop(t, "select", [](read x, write out) {
    for (std::size_t i = 0; i < side; ++i) out[i] = x[i * side + 3];
  });
  ops::add_loop(t, "unbind", [](read x, write out) {
    for (std::size_t i = 0; i < all / 4; ++i) out[i] = x[4 * i] * x[4 * i + 1] + x[4 * i + 2] * x[4 * i + 3];
  });
  ops::add_loop(t, "chunk", [](read x, write out) {
    for (std::size_t i = 0; i < side; ++i)
      for (std::size_t j = 0; j < 32; ++j) out[i * 32 + j] = x[i * side + j] * x[i * side + 32 + j];
  });
  ops::add_loop(t, "split", [](read x, write out) {
    for (std::size_t i = 0; i < all; i += side) {
      std::copy_n(x + i + 24, 40, out + i);
      std::copy_n(x + i, 24, out + i + 40);
    }
  });
  ops::add_loop(t, "placed", [](read x, read u, write out) {
    std::copy_n(x, all, out);
    for (std::size_t i = 0; i < side; ++i) std::copy_n(u + i * 32, 32, out + i * side + 8);
  });
  ops::add_loop(t, "dynamic_slice", [](read x, write out) {
    const auto place = static_cast<std::size_t>(10 * x[0]);
    for (std::size_t i = 0; i < 32; ++i) std::copy_n(x + (place + i) * side + place, 32, out + i * 32);
  });
  ops::add_loop(t, "dynamic_update_slice", [](read x, read u, write out) {
    const auto place = static_cast<std::size_t>(10 * x[0]);
    std::copy_n(x, all, out);
    for (std::size_t i = 0; i < 32; ++i) std::copy_n(u + i * 32, 32, out + (place + i) * side + place);
  });
  ops::add_loop(t, "fold", [](read x, write out) {
    std::fill_n(out, 32 * side, 0.0f);
    for (std::size_t i = 0; i < 32; ++i)
      for (std::size_t j = 0; j < 15; ++j)
        for (std::size_t k = 0; k < 8; ++k) out[i * side + 4 * j + k] += x[(i * 15 + j) * 8 + k];
  });
}

void of_gradients(ops::table& t) {
  add_each(t, "stop_gradient", [](float x) { return x * x; });
  add_each_slope(t, "stop_gradient", [](float x) { return 2 * (x * x) * x; });
  add_copy(t, "grad_reverse");
  add_each_slope(t, "grad_reverse", [](float x) { return -(2 * x); });
  add_copy(t, "grad_scale");
  add_each_slope(t, "grad_scale", [](float x) { return 2 * x * 0.5f; });
  add_each(t, "straight_through", [](float x) { return std::nearbyint(4 * x); });
  add_each_slope(t, "straight_through", [](float x) { return 2 * std::nearbyint(4 * x) * 4; });
  add_each(t, "masked", [](float x) { return x > 0 ? std::sqrt(x) : 0; });
  add_each_slope(t, "masked", [](float x) {
    const float root = std::sqrt(x > 0 ? x : 1);
    return x > 0 ? 2 * root * (0.5f / root) : 0;
  });
}

std::int32_t bits(float x) { return static_cast<std::int32_t>(1000 * x); }
float truth(bool b) { return b ? 1.0f : 0.0f; }
bool close(float x, float y) { return std::fabs(x - y) <= 1e-8f + 1e-5f * std::fabs(y); }

void of_bits(ops::table& t) {
  add_each(t, "cast", [](float x) { return static_cast<float>(bits(x)); });
  add_both(t, "bitwise_and", [](float x, float y) { return static_cast<float>(bits(x) & bits(y)); });
  add_both(t, "bitwise_or", [](float x, float y) { return static_cast<float>(bits(x) | bits(y)); });
  add_both(t, "bitwise_xor", [](float x, float y) { return static_cast<float>(bits(x) ^ bits(y)); });
  add_each(t, "bitwise_not", [](float x) { return static_cast<float>(~bits(x)); });
  add_both(t, "shift_left", [](float x, float y) { return static_cast<float>(bits(x) << static_cast<std::int32_t>(8 * y)); });
  add_both(t, "shift_right", [](float x, float y) { return static_cast<float>(bits(x) >> static_cast<std::int32_t>(8 * y)); });
  add_both(t, "logical_and", [](float x, float y) { return truth((x > 0) & (y > 0)); });
  add_both(t, "logical_or", [](float x, float y) { return truth((x > 0) | (y > 0)); });
  add_each(t, "logical_not", [](float x) { return truth(!(x > 0)); });
  add_both(t, "isclose", [](float x, float y) { return truth(close(x, x + 1.5e-5f * (y - 0.5f))); });
  ops::add_loop(t, "allclose", [](read x, read y, write out) {
    int far = 0;
    for (std::size_t i = 0; i < all; ++i) far |= !close(x[i], x[i] + 1e-6f * y[i]);
    out[0] = truth(!far);
  });
}

void of_sums(ops::table& t) {
  ops::add_loop(t, "var_mean", [](read x, write out) {
    for (std::size_t i = 0; i < side; ++i) {
      const float mean = ops::reduced(x + i * side, side, ops::plus, ops::itself) / side;
      out[i] = mean + ops::reduced(x + i * side, side, ops::plus, [mean](auto a) { return (a - mean) * (a - mean); }) / (side - 1);
    }
  });
  ops::add_loop(t, "weighted_logsumexp", [](read x, read w, write out) {
    for (std::size_t i = 0; i < side; ++i) {
      const float most = ops::reduced(x + i * side, side, ops::larger, ops::itself);
      float sum = 0;
      for (std::size_t j = i * side; j < (i + 1) * side; ++j) sum += w[j] * std::exp(x[j] - most);
      out[i] = most + std::log(sum);
    }
  });
  ops::add_loop(t, "einsum", [](read x, read y, write out) {
    std::fill_n(out, 256, 0.0f);
    for (std::size_t b = 0; b < 16; ++b)
      for (std::size_t i = 0; i < 16; ++i) {
        ops::block sums{};
        for (std::size_t j = 0; j < 16; j += 8) {
          ops::block a, c;
          __builtin_memcpy(&a, x + (b * 16 + i) * 16 + j, sizeof a);
          __builtin_memcpy(&c, y + b * 16 + j, sizeof c);
          sums += a * c;
        }
        for (int k = 0; k < 8; ++k) out[b * 16 + i] += sums[k];
      }
  });
#ifdef OPS_BLAS
  ops::add_loop(t, "tensordot", [](read x, read y, write out) {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, side, side, side, 1, x, side, y, side, 0, out, side);
  }, "BLAS");
#else
  ops::add_loop(t, "tensordot", [](read x, read y, write out) {
    std::fill_n(out, all, 0.0f);
    for (std::size_t i = 0; i < side; ++i)
      for (std::size_t k = 0; k < side; ++k)
        for (std::size_t j = 0; j < side; ++j) out[i * side + j] += x[i * side + k] * y[k * side + j];
  });
#endif
}

}  // namespace

void ops::peers_of_constructions(table& t) {
  of_numbers(t);
  of_shapes(t);
  of_gradients(t);
  of_bits(t);
  of_sums(t);
}

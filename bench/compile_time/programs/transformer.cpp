// bench/compile_time/programs/transformer.cpp — a transformer of two blocks: its loss and the gradient of 29 parameters, to given memory.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/functional.hpp>

#include <cmath>
#include <cstdio>

constexpr std::size_t length = 16, width = 32, heads = 4, letters = 27;

template <template <class, std::size_t...> class Array>
struct block {
  using vector = Array<float, width>;
  using wide_vector = Array<float, 4 * width>;
  using three_vectors = Array<float, 3 * width>;
  using three = Array<float, 3 * width, width>;
  using square = Array<float, width, width>;
  using widen = Array<float, 4 * width, width>;
  using narrow = Array<float, width, 4 * width>;
  BOOST_HANA_DEFINE_STRUCT(block, (vector, gain1), (vector, shift1), (three, w_attend), (three_vectors, b_attend), (square, w_join),
                           (vector, b_join), (vector, gain2), (vector, shift2), (widen, w_up), (wide_vector, b_up), (narrow, w_down),
                           (vector, b_down));
};

template <template <class, std::size_t...> class Array>
struct transformer {
  using embedding = Array<float, letters, width>;
  using positions = Array<float, length, width>;
  using vector = Array<float, width>;
  using one_block = block<Array>;
  BOOST_HANA_DEFINE_STRUCT(transformer, (embedding, letter), (positions, place), (one_block, first), (one_block, second), (vector, gain),
                           (vector, shift), (embedding, head));
};

constexpr auto normalize = [](auto x, auto gain, auto shift) {
  const auto centred = x - ebb::mean<1>(x, ebb::keep_dims);
  return centred / ebb::sqrt(ebb::mean<1>(centred * centred, ebb::keep_dims) + 1e-5f) * gain + shift;
};

constexpr auto gelu = [](auto x) { return 0.5f * x * (1.f + ebb::tanh(0.7978846f * (x + 0.044715f * x * x * x))); };

template <int Part>
constexpr auto head_rows = [](auto all) {
  const auto part = ebb::slice<1, Part * static_cast<int>(width), (Part + 1) * static_cast<int>(width)>(all);
  return ebb::transpose<1, 0, 2>(ebb::reshape<length, heads, width / heads>(part));
};

constexpr auto attend = [](auto x, auto mask, auto p) {
  const auto all = ebb::linear(x, p.w_attend, p.b_attend);
  const auto query = head_rows<0>(all), key = head_rows<1>(all), value = head_rows<2>(all);
  const auto weights = ebb::softmax<2>(ebb::matmul(query, ebb::transpose<0, 2, 1>(key)) * 0.3535534f + mask);
  const auto joined = ebb::reshape<length, width>(ebb::transpose<1, 0, 2>(ebb::matmul(weights, value)));
  return ebb::linear(joined, p.w_join, p.b_join);
};

constexpr auto through = [](auto x, auto mask, auto p) {
  const auto h = x + attend(normalize(x, p.gain1, p.shift1), mask, p);
  return h + ebb::linear(gelu(ebb::linear(normalize(h, p.gain2, p.shift2), p.w_up, p.b_up)), p.w_down, p.b_down);
};

constexpr auto loss = [](auto p, auto text, auto next, auto mask) {
  const auto x = ebb::take(p.letter, text) + p.place;
  const auto h = through(through(x, mask, p.first), mask, p.second);
  return ebb::cross_entropy(ebb::linear(normalize(h, p.gain, p.shift), p.head), next);
};

int main() {
  transformer<ebb::tensor> p, g;
  unsigned r = 7;
  ebb::each_leaf([&](auto& x) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      r = r * 1664525u + 1013904223u;
      x.mutable_data()[i] = (static_cast<float>(r >> 8) / 16777216.f - 0.5f) * 0.4f;
    }
  }, p);
  ebb::tensor<int, length> text, next;
  ebb::tensor<float, length, length> mask;
  for (std::size_t i = 0; i < length; ++i) {
    text.at(i) = static_cast<int>(i * 5 % letters);
    next.at(i) = static_cast<int>((i + 1) * 5 % letters);
    for (std::size_t j = 0; j < length; ++j) mask.at(i, j) = j > i ? -1e9f : 0.f;
  }
  ebb::tensor<float> value, lower;
  ebb::value_and_grad(loss)(ebb::into(value, g), p, text, next, mask);
  double square = 0;  // the decrease of the loss by a small step against the gradient
  ebb::each_leaf([&](auto& x, const auto& d) {
    for (std::size_t i = 0; i < x.size(); ++i) square += static_cast<double>(d.data()[i]) * static_cast<double>(d.data()[i]);
    x -= 0.01f * d;
  }, p, g);
  ebb::value_and_grad(loss)(ebb::into(lower, g), p, text, next, mask);
  const double gained = static_cast<double>(value() - lower()) / 0.01 / square;
  std::printf("%d %d\n", 29, std::abs(gained - 1) < 0.1);
}

// bench/ops/sliding.cpp — convolutions along one, two and three axes and their transposes by ebb: values of floats.
// SPDX-License-Identifier: BSL-1.0
#include "shaped.hpp"

#include <ebb/nn.hpp>

namespace {

constexpr ebb::conv same{.padding = 1};
constexpr ebb::conv doubled{.stride = 2, .padding = 1};  // with four taps the transpose has twice the places

}  // namespace

void ops::sliding(table& t) {
  constexpr range two[] = {{-1, 1}, {-1, 1}};
  add_shaped_value<of<4, 32, 64>, of<4, 16, 64>, of<32, 16, 3>>(t, "conv1d", two, [](auto x, auto w) { return ebb::conv1d<same>(x, w); });
  add_shaped_value<of<1, 8, 8, 8, 16>, of<1, 4, 8, 8, 16>, of<8, 4, 3, 3, 3>>(t, "conv3d", two, [](auto x, auto w) {
    return ebb::conv3d<same>(x, w);
  });
  add_shaped_value<of<4, 16, 128>, of<4, 16, 64>, of<16, 16, 4>>(t, "conv_transpose1d", two, [](auto x, auto w) {
    return ebb::conv_transpose1d<doubled>(x, w);
  });
  add_shaped_value<of<1, 8, 32, 32>, of<1, 16, 16, 16>, of<16, 8, 4, 4>>(t, "conv_transpose2d", two, [](auto x, auto w) {
    return ebb::conv_transpose2d<doubled>(x, w);
  });
  add_shaped_value<of<1, 2, 16, 16, 16>, of<1, 8, 8, 8, 8>, of<8, 2, 4, 4, 4>>(t, "conv_transpose3d", two, [](auto x, auto w) {
    return ebb::conv_transpose3d<doubled>(x, w);
  });
}

// test/op/shape.cpp — moves of elements, and arrays in another shape.
// SPDX-License-Identifier: BSL-1.0
// covers: shape.hpp move.hpp shaping.hpp axes.hpp tensor/broadcast.hpp
#include "golden.hpp"

namespace {

using golden::of;
using golden::real;
constexpr auto dyn = ebb::dyn;
const golden::bounds exact{.value = 0, .grad = 0};

/// Checks f on the recorded 2 x 3 x 4 elements, with static and with dyn extents.
const auto both = [](const char* name, auto f, golden::bounds b = exact) {
  golden::check<of<real, 2, 3, 4>>("shapes", name, f, b);
  golden::check<of<real, dyn, dyn, 4>>("shapes", name, f, b);
  golden::check<of<real, dyn, 3, dyn>>("shapes", name, f, b);
};

TEST_CASE("reshapes give PyTorch's recorded values") {
  both("reshape_flat", [](auto x) { return ebb::reshape<dyn>(x); });
  both("reshape_flat", [](auto x) { return ebb::flatten(x); });
  both("reshape_2d", [](auto x) { return ebb::reshape<6, 4>(x); });
  both("reshape_2d", [](auto x) { return ebb::flatten<0, 1>(x); });
  both("unsqueeze", [](auto x) { return ebb::unsqueeze<1>(x); });
  both("squeeze", [](auto x) { return ebb::squeeze<1>(ebb::unsqueeze<1>(x)); });
  golden::check<of<real, dyn, 3, 4>>("shapes", "reshape_2d", [](auto x) { return ebb::reshape<dyn, 4>(x); }, exact);
  golden::check<of<real, 2, 3, 4>>("shapes", "reshape_2d", [](auto x) { return ebb::reshape<6, dyn>(x); }, exact);
}

constexpr auto twice = [](auto x) { return ebb::concat<0>(x, x); };

TEST_CASE("moves give PyTorch's recorded values") {
  both("transpose_01", [](auto x) { return ebb::transpose<1, 0, 2>(x); });
  both("transpose_02", [](auto x) { return ebb::transpose<2, 1, 0>(x); });
  both("permute", [](auto x) { return ebb::transpose<2, 0, 1>(x); });
  both("movedim", [](auto x) { return ebb::transpose<1, 2, 0>(x); });
  both("slice", [](auto x) { return ebb::slice<2, 0, 2>(ebb::slice<1, 1>(x)); });
  both("slice_step", [](auto x) { return ebb::slice<-1, 1>(ebb::slice<1, 0, ebb::to_end, 2>(x)); });
  both("slice_negative", [](auto x) { return ebb::slice<-1, -2>(ebb::select<0, -1>(x)); });
  both("select", [](auto x) { return ebb::select<0, 1>(x); });
  both("narrow", [](auto x) { return ebb::slice<1, 1, 3>(x); });
  both("flip_0", [](auto x) { return ebb::flip<0>(x); });
  both("flip_all", [](auto x) { return ebb::flip(x); });
  both("roll", [](auto x) { return ebb::concat<1>(ebb::slice<1, -1>(x), ebb::slice<1, 0, -1>(x)); });
  both("repeat", [](auto x) { return ebb::concat<2>(twice(x), twice(x), twice(x)); }, {.grad = 2});
  both("pad_constant", [](auto x) { return ebb::pad<-1, 1, 2>(x, 0.5); });
  both("pad_two_axes", [](auto x) { return ebb::pad<-1, 1, 0>(ebb::pad<1, 0, 2>(x)); });
  both("pad_negative", [](auto x) { return ebb::pad<-1, 0, 1>(ebb::slice<-1, 1>(x)); });
  both("expand", [](auto x) { return ebb::broadcast_to<3, dyn, dyn, dyn>(x); }, {.grad = 2});
  both("masked_fill", [](auto x) { return ebb::where(x > 0, 2.0, x); });
  both("add_transposed", [](auto x) { return x + ebb::flip<2>(x); }, {.value = 0.5, .grad = 1});
  golden::check<of<real, 2, dyn, 4>>("shapes", "self_broadcast", [](auto x) { return x * ebb::slice<0, 0, 1>(x); },
                                   {.value = 0.5, .grad = 4});
}

TEST_CASE("joined arrays give PyTorch's recorded values") {
  const auto joined = [](const char* name, auto f) {
    golden::check<of<real, 2, 3>, of<real, 2, 3>>("shapes", name, f, {.grad = 2});
    golden::check<of<real, dyn, dyn>, of<real, dyn, 3>>("shapes", name, f, {.grad = 2});
    golden::check<of<real, 2, dyn>, of<real, dyn, dyn>>("shapes", name, f, {.grad = 2});
  };
  joined("concatenate_0", [](auto x, auto y) { return ebb::concat<0>(x, y, x); });
  joined("concatenate_1", [](auto x, auto y) { return ebb::concat<-1>(x, y, x); });
  joined("stack_0", [](auto x, auto y) { return ebb::stack<0>(x, y); });
  joined("stack_1", [](auto x, auto y) { return ebb::stack<1>(x, y); });
  const auto row = [](auto x, auto y) { return ebb::concat<1>(x, y); };
  golden::check<of<real, 2, 1>, of<real, 2, 4>>("shapes", "concatenate_unequal", row, exact);
  golden::check<of<real, dyn, dyn>, of<real, dyn, dyn>>("shapes", "concatenate_unequal", row, exact);
  const auto column = [](auto x, auto y) { return ebb::concat<0>(x, y); };
  golden::check<of<real, 2, 3>, of<real, 0, 3>>("shapes", "concatenate_empty", column, exact);
  golden::check<of<real, dyn, 3>, of<real, dyn, 3>>("shapes", "concatenate_empty", column, exact);
}

TEST_CASE("broadcasts give PyTorch's recorded values") {
  const auto each = [](auto shapes, const std::string& where) {
    const auto run = [&]<class X, class Y>(std::tuple<X, Y>) {
      const golden::bounds b{.value = 1, .grad = 4, .spread = true};
      golden::check<X, Y>("shapes", "broadcast_add_" + where, [](auto x, auto y) { return x + y; }, b);
      golden::check<X, Y>("shapes", "broadcast_sub_" + where, [](auto x, auto y) { return x - y; }, b);
      golden::check<X, Y>("shapes", "broadcast_mul_" + where, [](auto x, auto y) { return x * y; }, b);
      golden::check<X, Y>("shapes", "broadcast_div_" + where, [](auto x, auto y) { return x / y; }, b);
      golden::check<X, Y>("shapes", "broadcast_maximum_" + where, [](auto x, auto y) { return ebb::maximum(x, y); }, b);
      golden::check<X, Y>("shapes", "broadcast_pow_" + where, [](auto x, auto y) { return ebb::pow(x, y); }, b);
      golden::check<X, Y>("shapes", "broadcast_where_" + where, [](auto x, auto y) { return ebb::where(x > 0, x, y); }, b);
    };
    run(shapes);
  };
  each(std::tuple<of<real, 2, 3>, of<real, dyn>>(), "row");
  each(std::tuple<of<real, dyn, 3>, of<real, 2, 1>>(), "column");
  each(std::tuple<of<real, 2, dyn>, of<real>>(), "scalar");
  each(std::tuple<of<real, dyn, 3>, of<real, 1, 1>>(), "ones");
  each(std::tuple<of<real, dyn, 1>, of<real, 1, 3>>(), "outer");
  each(std::tuple<of<real, 3>, of<real, dyn, dyn>>(), "left_missing");
  each(std::tuple<of<real, 2, 1, dyn>, of<real, 3, 1>>(), "both");
}

}  // namespace

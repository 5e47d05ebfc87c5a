// test/autograd/segment.static.cpp — the computed, saved and shared values of a segment, as constants.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/autograd/region.hpp>
#include <ebb/trace/functions.hpp>

#include <string_view>

namespace {

using V = ebb::term<float, ebb::dyn>;
template <class F, class Wrt, class... T>
using segment = ebb::detail::segment<F, Wrt, T...>;
template <int... I>
using wrt = ebb::detail::leaf_list<I...>;

constexpr auto product = [](auto x, auto y) { return x * y; };
using both = segment<decltype(product), wrt<0, 1>, V, V>;
static_assert(both::saves == 0 && both::kept == 2 && both::edges == 2 && both::outputs == 1);
static_assert(both::backward::results == 2);
static_assert(std::string_view(both::name) == "mul");

using left = segment<decltype(product), wrt<0>, V, V>;  // the right operand is a tensor: it gets no gradient, and x is not saved
static_assert(left::kept == 1 && left::read[0] == 1 && left::edges == 1);

constexpr auto sum = [](auto x, auto y) { return x + y; };
using passed_on = segment<decltype(sum), wrt<0, 1>, V, V>;  // the gradient itself, twice: nothing is computed
static_assert(passed_on::kept == 0 && passed_on::backward::results == 0);
static_assert(passed_on::gradient_from[0] == ~0 && passed_on::gradient_from[1] == ~0);

constexpr auto bend = [](auto x) { return ebb::tanh(x); };
using saving = segment<decltype(bend), wrt<0>, V>;  // the result is saved
static_assert(saving::saves == 1 && saving::kept == 1 && saving::forward::results == 1);
static_assert(saving::result_from[0] == 0 && saving::result_from[1] == 0);

constexpr auto several = [](auto x, auto y) { return std::tuple(x * x, ebb::argmax<0>(x), ebb::stop_gradient(y), y, x * y); };
using mixed = segment<decltype(several), wrt<0, 1>, V, V>;
static_assert(mixed::results == 5 && mixed::outputs == 3);
static_assert(mixed::node_output[0] == 0 && mixed::node_output[1] == -1 && mixed::node_output[2] == -1 && mixed::node_output[3] == 1);
static_assert(mixed::result_from[3] == ~1);              // y itself
static_assert(mixed::depends[0] == 0b1001);              // of the four real results, the first and the last
static_assert(mixed::depends[1] == 0b1100);

// Equal programs are equal types: a region and the same region again.
static_assert(std::is_same_v<both, segment<decltype(product), wrt<0, 1>, V, V>>);

}  // namespace

// test/exec/show.cpp — programs printed as text.
// SPDX-License-Identifier: BSL-1.0
// covers: show.hpp stage_texts.hpp program.hpp plan/print.hpp
#include "../approved.hpp"
#include "../catch.hpp"
#include "../watched.hpp"

#include <ebb/ebb.hpp>

namespace {

using X = ebb::tensor<float, ebb::dyn, 64>;
using W = ebb::tensor<float, 64>;
constexpr auto f = [](auto x, auto w) { return ebb::sum(ebb::tanh(x * w)); };

TEST_CASE("halves are printed from their types") {
  CHECK(ebb::to_string(ebb::forward_t<decltype(f), X, W>{}) ==
        "a = input 0 : f32[n, 64]\n"
        "b = input 1 : f32[64]\n"
        "c = broadcast b along 0 : f32[n, 64]\n"
        "d = mul a c : f32[n, 64]\n"
        "e = tanh d : f32[n, 64]\n"
        "f = sum e over 0 1 : f32\n"
        "return f e\n");
  const std::string backward = ebb::to_string(ebb::backward_t<decltype(f), ebb::off, X, W>{});
  INFO(backward);
  CHECK(backward.find(" = input 2 : f32[n, 64]\n") != std::string::npos);
  CHECK(backward.find("return ") != std::string::npos);
}

/// Each pull in it gives one product: where there are two, g++ makes the second one first at run time.
constexpr auto g = [](auto x, auto w) { return ebb::sum(ebb::tanh(-(-(x + w)))); };

TEST_CASE("the stages of a function and of its region are as approved") {
  namespace stages = ebb::stages;
  CHECK(test::difference_from_approved("stages_of_gradient", ebb::to_string<stages::all, X, W>(ebb::value_and_grad<1>(g))) == "");
  CHECK(test::difference_from_approved("stages_of_region", ebb::to_string<stages::all, X, W>(ebb::compile(g))) == "");
  CHECK(ebb::to_string<stages::partitioned, X, W>(ebb::compile(g)).starts_with("forward half\na = input 0 : f32[n, 64]\n"));
  CHECK(ebb::to_string<stages::planned, X, W>(ebb::compile(g)).starts_with("step 0: a loop over [n, 64]\n"));
}

/// Passes make the same at run time as of the constant, and each graph on the way is valid.
template <class... A>
void check_last_stage(auto h) {
  const test::watched_stages outside;
  const std::string last = ebb::to_string<ebb::stages::lowered, A...>(h);
  CHECK(last == ebb::to_string<A...>(h));
  CHECK(outside.count == 0);
}

TEST_CASE("the lowered stage is the program that runs") {
  check_last_stage<X, W>(ebb::compile(g));
  check_last_stage<X, W>(ebb::value_and_grad<0, 1>(g));
  check_last_stage<X, W>(ebb::grad<1>(g));
  check_last_stage<X, W, X, W>(ebb::jvp(g));
  check_last_stage<X, W, X, W>(ebb::hvp(g));
  check_last_stage<X, W>(ebb::jacobian<1>([](auto x, auto w) { return ebb::sum<0>(x - w); }));
  check_last_stage<X, W>(ebb::value_and_grad<1>([](auto x, auto w) { return std::tuple(g(x, w), x - w); }, ebb::has_aux));
  check_last_stage<X, W>(ebb::grad<1>([](auto x, auto w) { return std::tuple(g(x, w), x - w); }, ebb::has_aux));
}

TEST_CASE("each stage that differentiates is seen, and of grad those of value_and_grad") {
  CHECK(ebb::to_string<ebb::stages::differentiated, X, W>(ebb::grad<1>(g)).find("sub 1.0 ") != std::string::npos);
  CHECK(ebb::to_string<ebb::stages::differentiated, X, W>(ebb::grad<1>(g)) ==
        ebb::to_string<ebb::stages::differentiated, X, W>(ebb::value_and_grad<1>(g)));
  CHECK(ebb::to_string<ebb::stages::differentiated, X, W, X, W>(ebb::jvp(g)).find("input 4 : f32[64]") != std::string::npos);
  CHECK(ebb::to_string<ebb::stages::traced, X, W>(ebb::hessian<1>(g)).find("input 1 : f32[64]") != std::string::npos);
}

}  // namespace

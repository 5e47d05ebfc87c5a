// test/autograd/stage_log.cpp — EBB_LOGS=passes: what is printed of regions and of graphs that are derived at run time, and when.
// SPDX-License-Identifier: BSL-1.0
#include "../approved.hpp"
#include "../catch.hpp"
#include "../watched.hpp"

#include <ebb/ebb.hpp>

#include <cmath>
#include <string>

namespace {

using array = ebb::tensor<float, ebb::dyn, 3>;
using var = ebb::variable<float, ebb::dyn, 3>;

std::string passes_said;
void keep_passes(ebb::log_topic t, std::string_view s) {
  if (t == ebb::log_topic::passes) passes_said += s;
}
/// The log of passes while f runs.
std::string passes_of(auto&& f) {
  passes_said = "";
  ebb::set_log_sink(keep_passes);
  ebb::set_log(ebb::log_topic::passes, true);
  f();
  ebb::set_log(ebb::log_topic::passes, false);
  ebb::set_log_sink(nullptr);
  return passes_said;
}
constexpr auto energy_of_sum = [](auto x, auto w) { return ebb::sum(ebb::tanh(-(-(x + w)))); };

}  // namespace

TEST_CASE("the stages of a region are said once, when it is first called with variables") {
  constexpr auto region = ebb::compile(energy_of_sum);
  const var x(array::full(0.5f, 2));
  const ebb::variable<float, 3> w(ebb::tensor<float, 3>::full(1.0f));
  ebb::enable_pass_log();
  const std::string all = passes_of([&] { region(x, w).backward(); });
  CHECK(all.starts_with("passes: ebb::compile of add+neg+neg+tanh+sum\n  traced\n    a = input 0 : f32[n, 3]\n    b = input 1 : f32[3]\n"));
  CHECK(all.find("  differentiated, both halves\n") < all.find("  simplified, both halves"));
  // From there on it is what print shows of the same region, where all real arguments are variables.
  const std::string printed = ebb::to_string<ebb::stages::all, array, ebb::tensor<float, 3>>(region);
  const auto halves_in = [](const std::string& text) { return text.substr(text.find("  partitioned, forward half\n")); };
  CHECK(halves_in(all) == halves_in(printed));
  CHECK(passes_of([&] { region(x, w).backward(); }) == "");
  // Another list of variables is another region.
  const std::string of_one = passes_of([&] { static_cast<void>(region(x, w.value())); });
  CHECK(of_one.find("\n  partitioned, backward half\n") != std::string::npos);
  CHECK(of_one.find("over 0 : f32[3]") == std::string::npos);  // that was the gradient of w
}

TEST_CASE("under an autocast policy the halves are shown, and what becomes of them") {
  constexpr auto region = ebb::compile<ebb::ambient<ebb::off, ebb::autocast<ebb::bf16>>>(
      [](auto x, auto w) { return ebb::sum(ebb::matmul(x, w)); });
  const var x(array::full(0.5f, 2));
  const ebb::variable<float, 3, 3> w(ebb::tensor<float, 3, 3>::full(1.0f));
  ebb::enable_pass_log();
  const std::string all = passes_of([&] {
    const ebb::autocast_scope<ebb::bf16> scope;
    region(x, w);
  });
  CHECK(all.find("  traced\n") != std::string::npos);
  CHECK(all.find("  partitioned, forward half\n") != std::string::npos);
  CHECK(all.find("bf16[n, 3]") != std::string::npos);
  CHECK(all.find("  planned, backward half\n") != std::string::npos);
}

TEST_CASE("graphs that are derived at run time are said, and valid after every stage") {
  constexpr auto region = ebb::compile([](auto y) { return ebb::sum(ebb::exp(y) * y); });
  const var x(array::full(0.5f, 2));
  const auto derive_twice = [&] {
    const auto g = ebb::grad(region(x), ebb::wrt(x), {.create_graph = true});
    const auto h = ebb::grad(ebb::sum(g), ebb::wrt(x), {.create_graph = true});
    ebb::sum(h).backward();
  };
  const std::string all = passes_of(derive_twice);
  CHECK(all.find("passes: a graph of the backward of exp+mul+sum\n  partitioned, forward half\n") != std::string::npos);
  CHECK(all.find("passes: a derivative of exp+mul+sum\n  differentiated, both halves\n") != std::string::npos);
  CHECK(all.find("\n  planned\n    step 0: a loop over [n, 3]\n") != std::string::npos);

  constexpr auto other = ebb::compile([](auto y) { return ebb::sum(ebb::tanh(y) * y); });
  const test::watched_stages seen;
  const auto g = ebb::grad(other(x), ebb::wrt(x), {.create_graph = true});
  const auto h = ebb::grad(ebb::sum(g), ebb::wrt(x), {.create_graph = true});
  ebb::sum(h).backward();
  CHECK(seen.count > 8);
  CHECK(seen.error == "");
}

TEST_CASE("a relaxed region has a stage more, and so have the graphs that are derived from it") {
  constexpr auto region = ebb::relaxed([](auto x, auto s) { return ebb::sum(ebb::exp(x) / s); });
  const var x(array::full(0.5f, 2));
  const ebb::variable<float> s(2.0f);
  ebb::enable_pass_log();
  const std::string all = passes_of([&] {
    const auto first = ebb::grad(region(x, s), ebb::wrt(s), {.create_graph = true});
    CHECK(std::fabs(first.item() + 6 * std::exp(0.5f) / 4) < 1e-5f);
    CHECK(std::fabs(ebb::grad(first, ebb::wrt(s)).item() - 6 * std::exp(0.5f) / 4) < 1e-5f);
  });
  CHECK(all.starts_with("passes: ebb::relaxed of "));
  const std::size_t own = all.find("  relaxed, both halves"), derived = all.find("\npasses: ", own);
  CHECK(own != std::string::npos);
  CHECK(all.find("  relaxed, both halves", derived) != std::string::npos);
  CHECK(all.find(" = div", own) > all.find(" = sum", own));  // of the sum, not of its terms
}

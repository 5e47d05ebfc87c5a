// test/autocast/log.cpp — EBB_LOGS=autocast logs the casts of each region once.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"

#include <ebb/exec/vjp.hpp>
#include <ebb/exec/region.hpp>
#include <ebb/trace/functions.hpp>

#include <string>

namespace {

std::string said;
void remember(ebb::log_topic, std::string_view text) { said += text; }

/// Collects the log while it lives.
struct listening {
  listening() {
    said.clear();
    ebb::set_log(ebb::log_topic::autocast, true);
    before = ebb::set_log_sink(remember);
  }
  ~listening() {
    ebb::set_log_sink(before);
    ebb::set_log(ebb::log_topic::autocast, false);
  }
  ebb::log_sink before;
};

using W = ebb::tensor<float, 2, 2>;
const W w{{1, 2}, {3, 4}};

}  // namespace

TEST_CASE("the casts of a region are logged once") {
  constexpr auto product = ebb::under<ebb::autocast<ebb::bf16>>([](auto a, auto b) { return ebb::matmul(a, ebb::tanh(b)); });
  const listening scope;
  product(w, w);
  CHECK(said == "autocast: ebb::compile of tanh+cast+cast+matmul\n"
                "  forward    matmul operand 0 f32 -> bf16\n  forward    matmul operand 1 f32 -> bf16\n");
  said.clear();
  product(w, w);
  ebb::tensor<ebb::bf16, 2, 2> y;
  product(ebb::into(y), w, w);
  CHECK(said.empty());
}

TEST_CASE("the casts of derivatives and of calls with into are logged") {
  constexpr auto block = ebb::under<ebb::autocast<ebb::bf16>>(ebb::no_autocast([](auto a, auto b) { return ebb::sum(ebb::matmul(a, b)); }));
  const listening scope;
  ebb::grad<1>(block)(w, w);
  CHECK(said == "autocast: ebb::grad of matmul+sum\n  both       matmul operand 0 f32 -> bf16\n");
  said.clear();
  ebb::vjp<1>(block)(w, w);
  CHECK(said == "autocast: ebb::vjp of matmul+sum\n  backward   matmul operand 0 f32 -> bf16\n  backward   matmul operand 1 f32 -> bf16\n");
  said.clear();
  for (int i = 0; i < 2; ++i) {
    ebb::tensor<ebb::f16, 2, 2> y;
    ebb::under<ebb::autocast<ebb::f16>>([](auto a) { return ebb::matmul(a, a); })(ebb::into(y), w);
  }
  CHECK(said == "autocast: ebb::compile of cast+matmul\n"
                "  forward    matmul operand 0 f32 -> f16\n  forward    matmul operand 1 f32 -> f16\n");
}

TEST_CASE("a region that a scope selects logs its casts once for each context") {
  constexpr auto region =
      ebb::compile<ebb::ambient<ebb::off, ebb::autocast<ebb::bf16>>>([](auto a) { return ebb::matmul(a, ebb::exp(a)); });
  const listening here;
  region(w);
  CHECK(said.empty());
  for (int i = 0; i < 2; ++i) {
    const ebb::autocast_scope<ebb::bf16> scope;
    region(w);
  }
  CHECK(said == "autocast: ebb::compile of exp+cast+cast+matmul+cast\n"
                "  forward    matmul operand 0 f32 -> bf16\n  forward    matmul operand 1 f32 -> bf16\n");
}

TEST_CASE("casts that the user wrote are not logged, and shared casts are") {
  static constexpr auto product = [](auto a) { return ebb::matmul(ebb::cast<ebb::bf16>(a * a), ebb::cast<ebb::bf16>(a * a)); };
  const listening scope;
  ebb::compile(product)(w);
  ebb::grad([](auto a) { return ebb::sum(ebb::cast<float>(product(a))); })(w);
  ebb::vjp(ebb::under<ebb::autocast<ebb::f16>>([](auto a) {
    return ebb::no_autocast([](auto b) { return ebb::matmul(ebb::cast<float>(b), ebb::cast<float>(b)); })(ebb::cast<ebb::f16>(a * a));
  }))(ebb::tensor<double, 2, 2>{});
  CHECK(said.find("-> f32") == std::string::npos);
  CHECK(said.find("-> bf16") == std::string::npos);
  said.clear();
  ebb::compile(ebb::under<ebb::autocast<ebb::bf16, ebb::shared_casts>>([](auto a) { return ebb::matmul(a, a); }))(w);
  CHECK(said == "autocast: ebb::compile of cast+matmul\n"
                "  forward    matmul operand 0 f32 -> bf16\n  forward    matmul operand 1 f32 -> bf16\n");
}

TEST_CASE("a call without casts, or without a logger, logs nothing") {
  constexpr auto elementwise = ebb::under<ebb::autocast<ebb::bf16>>([](auto a) { return ebb::tanh(a); });
  constexpr auto product = ebb::under<ebb::autocast<ebb::f16>>([](auto a, auto b) { return ebb::matmul(a, b); });
  {
    const listening scope;
    elementwise(w);
    CHECK(said.empty());
  }
  product(w, w);
  CHECK(said.empty());
  const listening scope;
  product(w, w);
  CHECK_FALSE(said.empty());  // the first call with a logger logs the casts
}

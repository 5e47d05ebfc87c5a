// test/autograd/mismatch.cpp — SW-2: a backward that is called in another autocast context than it was compiled for.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"

#include <ebb/ebb.hpp>

#include <cstdio>
#include <initializer_list>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

using ebb::ambient, ebb::autocast, ebb::autocast_scope, ebb::backward_pass_autocast, ebb::bf16, ebb::f16, ebb::no_autocast_scope, ebb::off;
using ebb::as_recorded, ebb::same_as_forward;
using matrix = ebb::tensor<float, 2, 2>;
using variable = ebb::variable<float, 2, 2>;

// The gradient of `product` by w is x's first row, in each column: bfloat16 sees 1 in place of `more`.
constexpr float more = 1 + 0x1p-9f;
const matrix x{{more, more}, {0, 0}}, ones{{1, 1}, {1, 1}};
constexpr auto product = [](auto a, auto w) { return ebb::sum(ebb::matmul(a, w)); };
constexpr auto region = ebb::compile(product);
constexpr auto in_either = ebb::compile<ambient<off, autocast<bf16>>>(product);
/// A product in float, whatever is around it.
constexpr auto inner_block = ebb::compile<ambient<off, autocast<bf16>>>([](auto a, auto w) { return ebb::no_autocast(product)(a, w); });

float seen(const variable& w) { return w.grad().value()(0, 0); }

/// While it lives, a mismatch is what the test says.
class setting {
 public:
  explicit setting(ebb::on_mismatch how) { ebb::config().autocast_mismatch = how; }
  ~setting() { ebb::config().autocast_mismatch = ebb::on_mismatch::error; }
};

}  // namespace

TEST_CASE("a mismatch is an error before anything runs; the graph can be used afterwards") {
  const variable w(ones), v(ones);
  const ebb::variable y = region(x, w) + ebb::sum(v * v);
  {
    const autocast_scope<bf16> scope;
    CHECK(test::says(test::raised([&] { y.backward(); }),
               {"backward: the backward of ", "matmul", "was compiled for a call in ebb::off, but is called in ebb::autocast<ebb::bf16>",
                "there the first equation to differ is `e = matmul a^T d : f32[2, 2]`, which computes in f32, and would in bf16. Call backward in the "
                "other context", "ebb::backward_pass_autocast<ebb::autocast<ebb::bf16>>", "<ebb::as_recorded>"}));
    CHECK_FALSE(w.grad().defined());
    CHECK_FALSE(v.grad().defined());
    CHECK_FALSE(test::raised([&] { ebb::grad(y, ebb::wrt(w)); }).empty());
    const no_autocast_scope suspended;
    y.backward();
  }
  CHECK(seen(w) == more);
  CHECK(seen(v) == 2);
}

TEST_CASE("the equation that differs is the first such one of the backward, and named as ebb::print shows it") {
  const auto named = [](const std::string& message) {
    const auto begin = message.find('`') + 1;
    return message.substr(begin, message.find('`', begin) - begin);
  };
  const auto said_by = [&](auto f, auto... arguments) {
    const ebb::variable y = f(arguments...);
    const autocast_scope<bf16> scope;
    return test::raised([&] { y.backward(); });
  };
  // Elementwise equations come first, a literal has no letter, and of two products the second one is named where the first is cast anyway.
  constexpr auto layers = [](auto a, auto w) { return 2 * ebb::sum(ebb::sin(ebb::matmul(ebb::tanh(ebb::matmul(a, w)), w))); };
  constexpr auto mixed = [](auto a, auto w) {
    return ebb::sum(ebb::under<autocast<bf16>>([](auto c, auto d) { return ebb::cast<float>(ebb::matmul(c, d)); })(ebb::matmul(a, w), w));
  };
  const auto check = [&]<class Policy>(auto f, Policy, const std::string& message) {
    const std::string text = ebb::to_string(ebb::backward_t<decltype(f), Policy, matrix, matrix>{}), line = named(message) + '\n';
    INFO(text + message);
    const auto at = text.find(line);
    REQUIRE(at != std::string::npos);
    return text.substr(0, at);
  };
  const variable a(ones), w(ones);
  {
    const std::string message = said_by(ebb::compile(layers), a, w), before = check(layers, off{}, message);
    CHECK(before.find("matmul") == std::string::npos);
    CHECK(before.find("cos") != std::string::npos);
  }
  {
    const std::string before = check(mixed, off{}, said_by(ebb::compile(mixed), a, w));
    CHECK(test::says(before, {"matmul", ": bf16[2, 2]"}));  // a product of bfloat16 operands comes earlier, and stays what it is
  }
  {
    const ebb::variable y = ebb::compile<backward_pass_autocast<autocast<bf16>>>(layers)(a, w);
    const std::string message = test::raised([&] { y.backward(); }), before = check(layers, autocast<bf16>{}, message);
    CHECK(test::says(message, {": bf16[2, 2]`, which computes in bf16, and would in f32"}));
    CHECK(before.find("matmul") == std::string::npos);
    CHECK(before.find("cast") != std::string::npos);
  }
  {  // The forward's products, computed again, are what they were.
    const std::string message = said_by(ebb::checkpoint(ebb::compile(layers)), a, w);
    CHECK(test::says(message, {" = matmul ", "^T : f32[2, 2]`"}));
  }
  {
    const auto [y, pull] = ebb::vjp<0, 1>(layers)(ebb::tensor<float, ebb::dyn, 2>(3), ones);
    const autocast_scope<bf16> scope;
    const std::string message = test::raised([&p = pull] { p(1.f); });
    CHECK(test::says(message, {": f32[n, 2]`"}));
    CHECK(ebb::to_string(ebb::backward_t<decltype(layers), off, ebb::tensor<float, ebb::dyn, 2>, matrix>{}).find(named(message) + '\n') !=
          std::string::npos);
  }
}

TEST_CASE("warn and ignore: the backward runs as it was compiled") {
  for (const auto how : {ebb::on_mismatch::warn, ebb::on_mismatch::ignore}) {
    const setting now(how);
    const variable w(ones);
    const ebb::variable y = region(x, w);
    const autocast_scope<bf16> scope;
    y.backward();
    CHECK(seen(w) == more);
  }
}

TEST_CASE("a warning is given once for each segment, whatever thread runs it, and says what the error says") {
  constexpr auto other = ebb::compile([](auto a, auto w) { return ebb::sum(ebb::matmul(a, ebb::tanh(w))); });
  constexpr auto third = ebb::compile([](auto a, auto w) { return ebb::sum(ebb::matmul(a, ebb::sin(w))); });
  const auto said = [](auto f) {
    std::FILE* const to = std::tmpfile();
    const int before = dup(fileno(stderr));
    std::fflush(stderr);
    dup2(fileno(to), fileno(stderr));
    f();
    std::fflush(stderr);
    dup2(before, fileno(stderr));
    close(before);
    std::rewind(to);
    std::vector<std::string> lines;
    for (char line[1000]; std::fgets(line, sizeof line, to);) lines.push_back(line);
    std::fclose(to);
    return lines;
  };
  const setting now(ebb::on_mismatch::warn);
  const auto run = [](auto f) {
    const variable w(ones);
    const ebb::variable y = f(x, w), z = f(x, w);
    const autocast_scope<bf16> scope;
    y.backward();
    const autocast_scope<f16> another;
    z.backward();
  };
  const auto once = said([&] {
    for (int i = 0; i < 3; ++i) run(other);
    std::thread([&] { run(other); }).join();
  });
  REQUIRE(once.size() == 1);
  CHECK(test::says(once[0], {"warning: ebb::backward: the backward of tanh+matmul+sum was compiled for a call in ebb::off, but is called "
                             "in ebb::autocast<ebb::bf16>: there the first equation to differ is `f = matmul a^T ", "which computes in f32, and "
                             "would in bf16. Call"}));
  CHECK(said([&] { run(third), run(other), run(third); }).size() == 1);

  const auto [y, pull] = ebb::vjp<1>([](auto a, auto w) { return ebb::sum(ebb::matmul(a, w) * 2); })(x, ones);
  const autocast_scope<bf16> scope;
  CHECK(said([&p = pull] { p(1.f), p(1.f); }).size() == 1);
}

TEST_CASE("AMP-2, AMP-5: a region that was called in a context assumes it for its backward, or what its policy says") {
  const auto recorded = [](auto f, const variable& w) {
    const autocast_scope<bf16> scope;
    const ebb::variable y = f(x, w);
    STATIC_REQUIRE(std::is_same_v<std::remove_const_t<decltype(y)>, ebb::variable<float>>);
    return y;
  };
  const variable w(ones), v(ones), u(ones);
  const auto same = recorded(inner_block, w);
  CHECK(same.item() == 2 * (more + more));
  CHECK(test::says(test::raised([&] { same.backward(); }), {"was compiled for a call in ebb::autocast<ebb::bf16>, but is called in ebb::off"}));
  {
    const autocast_scope<bf16> scope;
    same.backward();
  }
  CHECK(seen(w) == 1);  // multiplied in bfloat16, although its forward was in float

  recorded(ebb::patch<backward_pass_autocast<off>>(inner_block), v).backward();
  CHECK(seen(v) == more);

  // as_recorded assumes nothing: it is right wherever backward is called.
  const auto free = recorded(ebb::patch<backward_pass_autocast<as_recorded>>(inner_block), u);
  const autocast_scope<f16> scope;
  free.backward();
  CHECK(seen(u) == more);
}

TEST_CASE("AMP-4: where the context changes nothing, backward may be called anywhere") {
  const variable w(ones), v(ones);
  const ebb::variable low = [&] {
    const autocast_scope<bf16> scope;
    return ebb::variable(in_either(x, w));
  }();
  low.backward();  // its products were in bfloat16, and stay so
  CHECK(seen(w) == 1);
  const ebb::variable elementwise = ebb::compile([](auto a, auto b) { return ebb::mean(ebb::tanh(a * b)); })(x, v);
  const autocast_scope<f16> scope;
  elementwise.backward();
  CHECK(v.grad().defined());
}

TEST_CASE("AMP-6, AMP-3: a list of contexts is an assumption too") {
  const variable w(ones);
  const ebb::variable y = ebb::compile<backward_pass_autocast<autocast<bf16>>>(product)(x, w);
  CHECK_FALSE(test::raised([&] { y.backward(); }).empty());
  CHECK_FALSE(w.grad().defined());
  const autocast_scope<bf16> scope;
  y.backward();
  CHECK(seen(w) == 1);
}

TEST_CASE("AMP-10: a region in a region keeps its assumption on the tape, and each of them is checked") {
  constexpr auto outer = ebb::compile([](auto a, auto w, auto v) {
    return product(a, w) + ebb::compile<backward_pass_autocast<autocast<bf16>>>(product)(a, v);
  });
  const variable w(ones), v(ones);
  const ebb::variable y = outer(x, w, v);
  // No context is right for both, and that is what is said, in each of them.
  const auto contradiction = [&] {
    return test::says(test::raised([&] { y.backward(); }),
                      {"ebb::backward: the backward of matmul+", " holds products that were compiled for calls in ebb::off and in "
                       "ebb::autocast<ebb::bf16>: no context is right for all of them; in ", " the first equation to differ is `", ". Give the regions in it one policy, or <ebb::as"});
  };
  CHECK(contradiction());
  {
    const autocast_scope<bf16> scope;
    CHECK(contradiction());
  }
  {
    const autocast_scope<f16> scope;
    CHECK(contradiction());
  }
  const setting now(ebb::on_mismatch::ignore);
  y.backward();
  CHECK(seen(w) == more);
  CHECK(seen(v) == 1);
}

TEST_CASE("SW-1, AMP-11: the policy is bound when the region is instantiated: another one is another region") {
  constexpr auto assumes_off = ebb::compile<backward_pass_autocast<off>>(product);
  constexpr auto assumes_bf16 = ebb::patch<backward_pass_autocast<autocast<bf16>>>(assumes_off);
  const variable w(ones), v(ones);
  const ebb::variable before = assumes_off(x, w);
  const ebb::variable after = assumes_bf16(x, v);
  before.backward();
  const autocast_scope<bf16> scope;
  after.backward();
  CHECK(seen(w) == more);
  CHECK(seen(v) == 1);
}

TEST_CASE("AMP-17: backward uses its caller's state, in each thread its own") {
  const variable w(ones), v(ones);
  const ebb::variable y = region(x, w), z = region(x, v);
  bool refused = false;
  std::thread([&] {
    const autocast_scope<bf16> scope;
    refused = !test::raised([&] { y.backward(); }).empty();
  }).join();
  CHECK(refused);
  const autocast_scope<bf16> scope;
  std::thread([&] { z.backward(); }).join();  // a thread begins outside of all contexts
  CHECK(seen(v) == more);
}

TEST_CASE("an undeclared context is refused when the region is called with variables; nothing is recorded") {
  const variable w(ones);
  const autocast_scope<f16> scope;
  CHECK(test::says(test::raised([&] { in_either(x, w); }), {"which the function does not declare", 
             "ebb::compile<ebb::ambient<ebb::off, ebb::autocast<ebb::bf16>, ebb::autocast<ebb::f16>>>(f)"}));
  CHECK(ebb::current_autocast() == ebb::dtype::f16);
}

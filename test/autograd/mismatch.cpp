// test/autograd/mismatch.cpp — SW-2: a backward called in another autocast context than the one it was compiled for.
// SPDX-License-Identifier: BSL-1.0
// covers: mismatch.hpp autocast/questions.hpp base/settings.hpp
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

// The gradient of `product` by w is x's first row in each column: bfloat16 rounds `more` to 1.
constexpr float more = 1 + 0x1p-9f;
const matrix x{{more, more}, {0, 0}}, ones{{1, 1}, {1, 1}};
constexpr auto product = [](auto a, auto w) { return ebb::sum(ebb::matmul(a, w)); };
constexpr auto region = ebb::compile(product);
constexpr auto in_either = ebb::compile<ambient<off, autocast<bf16>>>(product);
/// A product in float in every context.
constexpr auto inner_block = ebb::compile<ambient<off, autocast<bf16>>>([](auto a, auto w) { return ebb::no_autocast(product)(a, w); });

float seen(const variable& w) { return w.grad().value()(0, 0); }

/// Sets the reaction to a mismatch while it lives.
class setting {
 public:
  explicit setting(ebb::on_mismatch how) { ebb::config().autocast_mismatch = how; }
  ~setting() { ebb::config().autocast_mismatch = ebb::on_mismatch::error; }
};

}  // namespace

TEST_CASE("a mismatch is an error before anything runs, and the graph can still be used") {
  const variable w(ones), v(ones);
  const ebb::variable y = region(x, w) + ebb::sum(v * v);
  {
    const autocast_scope<bf16> scope;
    CHECK(test::says(test::raised([&] { y.backward(); }),
                     {"backward: the backward of ", "matmul",
                      "was compiled for a call in ebb::off, but is called in ebb::autocast<ebb::bf16>",
                      "there the first equation to differ is `e = matmul a^T d : f32[2, 2]`, which computes in f32, and would in bf16. "
                      "Call backward in the other context",
                      "ebb::backward_pass_autocast<ebb::autocast<ebb::bf16>>", "<ebb::as_recorded>"}));
    CHECK_FALSE(w.grad().defined());
    CHECK_FALSE(v.grad().defined());
    CHECK_FALSE(test::raised([&] { ebb::grad(y, ebb::wrt(w)); }).empty());
    const no_autocast_scope suspended;
    y.backward();
  }
  CHECK(seen(w) == more);
  CHECK(seen(v) == 2);
}

TEST_CASE("the error names the first equation of the backward that differs, as ebb::print shows it") {
  const auto named = [](const std::string& message) {
    const auto begin = message.find('`') + 1;
    return message.substr(begin, message.find('`', begin) - begin);
  };
  const auto said_by = [&](auto f, auto... arguments) {
    const ebb::variable y = f(arguments...);
    const autocast_scope<bf16> scope;
    return test::raised([&] { y.backward(); });
  };
  // Elementwise equations come first, and a literal has no letter. If the first of two products is cast anyway, the second one is named.
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
    CHECK(test::says(before, {"matmul", ": bf16[2, 2]"}));  // an earlier product has bfloat16 operands and does not change
  }
  {
    const ebb::variable y = ebb::compile<backward_pass_autocast<autocast<bf16>>>(layers)(a, w);
    const std::string message = test::raised([&] { y.backward(); }), before = check(layers, autocast<bf16>{}, message);
    CHECK(test::says(message, {": bf16[2, 2]`, which computes in bf16, and would in f32"}));
    CHECK(before.find("matmul") == std::string::npos);
    CHECK(before.find("cast") != std::string::npos);
  }
  {  // The forward's products, computed again, do not change.
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

TEST_CASE("on_mismatch warn and ignore run the backward as compiled") {
  for (const auto how : {ebb::on_mismatch::warn, ebb::on_mismatch::ignore}) {
    const setting now(how);
    const variable w(ones);
    const ebb::variable y = region(x, w);
    const autocast_scope<bf16> scope;
    y.backward();
    CHECK(seen(w) == more);
  }
}

TEST_CASE("a warning is given once for each segment in all threads, with the text of the error") {
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
                             "in ebb::autocast<ebb::bf16>: there the first equation to differ is `f = matmul a^T ",
                             "which computes in f32, and "
                             "would in bf16. Call"}));
  CHECK(said([&] { run(third), run(other), run(third); }).size() == 1);

  const auto [y, pull] = ebb::vjp<1>([](auto a, auto w) { return ebb::sum(ebb::matmul(a, w) * 2); })(x, ones);
  const autocast_scope<bf16> scope;
  CHECK(said([&p = pull] { p(1.f), p(1.f); }).size() == 1);
}

TEST_CASE("AMP-2, AMP-5: a region called in a context assumes that context for its backward, or follows its policy") {
  const auto recorded = [](auto f, const variable& w) {
    const autocast_scope<bf16> scope;
    const ebb::variable y = f(x, w);
    STATIC_REQUIRE(std::is_same_v<std::remove_const_t<decltype(y)>, ebb::variable<float>>);
    return y;
  };
  const variable w(ones), v(ones), u(ones);
  const auto same = recorded(inner_block, w);
  CHECK(same.item() == 2 * (more + more));
  CHECK(test::says(test::raised([&] { same.backward(); }),
                   {"was compiled for a call in ebb::autocast<ebb::bf16>, but is called in ebb::off"}));
  {
    const autocast_scope<bf16> scope;
    same.backward();
  }
  CHECK(seen(w) == 1);  // multiplied in bfloat16, although its forward was in float

  recorded(ebb::patch<backward_pass_autocast<off>>(inner_block), v).backward();
  CHECK(seen(v) == more);

  // as_recorded assumes nothing, so backward may be called anywhere.
  const auto free = recorded(ebb::patch<backward_pass_autocast<as_recorded>>(inner_block), u);
  const autocast_scope<f16> scope;
  free.backward();
  CHECK(seen(u) == more);
}

TEST_CASE("AMP-4: backward may be called anywhere if the context changes nothing") {
  const variable w(ones), v(ones);
  const ebb::variable low = [&] {
    const autocast_scope<bf16> scope;
    return ebb::variable(in_either(x, w));
  }();
  low.backward();  // its products are in bfloat16 in every context
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

TEST_CASE("AMP-10: a region inside a region keeps its assumption on the tape, and both are checked") {
  constexpr auto outer = ebb::compile([](auto a, auto w, auto v) {
    return product(a, w) + ebb::compile<backward_pass_autocast<autocast<bf16>>>(product)(a, v);
  });
  const variable w(ones), v(ones);
  const ebb::variable y = outer(x, w, v);
  // No context fits both, and the error says so in each of them.
  const auto contradiction = [&] {
    return test::says(test::raised([&] { y.backward(); }),
                      {"ebb::backward: the backward of matmul+",
                       " holds products that were compiled for calls in ebb::off and in "
                       "ebb::autocast<ebb::bf16>: no context is right for all of them; in ",
                       " the first equation to differ is `", ". Give the regions in it one policy, or <ebb::as"});
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

TEST_CASE("SW-1, AMP-11: a region's policy is fixed when it is instantiated, and another policy is another region") {
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

TEST_CASE("AMP-17: backward uses the autocast state of its caller, in each thread its own") {
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

TEST_CASE("a region called with variables in an undeclared context is an error, and nothing is recorded") {
  const variable w(ones);
  const autocast_scope<f16> scope;
  CHECK(test::says(test::raised([&] { in_either(x, w); }), {"which the function does not declare", 
             "ebb::compile<ebb::ambient<ebb::off, ebb::autocast<ebb::bf16>, ebb::autocast<ebb::f16>>>(f)"}));
  CHECK(ebb::current_autocast() == ebb::dtype::f16);
}

// test/capture/show.cpp — the text of captured graphs, the reason why one is captured once more, and the errors of fullgraph.
// SPDX-License-Identifier: BSL-1.0
// covers: show.hpp graph_sink.hpp explain.hpp plan.hpp
#include "shown.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace ca = ebb::compiled_autograd;
using array = ebb::tensor<double, ebb::dyn>;
using var = ebb::variable<double, ebb::dyn>;
using scalar = ebb::variable<double>;
using ebb::log_topic;
using test::in_order;

constexpr auto product = ebb::compile([](auto x, auto y) { return x * y; });
constexpr auto plus = ebb::compile([](auto x, auto y) { return x + y; });
constexpr auto minus = ebb::compile([](auto x, auto y) { return x - y; });
constexpr auto quotient = ebb::compile([](auto x, auto y) { return x / y; });
constexpr auto hyperbolic = ebb::compile([](auto x) { return ebb::tanh(x); });
constexpr auto total = ebb::compile([](auto x) { return ebb::sum(x); });

struct opaque_function {
  array forward(const array& x) const { return x; }
  array backward(const array& g) const { return g; }
};

std::string graphs, reasons;
int texts = 0;

/// Collects the log of some topics, as in a process that has captured nothing.
struct listening {
  explicit listening(bool verbose, bool shows_graphs = true)
      : before(ebb::set_log_sink([](log_topic t, std::string_view s) {
          (t == log_topic::compiled_autograd ? graphs : reasons) += s;
          ++texts;
        })) {
    ca::reset();
    graphs.clear();
    reasons.clear();
    ebb::set_log(log_topic::compiled_autograd, shows_graphs);
    ebb::set_log(log_topic::compiled_autograd_verbose, verbose);
  }
  ~listening() {
    ebb::set_log(log_topic::compiled_autograd, false);
    ebb::set_log(log_topic::compiled_autograd_verbose, false);
    ebb::set_log_sink(before);
    ca::reset();
  }
  ebb::log_sink before;
};

int count(const std::string& s, const std::string& what) {
  int n = 0;
  for (std::size_t at = 0; (at = s.find(what, at)) != std::string::npos; at += what.size()) ++n;
  return n;
}
var named(const char* name, array value = {1, 2}) {
  var v(std::move(value));
  v.set_name(name);
  return v;
}

}  // namespace

TEST_CASE("a number bound to a hook is shown, also where no segment has its dtype") {
  const listening scope(false);
  const ca::enable on;
  ebb::variable<float, ebb::dyn> x(ebb::tensor<float, ebb::dyn>{1, 2});
  x.set_name("x");
  x.register_hook(ebb::bind(0.5, [](auto c, auto g) { return g * ebb::cast<float>(c); }));
  total(x).backward();
  CHECK(in_order(graphs, {"x_bound0 = input", ": f64", "call_hook_", "x_bound0", "call_accumulate_grad x, nothing, call_hook_"}));
  CHECK(ebb::all_equal(x.grad().value(), ebb::tensor<float, ebb::dyn>{0.5f, 0.5f}));
}

TEST_CASE("CA-130, CA-132, CA-133: a graph names its nodes in the order in which they run; reasons are told only if they are logged") {
  const listening scope(false);
  const ca::enable on;
  const var x = named("x"), w = named("w", {3, 4});
  total(hyperbolic(product(x, w))).backward();
  CHECK(in_order(graphs, {"===== Compiled autograd graph =====\nCompiledAutograd0:\n", "seed", "GraphRoot (NodeCall 0)",
                          "validate_outputs seed", "aot", "# sum (NodeCall 1)", "aot", "# tanh (NodeCall 2)", "aot", "# mul (NodeCall 3)",
                          "call_accumulate_grad x, nothing, aot", "# x (NodeCall 4)", "call_accumulate_grad w, nothing, aot",
                          "# w (NodeCall 5)"}));
  CHECK(reasons == "");
  graphs.clear();
  total(hyperbolic(product(named("x"), named("w")))).backward();  // a hit says nothing
  CHECK(graphs == "");
  total(hyperbolic(product(x, w))).backward();  // with the gradients that are there, as arguments: CA-41
  CHECK(in_order(graphs, {"CompiledAutograd1:\n", "x_grad = input", "add x_grad", "call_accumulate_grad x, x_grad, add", "w_grad",
                          "call_accumulate_grad w, w_grad, add"}));
}

TEST_CASE("the compiled halves of a region are logged once, the groups of each plan each time") {
  const listening scope(false, false);
  const ca::enable on;
  ebb::set_log(log_topic::aot, true);
  ebb::set_log(log_topic::plan, true);
  constexpr auto fresh = ebb::compile([](auto x) { return ebb::tanh(x) + 2; });
  const auto run = [&] {
    const var x = named("x"), w = named("w");
    w.register_post_accumulate_grad_hook([](auto p, auto g) { return std::tuple(p - g, ebb::nothing); });
    const var h = product(fresh(x), w);
    h.register_hook([](const array&) {});
    total(hyperbolic(hyperbolic(h))).backward();
  };
  run();
  CHECK(in_order(reasons, {"Forward graph of aot", "tanh+add", "tanh", "Backward graph of aot",
                           "Plan of CompiledAutograd0:", "one chain in registers: sum (NodeCall 1), tanh (NodeCall 2), tanh (NodeCall 3)",
                           "reads the gradient of sum (NodeCall 1)", "writes the gradient of mul (NodeCall 4)",
                           "node by node: mul (NodeCall 4), tanh+add (NodeCall 5)"}));
  reasons.clear();
  ca::clear_cache();
  texts = 0;
  run();
  CHECK(reasons.find("Forward graph") == std::string::npos);
  CHECK(texts == 1);  // an empty text is not logged
  CHECK(in_order(reasons, {"Plan of CompiledAutograd1:"}));
  ebb::set_log(log_topic::aot, false);
  ebb::set_log(log_topic::plan, false);
}

TEST_CASE("a plan can be drawn: the captured graph, with a box around each pass over memory") {
  static std::string graph, plan;
  static int groups;
  ca::options o;
  o.compiler = [](const ebb::captured_graph& g) {
    graph = to_dot(g);
    const ebb::captured_plan p(g);
    plan = to_dot(p);
    groups = p.groups();
    return ebb::backend::merge;
  };
  ca::clear_cache();
  const ca::enable on(o);
  total(hyperbolic(product(named("x"), named("w")))).backward();
  CHECK(groups == 1);
  CHECK(count(graph, "subgraph cluster") >= 3);
  CHECK(count(plan, "subgraph cluster") == 1);
  CHECK(test::says(graph, {"label=\"sum (NodeCall 1)\"", "call_accumulate_grad x, nothing, "}));
  CHECK(test::says(plan, {"label=\"one chain in registers\"", "call_accumulate_grad x, nothing, "}));
  CHECK(count(plan, " -> ") == count(graph, " -> "));
  ca::reset();
}

TEST_CASE("CA-131: a region that is used three times in one backward has three sets of names") {
  const listening scope(false);
  const ca::enable on;
  total(hyperbolic(hyperbolic(hyperbolic(named("x"))))).backward();
  std::vector<std::string> names;
  for (std::size_t at = 0; (at = graphs.find("  aot", at)) != std::string::npos; ++at) {
    const std::string name = graphs.substr(at + 2, graphs.find(' ', at + 2) - at - 2);
    for (const std::string& other : names) CHECK(name != other);
    names.push_back(name);
  }
  CHECK(names.size() > 6);
  const std::string tanh = graphs.substr(graphs.find("# tanh"));
  const std::size_t one = graphs.rfind("aot", graphs.find("# tanh (NodeCall 2)"));
  const std::string prefix = "  " + graphs.substr(one, graphs.find('_', one) - one);  // "  aot1"
  CHECK(in_order(graphs, {(prefix + "_").c_str(), "NodeCall 2", (prefix + "_1_").c_str(), "NodeCall 3", (prefix + "_2_").c_str(),
                          "NodeCall 4"}));
}

TEST_CASE("CA-134: hooks are shown where they run: traced ones as equations, opaque ones as calls") {
  const listening scope(false);
  const ca::enable on;
  const var x = named("x"), w = named("w");
  const var h = hyperbolic(product(x, w));
  h.register_hook([](const array&) {});
  h.grad_fn().register_prehook([](ebb::gradients&) {});
  h.grad_fn().register_hook([](ebb::gradients&, const ebb::gradients&) {});
  x.register_hook([](auto g) { return g + 10; });
  w.register_post_accumulate_grad_hook([](const var&) {});
  total(ebb::apply(opaque_function{}, h)).backward();
  CHECK(in_order(graphs, {"# sum (NodeCall 1)", "call_backward opaque_function", "# opaque_function (NodeCall 2)",
                          "hook_type = tensor_pre_hook", "hook_type = pre_hook", "aot", "hook_type = post_hook", "# mul (NodeCall 4)",
                          "call_hook_add = add", "10.0", "tensor_pre_hook of x", "call_accumulate_grad x, nothing, call_hook_add",
                          "call_accumulate_grad w", "hook_type = post_acc_grad_hook"}));
  CHECK(count(graphs, "call_hook, hook_type = pre_hook") == 1);
}

TEST_CASE("gradients that meet are an add; gradients that nobody asked for are not shown") {
  const listening scope(false);
  const ca::enable on;
  const var x = named("x");
  total(product(x, x)).backward();
  CHECK(in_order(graphs, {"add = add ", "call_accumulate_grad x, nothing, add"}));
  CHECK(count(graphs, "call_accumulate_grad") == 1);
  graphs.clear();
  ebb::grad(total(product(x, named("w"))), ebb::wrt(x));
  CHECK(count(graphs, "call_accumulate_grad") == 0);
  CHECK(test::says(graphs, {"# mul (NodeCall 2)"}));
}

TEST_CASE("results of node hooks go on; gradients that are retained or asked for are shown") {
  const listening scope(false);
  const ca::enable on;
  {
    const var x = named("x"), w = named("w"), p = product(x, w), h = hyperbolic(p);
    h.grad_fn().register_prehook([](auto g) { return g * 3; });
    p.grad_fn().register_prehook([](ebb::gradients&) {});
    p.grad_fn().register_hook([](ebb::gradients&, const ebb::gradients&) {});
    h.retain_grad();
    total(h).backward();
    CHECK(in_order(graphs, {"aot", "_broadcast = broadcast seed", "retain_grad tanh, aot", "_broadcast", "call_hook_mul = mul aot", "3.0",
                            "pre_hook of tanh, traced", "call_hook_mul", "call_hook = call_hook aot", "hook_type = pre_hook",
                            "mul call_hook aot", "mul call_hook aot", "call_hook_1, call_hook_2 = call_hook aot", "hook_type = post_hook",
                            "call_accumulate_grad x, nothing, call_hook_1", "call_accumulate_grad w, nothing, call_hook_2"}));
    CHECK(graphs.find("return") == std::string::npos);
  }
  graphs.clear();
  const var x = named("x"), w = named("w"), p = product(x, w), h = hyperbolic(p);
  var(w).set_grad(array{1, 1});
  p.register_hook([](auto g) { return g + 7; });
  const scalar out = total(h);
  ebb::grad(out, ebb::wrt(w, p, x), {.retain_graph = true});
  CHECK(in_order(graphs, {"call_hook_add = add aot", "7.0", "_mul = mul call_hook_add aot", "_mul_1 = mul call_hook_add aot", "return aot",
                          "_mul_1, call_hook_add, aot", "_mul\n"}));
  CHECK(graphs.find("w_grad") == std::string::npos);  // it is not added to
  graphs.clear();
  ebb::grad(out, ebb::wrt(p));  // whose node does not run, but its hook does
  CHECK(in_order(graphs, {"call_hook_add = add aot", "7.0", "return call_hook_add\n"}));
}

TEST_CASE("no two graphs have one name, until reset") {
  static std::string names;
  names.clear();
  const auto capture = [](const char* name) {
    const ca::enable on({.compiler = [](const ebb::captured_graph& g) {
      names += g.name() + "\n";
      return ebb::backend::merge;
    }});
    ca::clear_cache();
    total(hyperbolic(named(name))).backward();
  };
  ca::reset();
  capture("x");
  ebb::clear_counters();
  capture("y");
  CHECK(ebb::counters().compiled_autograd.captures == 1);
  ca::reset();
  capture("z");
  CHECK(names == "CompiledAutograd0\nCompiledAutograd1\nCompiledAutograd0\n");
  ca::reset();
}

TEST_CASE("a graph as dot has each of its equations in the cluster of its node") {
  static std::string dot, name;
  ca::reset();
  const ca::enable on({.compiler = [](const ebb::captured_graph& g) {
    dot = to_dot(g);
    name = g.name();
    return ebb::backend::merge;
  }});
  total(hyperbolic(named("x"))).backward();
  CHECK(name == "CompiledAutograd0");
  CHECK(test::says(dot, {"digraph", "aot", "}"}));
  CHECK(count(dot, "{") == count(dot, "}"));
  ca::reset();
}

TEST_CASE("a drawing has arrows from an opaque hook's gradient to its result, and to the sum of a gradient") {
  static std::string dot;
  ca::reset();
  const ca::enable on({.compiler = [](const ebb::captured_graph& g) {
    dot = to_dot(g);
    return ebb::backend::merge;
  }});
  const var y = hyperbolic(named("x"));
  y.register_hook([](const array& g) { return g; });
  total(y).backward();
  // An opaque hook's arrows: one equation before it, and its result, which goes on.
  const auto line = dot.find(" [label=\"call_hook = call_hook ");
  REQUIRE(line != std::string::npos);
  const std::size_t begin = dot.rfind(' ', line - 1) + 1;
  const std::string call = dot.substr(begin, line - begin);
  CHECK(count(dot, " -> " + call + "\n") == 1);
  CHECK(count(dot, "  " + call + " -> e") == 1);
  ca::reset();
}

TEST_CASE("CA-135, CA-136: sizes are no reason: one message, of the root, for three sizes") {
  const listening scope(true, false);
  const ca::enable on;
  for (std::size_t n : {10u, 11u, 12u}) total(hyperbolic(var(array::full(0.5, n)))).backward();
  CHECK(count(reasons, "Cache miss") == 1);
  CHECK(in_order(reasons, {"Cache miss due to new autograd node: GraphRoot (NodeCall 0) with key size ", ", previous key sizes=[]\n"}));
}

TEST_CASE("dynamic = false: changed shapes are a reason, once for each size that changes") {
  const listening scope(true, false);
  const ca::enable on({.dynamic = false});
  for (std::size_t n : {4u, 4u, 5u, 6u, 1u, 0u, 7u}) total(hyperbolic(var(array::full(0.5, n)))).backward();
  CHECK(count(reasons, "Cache miss due to new autograd node") == 1);
  CHECK(count(reasons, " changed tensor shapes (total of ") == 1);
  CHECK(in_order(reasons, {"Cache miss due to ", " changed tensor shapes (total of ", "): sizes[0]"}));
  CHECK(ebb::counters().compiled_autograd.new_shape_misses == 1);
  reasons.clear();
  const auto both = [](std::size_t n, std::size_t m) {
    const var a(array::full(0.5, n)), b(array::full(0.5, m));
    ebb::backward(std::tuple(total(hyperbolic(a)), total(product(b, b))));
  };
  both(4, 5);
  reasons.clear();
  both(3, 5);
  CHECK(in_order(reasons, {"changed tensor shapes", "sizes[0]"}));
  reasons.clear();
  both(3, 6);  // numbers among the sizes that are dynamic now
  CHECK(count(reasons, "Cache miss") == 1);
  reasons.clear();
  both(9, 9);
  CHECK(reasons == "");
}

TEST_CASE("the tutorial's loop over add, sub, mul, div: four captures, each reason names the first node that differs, and how") {
  const listening scope(true, false);
  const ca::enable on;
  const auto step = [](int which) {
    const var x = named("x"), y = named("y", {3, 4});
    const var r = which == 0 ? plus(x, y) : which == 1 ? minus(x, y) : which == 2 ? product(x, y) : quotient(x, y);
    total(r).backward();
  };
  for (int run = 0; run < 2; ++run)
    for (int which = 0; which < 4; ++which) step(which);
  CHECK(ebb::counters().compiled_autograd.captures == 4);
  CHECK(in_order(reasons, {"Cache miss due to new autograd node: GraphRoot (NodeCall 0) with key size ", "previous key sizes=[]\n",
                           "new autograd node: sub (NodeCall 2) with key size ", "previous key sizes=[]", "program sub, was add",
                           "new autograd node: mul (NodeCall 2) with key size ", "previous key sizes=[]", "program mul, was sub",
                           "new autograd node: div (NodeCall 2) with key size ", "previous key sizes=[]", "program div, was mul"}));
  CHECK(count(reasons, "Cache miss") == 4);
  ca::clear_cache();
  reasons.clear();
  for (int which : {0, 1, 0, 2}) step(which);
  CHECK(in_order(reasons, {"program sub, was add", "program mul, was add"}));  // which ran last
}

TEST_CASE("each property that differs is named, with both of its values") {
  const listening scope(true, false);
  const ca::enable on;
  const auto reason_of = [](auto&& second) {
    const auto first = [](auto&& prepare, auto&& roots) {
      var x = named("x"), y = named("y", {3, 4});
      const var h = product(x, y);
      prepare(x, y, h);
      roots(x, y, h);
    };
    const auto all = [](const var&, const var&, const var& h) { total(hyperbolic(h)).backward(); };
    ca::clear_cache();
    first([](auto&&...) {}, all);
    reasons.clear();
    if constexpr (requires(var v) { second(v, v, v); }) first(second, all);
    else second(first);
    return reasons;
  };
  CHECK(in_order(reason_of([](var& x, var&, const var&) { x.set_grad(array{1, 1}); }),
                 {"x (NodeCall 4)", "gradient defined, was undefined"}));
  CHECK(in_order(reason_of([](var&, var&, const var& h) { h.register_hook([](auto g) { return g * 2; }); }),
                 {"mul (NodeCall 3)", "hooks 1, was 0"}));
  CHECK(in_order(reason_of([](var&, var& y, const var&) { y.register_post_accumulate_grad_hook([](const var&) {}); }),
                 {"y (NodeCall 5)", "hooks 1, was 0"}));
  CHECK(in_order(reason_of([](auto first) {
    first([](auto&&...) {}, [](const var& x, const var&, const var& h) { ebb::grad(total(hyperbolic(h)), ebb::wrt(x)); });
  }), {"NodeCall 0", "; grad, was backward"}));
  CHECK(in_order(reason_of([](auto first) {
    first([](auto&&...) {}, [](const var& x, const var&, const var& h) { ebb::backward(total(hyperbolic(h)), {.inputs = {x}}); });
  }), {"NodeCall 0", "; inputs given: on, was off"}));
  CHECK(in_order(reason_of([](auto first) {
    first([](auto&&...) {}, [](const var& x, const var&, const var&) { total(hyperbolic(product(x, x))).backward(); });
  }), {"mul (NodeCall 3)", "edge 1 to NodeCall 4, was to something new"}));
  CHECK(in_order(reason_of([](auto first) {
    first([](auto&&...) {}, [](const var&, const var&, const var& h) { ebb::backward(std::tuple(total(hyperbolic(h)), total(h))); });
  }), {"GraphRoot (NodeCall 0)", "roots 2, was 1"}));
}

TEST_CASE("options that differ are named, and programs of one name and hooks at one place are told apart") {
  const listening scope(true, false);
  const auto reason_of = [](auto&& f) {
    reasons.clear();
    f();
    return reasons;
  };
  const auto prepared = [](auto&& prepare) {
    const var x = named("x"), h = hyperbolic(x);
    prepare(x, h);
    total(h).backward();
  };
  const auto plainly = [&] { prepared([](auto&&...) {}); };
  const ca::enable on;
  const auto with = [&](const ca::options& o) {
    plainly();  // the last to have run is what the others are compared with
    return reason_of([&] {
      const ca::enable another(o);
      plainly();
    });
  };
  CHECK(in_order(with({.fullgraph = true}), {"NodeCall 0", "; fullgraph on, was off\n"}));
  CHECK(in_order(with({.dynamic = false}), {"; dynamic off, was on\n"}));
  CHECK(in_order(with({.compiler = [](const ebb::captured_graph&) { return ebb::backend::merge; }}), {"; another compiler\n"}));
  CHECK(in_order(with({.backward_policy = ebb::off{}}), {"; backward_policy ebb::off, was of each region\n"}));
  CHECK(in_order(reason_of([] { ebb::grad(total(hyperbolic(named("x"))), ebb::wrt(named("y")), {.allow_unused = true}); }),
                 {"; grad, was backward\n"}));
  ca::clear_cache();
  const auto grad_of = [](bool second) {
    const var x = named("x"), y = named("y");
    const scalar out = total(product(x, y));
    return ebb::grad(out, second ? ebb::wrt(y, x) : ebb::wrt(x, y));
  };
  grad_of(false);
  CHECK(in_order(reason_of([&] { grad_of(true); }), {"; asked for are NodeCalls [4, 3], was [3, 4]\n"}));
  CHECK(in_order(reason_of([] {
    const var x = named("x");
    ebb::backward(total(hyperbolic(x)), {.create_graph = true});
    var(x).zero_grad();
  }), {"; create_graph on, was off\n"}));
  CHECK(in_order(reason_of([] {
    const ebb::autocast_scope<ebb::bf16> low;
    total(hyperbolic(named("x"))).backward();
  }), {"; called in ebb::autocast<ebb::bf16>, was ebb::off\n"}));

  ca::clear_cache();
  total(product(named("x"), named("y"))).backward();
  CHECK(in_order(reason_of([] { total(product(named("x"), array{1, 2})).backward(); }),
                 {"mul (NodeCall 2)", "; mul: operands that need a gradient 1, was 2\n"}));
  CHECK(in_order(reason_of([] {
    const ebb::variable<float, ebb::dyn> x(ebb::tensor<float, ebb::dyn>{1, 2}), y(ebb::tensor<float, ebb::dyn>{1, 2});
    ebb::backward(product(x, y), {.seeds = {ebb::tensor<float, ebb::dyn>{1, 1}}});
  }), {"mul (NodeCall 1)", "; program mul, was sum\n"}));

  ca::clear_cache();
  plainly();
  prepared([](const var&, const var& h) { h.register_hook([](const array&) {}); });
  prepared([](const var&, const var& h) { h.register_hook([](auto g) { return g * 2; }); });
  CHECK(in_order(reason_of([&] { prepared([](const var&, const var& h) { h.register_hook([](auto g) { return g * 3; }); }); }),
                 {"tanh (NodeCall 2)", "; hook 0 traced tensor_pre_hook, was "}));
  CHECK(in_order(reason_of([&] { prepared([](const var&, const var& h) { h.retain_grad(); }); }), {"; hook 0 retained gradient, was "}));
  CHECK(in_order(reason_of([&] {
    prepared([](const var&, const var& h) { h.grad_fn().register_prehook([](ebb::gradients&) {}); });
  }), {"; hook 0 opaque pre_hook, was "}));
  CHECK(in_order(reason_of([&] { prepared([](const var& x, const var&) { x.register_hook([](const array&) {}); }); }),
                 {"x (NodeCall 3)", "; hooks 1, was 0\n"}));
  CHECK(in_order(reason_of([&] {
    const ebb::saved_tensors_hooks hooks([](const ebb::any_tensor& t) { return t; }, [](const ebb::any_tensor& t) { return t; });
    plainly();
  }), {"tanh (NodeCall 2)", "; saved values are packed by hooks, was not packed by hooks\n"}));
}

TEST_CASE("CA-137: entering the scope decides whether reasons are logged") {
  const listening scope(false, false);
  {
    const ca::enable on;
    ebb::set_log(log_topic::compiled_autograd_verbose, true);
    total(hyperbolic(named("x"))).backward();
    CHECK(reasons == "");
  }
  const ca::enable on;
  total(product(named("x"), named("y"))).backward();
  CHECK(count(reasons, "Cache miss") == 1);
}

TEST_CASE("fullgraph: an opaque hook or function is an error that names it and its place, before anything has run; graph breaks are none") {
  ca::reset();
  const ca::enable on({.fullgraph = true});
  const auto refusal = [](auto&& prepare) {
    var x = named("x"), w = named("w");
    const var h = product(x, w);
    std::optional<scalar> out;
    prepare(x, h, out);
    if (!out) out = total(hyperbolic(h));
    const std::string text = test::raised([&] { out->backward(); });
    CHECK(x.grad().defined() == text.empty());
    if (text.empty()) return text;
    ebb::backward(*out, {.compiled_autograd = false});  // nothing is lost
    CHECK(x.grad().defined());
    return text;
  };
  CHECK(refusal([](auto&&...) {}) == "");
  CHECK(refusal([](var& x, const var& h, auto&) {  // traced hooks of all kinds
    h.register_hook([](auto g) { return g * 2; });
    x.register_hook(ebb::bind(2., [](auto c, auto g) { return g * c; }));
    x.register_post_accumulate_grad_hook([](auto value, auto g) { return value - g * 0.5; });
  }) == "");
  CHECK(refusal([](var&, const var& h, auto&) { h.register_hook([](const array&) {}); }) ==
        "ebb::backward: fullgraph: the tensor_pre_hook of mul (NodeCall 3) is opaque: make it traceable, or leave fullgraph out");
  CHECK(test::says(refusal([](var& x, const var&, auto&) { x.register_hook([](const array&) {}); }),
                   {"the tensor_pre_hook of x (NodeCall 4)"}));
  CHECK(test::says(refusal([](var&, const var& h, auto&) { h.grad_fn().register_prehook([](ebb::gradients&) {}); }),
                   {"the pre_hook of mul (NodeCall 3)"}));
  CHECK(test::says(refusal([](var&, const var& h, auto&) { h.grad_fn().register_hook([](ebb::gradients&, const ebb::gradients&) {}); }),
                   {"the post_hook of mul (NodeCall 3)"}));
  CHECK(test::says(refusal([](var& x, const var&, auto&) { x.register_post_accumulate_grad_hook([](const var&) {}); }),
                   {"the post_acc_grad_hook of x (NodeCall 4)"}));
  CHECK(test::says(refusal([](var&, const var& h, auto& out) { out = total(ebb::apply(opaque_function{}, h)); }),
                   {"the backward of opaque_function (NodeCall 2)"}));
  CHECK(test::says(refusal([](var&, const var& h, auto& out) {
    const ebb::saved_tensors_hooks scope([](const ebb::any_tensor& t) { return t; }, [](const ebb::any_tensor& t) { return t; });
    out = total(hyperbolic(h));
  }), {"the unpack_hook of tanh (NodeCall 2)"}));

  const var x = named("x"), w = named("w");
  const var h = product(x, w);
  w.register_hook([](const array&) {});  // not on the way to x
  CHECK(ebb::grad(total(h), ebb::wrt(x), {.retain_graph = true}).defined());
  CHECK(test::says(test::raised([&] { ebb::grad(total(h), ebb::wrt(w)); }), {"ebb::grad: fullgraph: the tensor_pre_hook of w"}));
  ca::reset();
}

TEST_CASE("fullgraph refuses opaque hooks, too, if nothing would be captured: in anomaly mode, or with an ignored mismatch") {
  ca::reset();
  const ca::enable on({.fullgraph = true});
  const auto refusal = [](const auto& out) { return test::raised([&] { out.backward(); }); };
  {
    const ebb::detect_anomaly checked;
    const var x = named("x"), w = named("w");
    const scalar out = total(hyperbolic(product(x, w)));
    w.register_hook([](const array&) {});
    CHECK(refusal(out) ==
          "ebb::backward: fullgraph: the tensor_pre_hook of w (NodeCall 5) is opaque: make it traceable, or leave fullgraph out");
    CHECK_FALSE(x.grad().defined());
    const var y = named("y");
    CHECK(refusal(total(hyperbolic(y))) == "");
    CHECK(y.grad().defined());
  }
  using matrix = ebb::tensor<float, 2, 2>;
  constexpr auto region = ebb::compile([](auto x, auto w) { return ebb::sum(ebb::matmul(ebb::tanh(ebb::matmul(x, w)), w)); });
  ebb::variable w(matrix::ones());
  w.set_name("w");
  const auto out = region(matrix::ones(), w);
  w.register_hook([](const matrix&) {});
  ebb::config().autocast_mismatch = ebb::on_mismatch::ignore;
  {
    const ebb::autocast_scope<ebb::bf16> scope;
    CHECK(test::says(refusal(out), {"fullgraph: the tensor_pre_hook of w (NodeCall 2) is opaque"}));
  }
  ebb::config().autocast_mismatch = ebb::on_mismatch::error;
  CHECK_FALSE(w.grad().defined());
  ca::reset();
}

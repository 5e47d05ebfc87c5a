// test/capture/captured_walk.cpp — the walk tells a sink of hooks, nodes and sums in the order in which the engine runs them.
// SPDX-License-Identifier: BSL-1.0
// covers: captured_walk.hpp progress.hpp
#include "../catch.hpp"

#include <ebb/ebb.hpp>

#include <random>
#include <string>
#include <vector>

namespace {

namespace ca = ebb::compiled_autograd;
using walked_array = ebb::tensor<double, ebb::dyn>;
using walked_variable = ebb::variable<double, ebb::dyn>;
using event_list = std::vector<std::string>;

constexpr auto walked_product = ebb::compile([](auto x, auto y) { return x * y; });
constexpr auto walked_bend = ebb::compile([](auto x) { return ebb::tanh(x); });
constexpr auto walked_sum = ebb::compile([](auto x, auto y) { return x + y; });

const char* name_of_kind(ebb::hook_kind k) {
  switch (k) {
    case ebb::hook_kind::tensor: return "tensor hook of ";
    case ebb::hook_kind::node_pre: return "pre-hook of ";
    case ebb::hook_kind::node_post: return "post-hook of ";
    case ebb::hook_kind::post_accumulate: return "post-accumulate hook of ";
  }
  return "";
}

/// Whether only leaves have hooks of this kind.
bool is_of_leaves(ebb::hook_kind k) {
  switch (k) {
    case ebb::hook_kind::tensor: case ebb::hook_kind::node_pre: case ebb::hook_kind::node_post: return false;
    case ebb::hook_kind::post_accumulate: return true;
  }
  return true;
}

/// A sink that writes a line for each event. Values are numbers, each new one the next.
struct event_sink final : ebb::capture_sink {
  const ebb::captured_graph& g;
  event_list events;
  int values = 0;

  explicit event_sink(const ebb::captured_graph& shown) : g(shown) {}

  int note(const std::string& what, int v) {
    events.push_back(what + g.vertex_name(v));
    return values++;
  }
  int root(const ebb::edge_key& k) override { return note("seed of ", k.to); }
  int arrived(int v, int, int) override { return note("nothing is known of ", v); }
  void retain(int v, int, int) override { note("retained of ", v); }
  void ask(int v, int, int) override { note("asked for of ", v); }
  ebb::vec<int> hook(int v, int h, const ebb::hook_program& p, const ebb::vec<int>&) override {
    const int k = note(std::string("traced ") + name_of_kind(g.recorded().hooks_of(v)[h].kind), v);
    return ebb::vec<int>(p.written, k);
  }
  void call(int v, int h, ebb::vec<int>&) override { note(name_of_kind(g.recorded().hooks_of(v)[h].kind), v); }
  ebb::vec<int> piece(int i, const ebb::detail::backward_piece&, const ebb::vec<int>& in) override { return function(i, in); }
  ebb::vec<int> function(int i, const ebb::vec<int>&) override {
    return ebb::vec<int>(g.recorded().node_at(i).program->edges, note("backward of ", i));
  }
  void give(int, int, int) override {}
  int widen(int, int k) override { return k; }
  int meet(int v, int, int, int) override { return note("sum for ", v); }
  bool takes(int, bool, bool) const override { return true; }
  int accumulate(int l, int) override { return note("accumulate ", l); }
  void update(int l, int, const ebb::hook_program&, int&, int& gradient, int) override {
    note("update of ", l);
    gradient = -1;
  }
  void finish(int, int, int) override {}
  void leave(int v, int, int) override { note("left at ", v); }
};

/// The events of what was captured last under `keep_events`.
event_list walked;
ebb::backend keep_events(const ebb::captured_graph& g) {
  const ebb::recording& r = g.recorded();
  ebb::capture_progress progress(r);
  ebb::piece_table pieces(r.options());
  event_sink sink(g);
  ebb::captured_walk(r, progress, pieces, sink).run();
  walked = sink.events;
  return ebb::backend::merge;
}

walked_variable named_leaf(const std::string& name) {
  walked_variable v(walked_array::full(0.5, 3));
  v.set_name(name);
  return v;
}
/// A hook that writes its name.
void add_hook(const walked_variable& v, ebb::hook_kind kind, const std::string& name, event_list& ran) {
  const std::string line = name_of_kind(kind) + name;
  const auto on_node = [&](const auto& node) {
    if (kind == ebb::hook_kind::node_pre) node.register_prehook([&ran, line](ebb::gradients&) { ran.push_back(line); });
    else node.register_hook([&ran, line](ebb::gradients&, const ebb::gradients&) { ran.push_back(line); });
  };
  if (kind == ebb::hook_kind::tensor) v.register_hook([&ran, line](const walked_array&) { ran.push_back(line); });
  else if (kind == ebb::hook_kind::post_accumulate)
    walked_variable(v).register_post_accumulate_grad_hook([&ran, line](const walked_variable&) { ran.push_back(line); });
  else if (v.is_leaf()) on_node(v.accumulate_node());
  else on_node(v.grad_fn());
}
event_list hooks_among(const event_list& events) {
  event_list hooks;
  for (const std::string& e : events)
    if (e.find("hook of ") != std::string::npos && e.rfind("traced", 0) != 0) hooks.push_back(e);
  return hooks;
}

}  // namespace

TEST_CASE("the events of a node and of a leaf, in PyTorch's order") {
  ca::reset();
  const ca::enable scope({.compiler = keep_events});
  event_list ran;
  walked_variable x = named_leaf("x");
  const walked_variable w = named_leaf("w");
  x.set_grad(walked_array::full(1, 3));
  const walked_variable p = walked_product(x, w), b = walked_bend(p);
  for (const ebb::hook_kind k : {ebb::hook_kind::node_post, ebb::hook_kind::node_pre, ebb::hook_kind::tensor}) {
    add_hook(p, k, "mul", ran);
    add_hook(x, k, "x", ran);
  }
  p.retain_grad();
  p.register_hook([](auto g) { return g * 2; });
  add_hook(x, ebb::hook_kind::post_accumulate, "x", ran);
  w.register_post_accumulate_grad_hook([](auto value, auto g) { return std::tuple(value - g, ebb::nothing); });
  ebb::backward(walked_sum(b, p), {.seeds = {walked_array::full(1, 3)}});
  CHECK(walked == event_list{"seed of add", "backward of add", "backward of tanh", "sum for mul", "tensor hook of mul",
                             "traced tensor hook of mul", "retained of mul", "pre-hook of mul", "backward of mul", "post-hook of mul",
                             "tensor hook of x", "pre-hook of x", "accumulate x", "post-accumulate hook of x", "post-hook of x",
                             "accumulate w", "update of w"});
  CHECK(hooks_among(walked) == ran);
  ca::reset();
}

TEST_CASE("a root that is a leaf, and gradients that are asked for") {
  ca::reset();
  const ca::enable scope({.compiler = keep_events});
  event_list ran;
  const walked_variable x = named_leaf("x");
  add_hook(x, ebb::hook_kind::tensor, "x", ran);
  add_hook(x, ebb::hook_kind::post_accumulate, "x", ran);
  ebb::backward(x, {.seeds = {walked_array::full(1, 3)}});
  CHECK(walked == event_list{"seed of x", "tensor hook of x", "accumulate x", "post-accumulate hook of x"});
  CHECK(hooks_among(walked) == ran);

  const walked_variable b = walked_bend(x), p = walked_product(b, b);
  ran.clear();
  (void)ebb::grad(p, ebb::wrt(b, x), {.seeds = {walked_array::full(1, 3)}});
  CHECK(walked == event_list{"seed of mul", "backward of mul", "sum for tanh", "asked for of tanh", "backward of tanh", "tensor hook of x",
                             "asked for of x"});
  CHECK(hooks_among(walked) == ran);
  ca::reset();
}

TEST_CASE("1,000 random graphs with hooks of all kinds: the walk tells of each opaque hook where the engine runs it") {
  ca::reset();
  for (unsigned seed = 0; seed < 1000; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::size_t n) { return random() % n; };
    event_list ran;
    std::vector<walked_variable> all;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < 3; ++i) {
      names.push_back("leaf " + std::to_string(i));
      all.push_back(named_leaf(names.back()));
      if (below(2)) all.back().set_grad(walked_array::full(1, 3));
    }
    for (std::size_t i = 0, n = 1 + below(8); i < n; ++i) {
      const walked_variable &a = all[below(all.size())], &b = all[below(all.size())];
      const std::size_t what = below(3);
      const walked_variable made = what == 0 ? walked_product(a, b) : what == 1 ? walked_bend(a) : walked_sum(a, b);
      all.push_back(made);
      names.push_back(what == 0 ? "mul" : what == 1 ? "tanh" : "add");
    }
    for (std::size_t i = 0, n = below(10); i < n; ++i) {
      const std::size_t at = below(all.size());
      auto kind = static_cast<ebb::hook_kind>(below(ebb::hook_kinds));
      if (is_of_leaves(kind) && !all[at].is_leaf()) kind = ebb::hook_kind::tensor;
      if (below(4)) add_hook(all[at], kind, names[at], ran);
      else all[at].register_hook([](auto g) { return g * 0.5; });
    }
    if (below(3) == 0) all[below(all.size())].retain_grad();
    const walked_variable& root = all.back();
    walked.clear();
    const ca::options how{.compiler = keep_events};
    ca::clear_cache();
    if (below(3)) ebb::backward(root, {.seeds = {walked_array::full(1, 3)}, .compiled_autograd = how});
    else {
      const walked_variable &one = all[below(all.size())], &two = all[below(all.size())];
      (void)ebb::grad(root, ebb::wrt(one, two), {.seeds = {walked_array::full(1, 3)}, .allow_unused = true, .compiled_autograd = how});
    }
    INFO("seed " << seed);
    CHECK(!walked.empty());
    REQUIRE(hooks_among(walked) == ran);
  }
  ca::reset();
}

// test/capture/random_graphs.cpp — random programs captured, run again from the cache, and in many threads: hooks and results see
// what they see in the plain engine, bit for bit and in the same order.
// SPDX-License-Identifier: BSL-1.0
// covers: captured_walk.hpp chain_sink.hpp plan.hpp
//
// This test holds the order of hooks in autograd/engine.hpp and capture/captured_walk.hpp together, see [note: the order of hooks].
// test/autograd/random_graphs.cpp compares the plain engine with plain vectors, on programs of the same kind.
#include "../catch.hpp"

#include <ebb/ebb.hpp>

#if EBB_EXCEPTIONS
#include "random_mixed.hpp"
#endif

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#if EBB_EXCEPTIONS

namespace {

using namespace random_programs;
namespace ca = ebb::compiled_autograd;
using lines = std::vector<std::string>;

enum class how { plain, captured, unmerged };

lines run(const program& p, how h) {
  if (h == how::plain) {
    const ca::disable scope;
    return on_ebb_mixed(p).run();
  }
  ca::options o;
  if (h == how::unmerged) o.compiler = [](const ebb::captured_graph&) { return ebb::backend::eager; };
  const ca::enable scope(o);
  return on_ebb_mixed(p).run();
}

std::string first_difference(const lines& a, const lines& b, const std::string& what) {
  for (std::size_t i = 0; i < a.size() || i < b.size(); ++i) {
    const std::string x = i < a.size() ? a[i] : "nothing", y = i < b.size() ? b[i] : "nothing";
    if (x != y) return what + ", line " + std::to_string(i) + ": plain " + x.substr(0, 300) + "\ncaptured " + y.substr(0, 300);
  }
  return "";
}

/// Nothing, or the first lines that differ: captured from nothing, from the cache, and node by node.
std::string differs(const program& p, bool with_unmerged = true) {
  const lines plain = run(p, how::plain);
  std::string s = first_difference(plain, run(p, how::captured), "first");
  if (s.empty()) s = first_difference(plain, run(p, how::captured), "again");
  if (s.empty() && with_unmerged) s = first_difference(plain, run(p, how::unmerged), "unmerged");
  return s;
}
std::string differs_from_nothing(const program& p) {
  ca::clear_cache();
  return differs(p);
}

/// The same steps on long arrays, with a graph of every backward.
program as_recorded(program p) {
  p.extent = 4101;
  for (step& s : p.steps)
    if (s.what == op::backward || s.what == op::grad) s.flags |= create_graph;
  return p;
}

void check(variety v, std::uint64_t programs, program (*changed)(program) = nullptr) {
  ca::reset();
  if (test::is_only_compiled) programs /= 5;
  int failed = 0;
  for (std::uint64_t seed = 0; seed < programs && failed < 3; ++seed) {
    const program made = generator(seed, v).make(), p = changed ? changed(made) : made;
    const std::string difference = differs(p, seed % 4 == 0);
    if (difference.empty()) continue;
    ++failed;
    if (differs_from_nothing(p).empty()) {
      FAIL_CHECK("seed " << seed << ", only with what came before: " << difference);
      continue;
    }
    const program least = shrink(p, [](const program& fewer) { return !differs_from_nothing(fewer).empty(); });
    FAIL_CHECK("seed " << seed << ", " << differs_from_nothing(least) << "\n" << least.text());
  }
  const auto c = ebb::counters().compiled_autograd;
  CHECK(c.captures > programs);
  CHECK(c.hits > programs);
  CHECK(c.evictions > programs / 2);  // the last ones stay
  CHECK(c.compiles > programs / 4);
  ca::reset();
}

}  // namespace

// These mistakes in a captured backward were tried, and it caught them:
//   run groups though a hook has added or removed hooks; run groups though a gradient that they count on has not come;
//   accumulate at a leaf before the hooks of another one that the same node completes (1 of 10,000: recording.cpp has a test for it).
TEST_CASE("5,000 random programs are the same captured, from the cache and plain") { check(variety::narrow, 5000); }

TEST_CASE("3,000 with all kinds of hooks and arrays of several blocks are, too") { check(variety::wide, 3000); }

TEST_CASE("2,000 with arrays of double among them, masks, and hooks that see several gradients, are, too") { check(variety::mixed, 2000); }

TEST_CASE("1,000 with long arrays that are all recorded are, too") { check(variety::wide, 1000, as_recorded); }

// See [note: what is merged].
TEST_CASE("passes across nodes would take away less than 20 of a thousand equations") {
  ca::reset();
  static int before, after;
  before = after = 0;
  static constexpr auto computed = [](const ebb::graph& g) {
    int n = 0;
    for (int k = 0; k < g.size(); ++k) n += g.op(k).what != ebb::kind::input && g.op(k).what != ebb::kind::literal;
    return n;
  };
  const ca::options look{.compiler = [](const ebb::captured_graph& captured) {
    ebb::graph g = captured.equations();
    for (const ebb::capture_event& e : captured.events())
      for (const ebb::vec<int>* list : {&e.in, &e.out})
        for (int k : *list)
          if (k >= 0) g.out.push(k);
    g = ebb::prune(g);
    before += computed(g);
    after += computed(ebb::prune(ebb::simplify(ebb::simplify(g))));
    return ebb::backend::merge;
  }};
  for (const variety v : {variety::narrow, variety::wide, variety::mixed})
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
      const ca::enable scope(look);
      on_ebb_mixed(generator(seed, v).make()).run();
    }
  INFO(before << " equations, " << after << " after the passes");
  CHECK(before > 5000);
  CHECK(1000 * (before - after) < 20 * before);
  ca::reset();
}

// Threads: from here on the process has several.
TEST_CASE("random programs in eight threads at once, each with a cache of its own") {
  constexpr int threads = 8, programs = 500;
  std::vector<std::string> wrong(threads);
  std::vector<std::thread> all;
  std::atomic<int> waiting = threads;
  for (std::size_t k = 0; k < threads; ++k)
    all.emplace_back([&wrong, &waiting, k] {
      for (--waiting; waiting > 0;) std::this_thread::yield();
      if (k % 2) ca::set_cache_limit(20);
      for (std::uint64_t i = 0; i < programs && wrong[k].empty(); ++i) {
        const program p = generator(k / 2 * 1000 + i, static_cast<variety>(k / 2 % 3)).make();  // two threads do the same
        wrong[k] = differs(p, false);
        if (!wrong[k].empty()) wrong[k] += "\n" + p.text();
      }
    });
  for (std::thread& t : all) t.join();
  for (const std::string& w : wrong) CHECK(w == "");
}

#else  // refusals end the program

TEST_CASE("random programs need exceptions") { SUCCEED(); }

#endif

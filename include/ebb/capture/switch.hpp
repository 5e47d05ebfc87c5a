// ebb/capture/switch.hpp — compiled autograd on and off: for a scope, for a call, for the process.
// SPDX-License-Identifier: BSL-1.0
//
// [note: compiled autograd]
//   auto scope = ebb::compiled_autograd::enable({.fullgraph = true});   loss.backward();
//   ebb::config().compiled_autograd = true;
//   ebb::backward(loss, {.compiled_autograd = true});
// A backward is looked up by its structure. If it has been seen, it runs along the plan that was made then: pieces that were compiled
// apart run as one. If not, it is captured first. Either way the results are those of the plain engine, bit for bit.
// A call's option beats a scope, the innermost scope beats those around it and the process; a call that says true in a scope that captures
// is captured with the scope's options. Threads do not see each other's scopes.
#pragma once

#include "explain.hpp"

#include "../base/log.hpp"

#include <atomic>
#include <cstdint>

namespace ebb::inline EBB_ABI {

namespace detail {

/// Whether some node's backward assumes another autocast context: the pass reports that, and is not captured.
EBB_ONCE bool is_out_of_context(backward_pass& pass) {
  const int context = current_context();
  walk& w = pass.vertices();
  return std::any_of(w.order().begin(), w.order().end(), [&](int i) {
    const casts_assumed* const assumed = pass.assumed_for(w.node_at(i));
    return assumed && assumed->wrong_in[context] >= 0;
  });
}
/// Whether sequence numbers order all nodes: those of several threads may be equal.
EBB_ONCE bool has_one_order(backward_pass& pass) {
  walk& w = pass.vertices();
  for (int i = 1; i < w.order().size(); ++i)
    if (w.node_at(w.order()[i]).sequence == w.node_at(w.order()[i - 1]).sequence) return false;
  return true;
}

/// Whether reasons are logged: to find out why a graph is captured takes longer than to capture it.
inline bool wants_reasons(const capturing_engine& e) { return e.tells_reasons && logs(log_topic::compiled_autograd_verbose); }

/// Numbers the names of graphs. The counter of captures can be cleared: then a name would come twice.
inline constinit std::atomic<std::uint64_t> captured_so_far = 0;

/// Logs a graph that has just been captured and calls the compiler. Returns whether it is to be merged.
EBB_ONCE_APART bool show(const capturing_engine& e, const recording& r, backward_pass& pass) {
  counting().captures.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t number = captured_so_far.fetch_add(1, std::memory_order_relaxed);
  const bool is_logged = logs(log_topic::compiled_autograd) || logs(log_topic::aot) || logs(log_topic::plan);
  if (!e.options.compiler && !is_logged) return true;
  const captured_graph g(r, pass, number);
  if (const std::string s = logs(log_topic::aot) ? g.region_text() : ""; !s.empty()) say(log_topic::aot, s);
  if (logs(log_topic::compiled_autograd)) say(log_topic::compiled_autograd, "===== Compiled autograd graph =====\n" + to_string(g));
  const bool merges = !e.options.compiler || e.options.compiler(g) == backend::merge;
  if (logs(log_topic::plan)) say(log_topic::plan, to_string(captured_plan(g, merges)));
  return merges;
}

/// Captures a backward and puts it into the cache.
EBB_ONCE_APART captured* capture(const capturing_engine& e, backward_pass& pass, std::uint32_t hash) {
  pass.explore();
  if (e.options.fullgraph) require_one_graph(pass);
  if (is_out_of_context(pass) || !has_one_order(pass)) return nullptr;
  recording r(pass);
  pass.vertices().abandon();
  if (!r.match(pass)) {
    pass.explore();
    return nullptr;
  }
  counting().new_node_misses.fetch_add(1, std::memory_order_relaxed);
  if (wants_reasons(e)) say(log_topic::compiled_autograd_verbose, reason_for(r, this_cache(), pass.vertices()));
  const bool merges = show(e, r, pass);
  pass.vertices().abandon();
  counted<captured> made(new captured(std::move(r), merges));
  if (!made->recorded().match(pass)) return nullptr;
  if (made->plan().groups() > 0) counting().compiles.fetch_add(1, std::memory_order_relaxed);
  this_cache().add(hash, made);
  return made.get();
}

/// A pass that looks for NaN runs node by node.
EBB_ONCE_APART counted<captured_backward> capture_nothing(const capturing_engine& e, backward_pass& pass) {
  if (e.options.fullgraph) {
    pass.explore();
    require_one_graph(pass);
  }
  return nullptr;
}

/// If static sizes have changed, the graph is captured once more, and they are dynamic from now on. Null if none have changed.
EBB_ONCE_APART counted<captured> capture_again(const capturing_engine& e, captured& c, backward_pass& pass, std::uint32_t hash) {
  const vec<int> changed = c.note_sizes(pass.vertices());
  if (changed.empty()) return {};
  counting().new_shape_misses.fetch_add(1, std::memory_order_relaxed);
  if (wants_reasons(e)) {
    const vec<int> dynamic = c.dynamic_sizes();
    std::string s = "Cache miss due to " + std::to_string(changed.size()) + " changed tensor shapes (total of " +
                    std::to_string(dynamic.size()) + "):";
    for (int i = 0, shown = 0; i < dynamic.size(); ++i)
      if (std::find(changed.begin(), changed.end(), dynamic[i]) != changed.end())
        s += (shown++ ? ", sizes[" : " sizes[") + std::to_string(i) + "]";
    say(log_topic::compiled_autograd_verbose, s + "\n");
  }
  const bool merges = show(e, c.recorded(), pass);
  counted<captured> made(new captured(c, merges));
  if (made->plan().groups() > 0) counting().compiles.fetch_add(1, std::memory_order_relaxed);
  this_cache().replace(hash, c, made);
  return made;
}

/// Captures a backward that is not known, or one that is known with other sizes, if those are part of its structure.
EBB_ONCE_APART counted<captured_backward> capture_if_needed(const capturing_engine& e, captured* known, backward_pass& pass,
                                                                      std::uint32_t hash) {
  bool is_known = known != nullptr;
  if (!known) known = capture(e, pass, hash);
  if (!known) return nullptr;
  counted<captured_backward> found(known);
  if (!e.options.dynamic)
    if (const counted<captured> again = capture_again(e, *known, pass, hash); again) {
      pass.vertices().abandon();
      if (!again->recorded().match(pass)) return nullptr;  // the compiler callback may have changed hooks
      found = counted<captured_backward>(known = again.get());
      is_known = false;
    }
  if (is_known) count_one(counting().hits);
  if (counting().notes_graphs.load(std::memory_order_relaxed)) known->note();
  return found;
}

EBB_ONCE counted<captured_backward> find_captured(const backward_engine& engine, backward_pass& pass) {
  const capturing_engine& e = static_cast<const capturing_engine&>(engine);
  pass.choose(e.options.backward_policy);
  if (pass.looks_for_nan()) return capture_nothing(e, pass);
  std::uint32_t hash = 0;
  for (const endpoint& r : pass.vertices().roots()) hash = (hash + r.at->key) * 0x9E3779B9u;
  captured* const known = this_cache().find(pass, hash);
  if (!known || !e.options.dynamic) return capture_if_needed(e, known, pass, hash);
  count_one(counting().hits);
  if (counting().notes_graphs.load(std::memory_order_relaxed)) known->note();
  return counted<captured_backward>(known);
}

inline constexpr capturing_engine default_capturing{{find_captured}, {}, true};
inline capturing_engine capturing(const capture_options& o) { return {{find_captured}, o, logs(log_topic::compiled_autograd_verbose)}; }

}  // namespace detail

EBB_ONCE engine_setting& engine_setting::operator=(bool captures) {
  engine_.store(captures ? &detail::default_capturing : nullptr, std::memory_order_release);
  return *this;
}

inline engine_wanted::engine_wanted(bool captures) : engine_(captures ? &detail::default_capturing : &plain_engine) {}
inline engine_wanted::engine_wanted(const capture_options& o) : own_(detail::capturing(o)) {}

namespace compiled_autograd {

using options = capture_options;

/// While it lives, backwards of this thread are captured.
class enable {
 public:
  EBB_SCOPE enable() : enable(options{}) {}
  EBB_SCOPE explicit enable(const options& o) : engine_(detail::capturing(o)), scope_(engine_) {}

 private:
  capturing_engine engine_;
  engine_scope scope_;
};

/// While it lives, backwards of this thread are not captured, whatever the process has set.
class disable {
 public:
  EBB_SCOPE disable() : scope_(plain_engine) {}

 private:
  engine_scope scope_;
};

/// Forgets what this thread has captured.
inline void clear_cache() { this_cache().clear(); }
/// How many captured backwards this thread keeps, at least one.
inline void set_cache_limit(std::size_t limit) { this_cache().set_limit(limit); }
inline std::size_t cache_size() { return this_cache().size(); }

/// Everything is as in a process that has just begun: off, nothing captured, the default limit, counters at zero.
EBB_ONCE void reset() {
  config().compiled_autograd = false;
  clear_cache();
  set_cache_limit(capture_cache::default_limit);
  clear_counters();
  detail::captured_so_far = 0;
}

}  // namespace compiled_autograd

}  // namespace ebb::inline EBB_ABI

// ebb/autograd/backward_engine.hpp — the engine that runs backwards, for a process, a scope or one call, and compiled autograd's options.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "thread.hpp"

#include "../autocast/policy.hpp"
#include "../base/counted.hpp"

#include <cstdint>
#include <utility>

namespace ebb::inline EBB_ABI {

class backward_pass;
class captured_graph;

/// A captured backward: compiled autograd keeps one for each graph.
struct captured_backward {
  owner_count owners;

  virtual ~captured_backward() = default;
  virtual void run(backward_pass&) = 0;
};
inline void destroy(captured_backward* c) noexcept { delete c; }

/// Runs backwards: see [note: compiled autograd]. Without a function it is the plain engine, below.
struct backward_engine {
  /// The captured backward for this pass, or null: the pass runs plainly. Throws: as backward does, before anything has run.
  counted<captured_backward> (*find)(const backward_engine&, backward_pass&) = nullptr;
};
inline constexpr backward_engine plain_engine{};

/// How a captured graph runs: `merge` fuses nodes, `eager` runs it node by node.
enum class backend : std::uint8_t { merge, eager };

struct capture_options {
  bool fullgraph = false;  // an opaque hook or function in the backward is an error that names it
  bool dynamic = true;     // the key has no sizes; false: it has them until they change
  backend (*compiler)(const captured_graph&) = nullptr;  // called with each captured graph: returns its backend

  policy_choice backward_policy = {};  // regions that declare it run under it: see [note: another policy]

  bool operator==(const capture_options&) const = default;
};

/// An engine that captures.
struct capturing_engine : backward_engine {
  capture_options options;
  bool tells_reasons = false;  // whether a log wants reasons: read once, when the engine is set up
};

/// The option compiled_autograd of a call: a bool, or options. Its constructor brings in capture, see [note: derivatives on demand].
class engine_wanted {
 public:
  constexpr engine_wanted() = default;
  engine_wanted(bool captures);  // both in capture/switch.hpp
  engine_wanted(const capture_options& o);

  /// Null if the call sets nothing. A call that sets only `true` takes the options of the scope around it.
  EBB_ONCE const backward_engine* engine() const {
    if (own_.find) return &own_;
    if (!engine_ || !engine_->find) return engine_;
    const backward_engine* const around = this_tape().engine;
    return around && around->find ? around : engine_;
  }

 private:
  const backward_engine* engine_ = nullptr;
  capturing_engine own_ = {};
};

/// While it lives, backwards of this thread are run by this engine.
class engine_scope {
 public:
  explicit engine_scope(const backward_engine& e, tape_state& t = this_tape()) : tape_(t), was_(std::exchange(t.engine, &e)) {}
  engine_scope(const engine_scope&) = delete;
  engine_scope& operator=(const engine_scope&) = delete;
  ~engine_scope() { tape_.engine = was_; }

 private:
  tape_state& tape_;
  const backward_engine* was_;
};

}  // namespace ebb::inline EBB_ABI

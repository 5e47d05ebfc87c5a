// ebb/exec/blocks.hpp — runs any graph step by step through tables of functions, without instantiating kernels.
// SPDX-License-Identifier: BSL-1.0
//
// The steps, buffers, places and checks are those of the plan of a compiled program, and the bits of all results are the same for any
// block size. Compiled kernels are faster because they keep values in registers: here they go through the first-level cache.
#pragma once

#include "block_nest.hpp"
#include "check.hpp"
#include "evaluate.hpp"
#include "loop.hpp"
#include "probed.hpp"

#include "../base/owned.hpp"
#include "../op/whole.hpp"

#include <memory>
#include <utility>

namespace ebb::inline EBB_ABI {

/// A graph that is ready to run. Code that only runs graphs uses this base class: planner and blocks are then compiled only in programs
/// that make one.
class runnable_graph {
 public:
  runnable_graph() = default;
  runnable_graph(const runnable_graph&) = delete;
  runnable_graph& operator=(const runnable_graph&) = delete;
  virtual ~runnable_graph() = default;
  virtual const graph& program() const = 0;
  /// A pointer for each argument and each result, and the value of each symbol. `call` is the name in errors.
  virtual void run(void* const* arguments, void* const* results, const std::size_t* symbol, const char* call = "ebb") = 0;
};

/// A planned graph, ready to run any number of times, with arrays of any size: the second run of a size allocates nothing.
class block_program final : public runnable_graph {
 public:
  static constexpr std::size_t default_block = 512;

  explicit block_program(const graph& g, std::size_t block = default_block) : block_program(g, make_plan(g), block) {}
  EBB_ONCE_CTOR block_program(const graph& g, plan p, std::size_t block = default_block) : g_(g), p_(std::move(p)) {
    std::size_t arena = 0;
    int operands = 1;
    for (int i = 0; i < p_.nests.size(); ++i) {
      nests_.push(std::make_unique<detail::block_nest>(g_, p_, i, block));
      arena = std::max(arena, nests_.back()->arena_bytes());
    }
    for (const plan_step& s : p_.steps) operands = std::max(operands, s.joined.count);
    for (int s = 0; s < p_.steps.size(); ++s)
      loops_.push(p_.steps[s].what == kind::loop && p_.steps[s].nest < 0 ? std::make_unique<loop>(g_, p_, s, block) : nullptr);
    arena_.take(arena);
    buffer_ = vec<void*>(p_.buffers.size(), nullptr);
    in_ = vec<const void*>(operands, nullptr);
    shapes_ = vec<extent_list>(operands, extent_list{});
    along_ = vec<stride_list>(operands < 3 ? 3 : operands, stride_list{});  // a product has those of its result besides
    strides_ = vec<const std::ptrdiff_t*>(along_.size(), nullptr);
  }

  const graph& program() const override { return g_; }
  const plan& steps() const { return p_; }

  /// Throws: error for an index out of range and for an extremum over no elements: see [note: checked before anything changes].
  EBB_ONCE void run(void* const* arguments, void* const* results, const std::size_t* symbol, const char* call = "ebb") override {
    EBB_PROBE(if (probe_listener_here && !probed_) probed_ = &probed_program::keep(g_, p_); probe here;)
    EBB_PROBE(if (probed_) probed_->begin(here, call, symbol, false);)
    find_buffers(arguments, results, symbol);
    check_after(-1, symbol, call);
    for (int s = 0; s < p_.steps.size(); ++s) {
      EBB_PROBE(probe of_step; if (probed_) probed_->begin_step(of_step, s, symbol);)
      if (p_.steps[s].nest >= 0) nests_[p_.steps[s].nest]->run(buffer_.data(), symbol, arena_.take(0));
      else if (loops_[s]) loops_[s]->run(buffer_.data(), symbol, call);
      else run_whole(p_.steps[s], symbol, call);
      check_after(s, symbol, call);
    }
    for (const plan_copy& c : p_.copies)
      if (const std::size_t n = bytes(p_.buffers[c.buffer].shape, p_.buffers[c.buffer].type, symbol))
        std::memcpy(results[c.result], buffer_[c.buffer], n);
  }

 private:
  std::size_t bytes(int shape, dtype type, const std::size_t* symbol) const { return volume(g_.shapes[shape], symbol) * size_of(type); }

  EBB_ONCE void find_buffers(void* const* arguments, void* const* results, const std::size_t* symbol) {
    const auto padded = [&](const plan_place& p) { return (bytes(p.shape, p.type, symbol) + 63) / 64 * 64; };
    std::size_t total = 0;
    for (const plan_place& p : p_.places) total += padded(p);
    char* at = places_.take(total);
    place_.shrink(0);
    for (const plan_place& p : p_.places) {
      place_.push(at);
      at += padded(p);
    }
    for (int b = 0; b < p_.buffers.size(); ++b) {
      const plan_buffer& x = p_.buffers[b];
      if (x.is == plan_buffer::role::argument) buffer_[b] = arguments[x.number];
      else if (x.is == plan_buffer::role::result) buffer_[b] = results[x.number];
      else if (x.is == plan_buffer::role::temporary) buffer_[b] = place_[x.number];
    }
    for (int b = 0; b < p_.buffers.size(); ++b)
      if (p_.buffers[b].is == plan_buffer::role::part) buffer_[b] = address_of_part(b, symbol);
  }

  EBB_ONCE char* address_of_part(int b, const std::size_t* symbol) const {
    const plan_buffer& x = p_.buffers[b];
    if (x.is != plan_buffer::role::part) return static_cast<char*>(buffer_[b]);
    char* const whole = address_of_part(x.whole, symbol);
    if (!whole) return whole;  // no memory for no elements: null has no parts
    const auto before = static_cast<std::ptrdiff_t>(elements_before(x.at, g_.shapes[x.at.whole], g_.shapes[x.at.shape], symbol));
    return whole + (before + (x.view < 0 ? 0 : p_.views[x.view].elements_before(symbol))) * static_cast<std::ptrdiff_t>(size_of(x.type));
  }

  EBB_ONCE void run_whole(const plan_step& s, const std::size_t* symbol, const char* call) {
    const equation& e = g_.eq[s.equation];
    if (is_written_in_parts(s, *e.op)) return;
    for (int j = 0; j < e.count; ++j) {
      in_[j] = buffer_[p_.joined[s.joined.first + j]];
      shapes_[j] = extents_at(g_.shape_of(g_.operand(s.equation, j)), symbol);
    }
    whole_call c;
    c.op = e.op;
    c.attr = e.attr;
    c.count = e.count;
    c.in = in_.data();
    c.shapes = shapes_.data();
    if (e.count > 1) c.index = g_.op(g_.operand(s.equation, 1)).result;
    c.out = buffer_[s.out];
    c.result = extents_at(g_.shapes[e.shape], symbol);
    c.call = call;
    if (s.onto >= 0) c.onto = buffer_[s.onto];
    for (int j = 0; j < count_of_strided(s); ++j) {
      strides_[j] = nullptr;
      if (const int view = p_.buffers[strided_buffer(p_.joined, s, j)].view; view >= 0) {
        for (int a = 0; a < c.result.rank; ++a) along_[j].of[a] = p_.views[view].along[a].value(symbol);
        c.strides = strides_.data();
        strides_[j] = along_[j].of;
      }
    }
    if (s.what == kind::contract) {
      detail::sum_batch(c, s.summed, along_[2].of, strides_[2]);
      if (strides_[2]) c.strides = strides_.data();
    }
    e.op->kernels.whole(c);
  }

  EBB_ONCE void check_after(int step, const std::size_t* symbol, const char* call) const {
    for (const plan_check& c : p_.checks) {
      if (c.after != step) continue;
      const dtype type = c.buffer < 0 ? dtype::i64 : p_.buffers[c.buffer].type;
      const void* const data = c.buffer < 0 ? nullptr : buffer_[c.buffer];
      detail::run_check(call, {c, g_.eq[c.equation], type}, extents_at(g_.shapes[c.shape], symbol), data, symbol);
    }
  }

  /// A loop with its body: as detail::loop_step for programs that are known to the compiler.
  class loop {
   public:
    EBB_ONCE_CTOR loop(const graph& g, const plan& p, int step, std::size_t block)
        : g_(g), p_(p), s_(p.steps[step]), parts_(loop_parts::of(g.eq[s_.equation])),
          body_(std::make_unique<block_program>(lower(g.subs[g.eq[s_.equation].sub]), block)),
          in_(g.eq[s_.equation].count + 1, nullptr), out_(body_->program().out.size() + 1, nullptr), carry_(parts_.carries, {}),
          read_(parts_.rows, {}), write_(body_->program().out.size() - parts_.carries, {}) {}

    EBB_ONCE void run(void* const* buffer, const std::size_t* symbol, const char* call) {
      const equation& e = g_.eq[s_.equation];
      const graph& body = body_->program();
      sizes_.shrink(0);
      for (int j = 0; j < e.count; ++j) {
        const shape& s = g_.shape_of(g_.operand(s_.equation, j));
        sizes_.push(extents_at(parts_.is_row(j) ? row_of_shape(s) : s, symbol));
        in_[j] = buffer[p_.joined[s_.joined.first + j]];
      }
      values_ = symbol_values_by(body, sizes_, [&](int a) { return detail::count_at(g_.op(g_.operand(s_.equation, a)).result, in_[a]); });
      find_memory(buffer);
      std::size_t n = extent_value(g_.shapes[e.shape].e[0], symbol);
      if (parts_.guarded && !*static_cast<const bool*>(in_[e.count - 1])) {
        detail::clear_rows(n, carry_.data(), parts_.carries, write_.data(), write_.size());
        n = 0;
      }
      const auto run_body = [&] { body_->run(in_.data(), out_.data(), values_.data(), call); };
      if (parts_.open) return detail::run_open_loop(carry_.data(), parts_.carries, in_.data(), out_.data(), run_body);
      detail::run_loop(n, parts_.reversed, carry_.data(), parts_.carries, read_.data(), parts_.rows, write_.data(), write_.size(),
                       in_.data(), out_.data(), run_body);
    }

   private:
    std::size_t bytes_of_operand(int j) const {
      return sizes_[j].volume() * size_of(g_.op(g_.operand(s_.equation, j)).result);
    }
    EBB_ONCE void find_memory(void* const* buffer) {
      const graph& body = body_->program();
      for (int j = 0; j < parts_.carries; ++j)
        carry_[j] = {static_cast<const char*>(in_[j]), nullptr, nullptr, nullptr, bytes_of_operand(j)};
      for (int j = 0; j < parts_.rows; ++j)
        read_[j] = {static_cast<char*>(in_[parts_.carries + j]), bytes_of_operand(parts_.carries + j)};
      for (int j = 0; j < write_.size(); ++j) {
        const int o = body.out[parts_.carries + j];
        write_[j] = {nullptr, volume(body.shape_of(o), values_.data()) * size_of(body.op(o).result)};
      }
      int made = s_.made.first;
      each_result(g_, s_.equation, [&](int k) {
        char* const to = static_cast<char*>(buffer[p_.joined[made++]]);
        const int i = static_cast<int>(g_.eq[k].attr[0]);
        switch (kind_of_result(g_.eq[k])) {
          case loop_result::carry: carry_[i].end = to; break;
          case loop_result::row: write_[i].rows = to; break;
          case loop_result::history: carry_[i].history = to; break;
        }
      });
      std::size_t spare = 0;
      for (const detail::carried& x : carry_) spare += (std::size_t{!x.end} + std::size_t{!x.history}) * detail::padded_bytes(x.bytes);
      for (const detail::stepped& x : write_) spare += x.rows ? 0 : detail::padded_bytes(x.bytes);
      char* at = spare_.take(spare);
      const auto take = [&](char*& to, std::size_t bytes) {
        to = at;
        at += detail::padded_bytes(bytes);
      };
      for (detail::carried& x : carry_) {
        if (!x.end) take(x.end, x.bytes);
        if (!x.history) take(x.other, x.bytes);
      }
      for (detail::stepped& x : write_)
        if (!x.rows) {
          take(x.rows, x.bytes);
          x.bytes = 0;
        }
    }

    const graph& g_;
    const plan& p_;
    const plan_step& s_;
    loop_parts parts_;
    std::unique_ptr<block_program> body_;
    workspace spare_;
    vec<void*> in_, out_;
    vec<detail::carried> carry_;
    vec<detail::stepped> read_, write_;
    vec<extent_list> sizes_;
    vec<std::size_t> values_;
  };

  graph g_;
  plan p_;
  vec<std::unique_ptr<detail::block_nest>> nests_;
  vec<std::unique_ptr<loop>> loops_;  // by step
  workspace arena_, places_;
  vec<void*> buffer_;
  vec<char*> place_;
  struct stride_list {
    std::ptrdiff_t of[max_rank] = {};
  };
  vec<const void*> in_;
  vec<extent_list> shapes_;
  vec<stride_list> along_;
  vec<const std::ptrdiff_t*> strides_;
  EBB_PROBE(const probed_program* probed_ = nullptr;)
};

inline owned<runnable_graph> run_in_blocks(const graph& g) { return make_owned<block_program>(without_customs(g)); }

}  // namespace ebb::inline EBB_ABI

// ebb/exec/blocks.hpp — any graph, made at run time or not, run step by step from tables of functions: no kernel is instantiated.
// SPDX-License-Identifier: BSL-1.0
//
// The steps, buffers, places and checks are those of the plan that a compiled program would follow, and so are the bits of all results,
// whatever the size of a block. What compiled kernels gain over this is registers: a value goes through the first-level cache here.
#pragma once

#include "block_nest.hpp"
#include "check.hpp"
#include "whole.hpp"

#include <memory>

namespace ebb::inline EBB_ABI {

/// A planned graph, ready to run any number of times, with arrays of any size: the second run of a size allocates nothing.
/// The op tables must have been made with kernels: include exec/vectorized.hpp before the first use of an op.
///
/// [note: two floors in one program]
/// Rules emit equations by functions that are the same for all translation units, and the linker keeps one of each. If another unit runs
/// passes and includes no kernels (all of <ebb/ebb.hpp> and <ebb/functional.hpp> do), that one may make tables without. A derivative
/// that is made at run time then meets them; it is refused, and the sentence says which unit has to include more.
class block_program {
 public:
  static constexpr std::size_t default_block = 512;

  explicit block_program(const graph& g, std::size_t block = default_block) : block_program(g, make_plan(g), block) {}
  EBB_ONCE_CTOR block_program(const graph& g, const plan& p, std::size_t block = default_block) : g_(g), p_(p) {
    for (int k = 0; k < g_.size(); ++k)
      if (!g_.op(k).kernels.there) refuse_op(g_.op(k).name);
    std::size_t arena = 0;
    int operands = 1;
    for (int i = 0; i < p_.nests.size(); ++i) {
      nests_.push(std::make_unique<detail::block_nest>(g_, p_, i, block));
      arena = std::max(arena, nests_.back()->arena_bytes());
    }
    for (const plan_step& s : p_.steps) operands = std::max(operands, s.joined.count);
    arena_.take(arena);
    buffer_ = vec<void*>(p_.buffers.size(), nullptr);
    in_ = vec<const void*>(operands, nullptr);
    shapes_ = vec<extent_list>(operands, extent_list{});
  }
  block_program(const block_program&) = delete;
  block_program& operator=(const block_program&) = delete;

  const graph& program() const { return g_; }
  const plan& steps() const { return p_; }

  /// One pointer for each argument and each result, the value of each symbol. `call` is who is named in errors.
  /// Throws: error for a place that is not there and for an extremum over nothing; see [note: checked before anything changes].
  EBB_ONCE void run(void* const* arguments, void* const* results, const std::size_t* symbol, const char* call = "ebb") {
    find_buffers(arguments, results, symbol);
    check_after(-1, symbol, call);
    for (int s = 0; s < p_.steps.size(); ++s) {
      if (p_.steps[s].nest >= 0) nests_[p_.steps[s].nest]->run(buffer_.data(), symbol, arena_.take(0));
      else run_whole(p_.steps[s], symbol, call);
      check_after(s, symbol, call);
    }
    for (const plan_copy& c : p_.copies)
      if (const std::size_t n = bytes(p_.buffers[c.buffer].shape, p_.buffers[c.buffer].type, symbol))
        std::memcpy(results[c.result], buffer_[c.buffer], n);
  }

 private:
  [[noreturn]] EBB_COLD static void refuse_op(std::string_view op) {
    raise("ebb: the table of " + std::string(op) + " has no kernels: a translation unit of this program runs passes, but includes none; it "
          "has to include <ebb/functional.hpp> or <ebb/ebb.hpp>");
  }
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
      else buffer_[b] = place_[x.number];
    }
  }

  EBB_ONCE void run_whole(const plan_step& s, const std::size_t* symbol, const char* call) {
    const equation& e = g_.eq[s.equation];
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

  graph g_;
  plan p_;
  vec<std::unique_ptr<detail::block_nest>> nests_;
  workspace arena_, places_;
  vec<void*> buffer_;
  vec<char*> place_;
  vec<const void*> in_;
  vec<extent_list> shapes_;
};

}  // namespace ebb::inline EBB_ABI

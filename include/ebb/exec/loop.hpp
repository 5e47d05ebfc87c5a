// ebb/exec/loop.hpp — runs a loop: its body is a program of its own, called with other addresses in each step.
// SPDX-License-Identifier: BSL-1.0
//
// Extents are compared and memory is placed before the first step: between two steps only addresses change. Rows are read and written in
// place. A carry alternates between two places, one of them the result's, or moves from one row of its history to the next if that is kept.
// If the body may write it over its argument, as a sum of all steps, it stays in one place: the cache then holds it once, not twice.
#pragma once

#include "../base/repeat.hpp"
#include "../graph/loop.hpp"
#include "../kernel/nest.hpp"
#include "../kernel/workspace.hpp"
#include "alias.hpp"
#include "buffers.hpp"
#include "check.hpp"
#include "program.hpp"
#include "symbol_values.hpp"

#include <array>
#include <cstring>
#include <utility>

namespace ebb::inline EBB_ABI {

// exec/run.hpp
template <class P>
void run_program(void* const* arguments, void* const* results, const std::size_t* symbol, const char* call = "ebb");

namespace detail {

/// An integer in memory: a number of steps. One that is negative is too large for an extent.
EBB_INLINE std::size_t count_at(dtype type, const void* at) {
  std::int64_t n = 0;
  std::int32_t few = 0;
  if (type == dtype::i64) std::memcpy(&n, at, sizeof n);
  else std::memcpy(&few, at, sizeof few), n = few;
  return static_cast<std::size_t>(n);
}

/// A carry.
struct carried {
  const char* first = nullptr;    // before the first step
  char *end = nullptr, *other = nullptr;  // its places after the last step and between steps
  char* history = nullptr;        // or the rows of its history
  std::size_t bytes = 0;
};
/// Rows that steps read or write.
struct stepped {
  char* rows = nullptr;
  std::size_t bytes = 0;  // from one row to the next
};

/// Calls step() n times. Sets `in` (carries, rows, wholes) and `out` (carries, rows) before each call.
EBB_INLINE void run_loop(std::size_t n, bool reversed, const carried* carry, int carries, const stepped* read, int reads,
                         const stepped* written, int writes, void** in, void** out, auto&& step) {
  std::size_t row = reversed && n > 0 ? n - 1 : 0;
  const std::size_t one = reversed ? ~std::size_t{0} : 1;
  for (int j = 0; j < carries; ++j) {
    char* const to = n == 0 ? carry[j].end : carry[j].history ? carry[j].history + row * carry[j].bytes : nullptr;
    // As a signed number: g++ 12 warns of sizes beyond half of all memory, which it thinks possible in some programs.
    if (to && static_cast<std::ptrdiff_t>(carry[j].bytes) > 0) std::memcpy(to, carry[j].first, carry[j].bytes);
    in[j] = to ? to : const_cast<char*>(carry[j].first);
  }
  for (std::size_t left = n; left > 0; row += one) {
    --left;
    for (int j = 0; j < carries; ++j) {
      const carried& c = carry[j];
      if (c.history) out[j] = left == 0 ? c.end : c.history + (row + one) * c.bytes;
      else out[j] = left & 1 ? c.other : c.end;
    }
    for (int j = 0; j < reads; ++j) in[carries + j] = read[j].rows + row * read[j].bytes;
    for (int j = 0; j < writes; ++j) out[carries + j] = written[j].rows + row * written[j].bytes;
    step();
    for (int j = 0; j < carries; ++j) in[j] = out[j];
  }
}

/// The same while one of the bools of carry 0 is true. The last step may write to the place between steps: then its result is copied.
EBB_INLINE void run_open_loop(const carried* carry, int carries, void** in, void** out, auto&& step) {
  for (int j = 0; j < carries; ++j) in[j] = const_cast<char*>(carry[j].first);
  const auto goes_on = [&] { return carry[0].bytes > 0 && std::memchr(in[0], 1, carry[0].bytes) != nullptr; };
  for (bool at_end = false; goes_on();) {
    at_end = !at_end;
    for (int j = 0; j < carries; ++j) out[j] = at_end ? carry[j].end : carry[j].other;
    step();
    for (int j = 0; j < carries; ++j) in[j] = out[j];
  }
  for (int j = 0; j < carries; ++j)
    if (in[j] != carry[j].end && carry[j].bytes > 0) std::memcpy(carry[j].end, in[j], carry[j].bytes);
}

/// Zeros in place of all rows that a guarded loop of n steps gives if it does not run.
EBB_INLINE void clear_rows(std::size_t n, const carried* carry, int carries, const stepped* written, int writes) {
  for (int j = 0; j < carries; ++j)
    if (carry[j].history && n * carry[j].bytes > 0) std::memset(carry[j].history, 0, n * carry[j].bytes);
  for (int j = 0; j < writes; ++j)
    if (n * written[j].bytes > 0) std::memset(written[j].rows, 0, n * written[j].bytes);
}

/// The body that is sub-graph N of program P.
template <class P, int N>
struct body_of {
  struct maker {
    static constexpr graph_size room = P::g.size_of_all;
    static constexpr graph make() { return P::g.thaw().subs[N]; }
  };
  static constexpr int depth = P::depth + 1;
  static constexpr const auto& g = frozen<maker>::g;
};

/// The arguments and results of a call, as numbers of buffers, -1 for a result that no step reads; and the extents outside of it that are
/// the body's symbols.
struct call_places {
  const int *in, *out, *extents;
};

/// The equation that is argument `number` of a program.
template <class P>
constexpr const equation& argument_of(int number) {
  int k = 0;
  while (P::g.eq[static_cast<std::size_t>(k)].op->what != kind::input || P::g.eq[static_cast<std::size_t>(k)].attr[0] != number) ++k;
  return P::g.eq[static_cast<std::size_t>(k)];
}

/// A loop of one step without carries is a call of its body: once and cond make them. This is one function for all calls of a body.
template <class Body, bool Guarded>
void call_body(const nest_call& c, const call_places& at) {
  symbol_values_of<Body> symbols;
  void *in[Body::arguments + 1], *out[Body::results + 1];
  for (int i = 0; i < Body::arguments; ++i) in[i] = c.buffer[at.in[i]];
  repeat<Body::symbols>([&]<int I>() EBB_LAMBDA {
    constexpr extent_origin o = Body::g.syms[static_cast<std::size_t>(I)].origin;
    if constexpr (o.is_value()) symbols.value[I] = count_at(argument_of<Body>(o.a).op->result, in[o.a]);
    else if constexpr (o.rule == extent_rule::argument) symbols.value[I] = extent_value(at.extents[I], c.symbol);
  });
  static_cast<void>(symbols.complete());  // the outer program has checked all extents
  std::size_t bytes[Body::results + 1] = {}, spare = 0;
  repeat<Body::results>([&]<int I>() EBB_LAMBDA {
    constexpr const equation& made = Body::g.eq[static_cast<std::size_t>(Body::g.out[static_cast<std::size_t>(I)])];
    constexpr int shape = made.shape;
    bytes[I] = bytes_of_shape<Body, shape>(made.op->result, symbols.value, axes_of<Body, shape>{});
    if (at.out[I] < 0) spare += padded_bytes(bytes[I]);
  });
  char* unread = spare > 0 ? workspace_of_carries<Body::depth - 1>().take(spare) : nullptr;
  for (int i = 0; i < Body::results; ++i) {
    if (at.out[i] >= 0) out[i] = c.buffer[at.out[i]];
    else out[i] = std::exchange(unread, unread + padded_bytes(bytes[i]));
  }
  if constexpr (Guarded)
    if (!*static_cast<const bool*>(in[Body::arguments - 1])) {
      for (int i = 0; i < Body::results; ++i)
        if (bytes[i] > 0) std::memset(out[i], 0, bytes[i]);
      return;
    }
  if constexpr (has_checks<Body>(-1)) check_arguments<Body>(c.name, in, symbols.value);
  run_program<Body>(in, out, symbols.value, c.name);
}

/// Step S of program P, a loop.
template <class P, int S>
class loop_step {
  static constexpr plan_step s = P::plan.steps[static_cast<std::size_t>(S)];
  static constexpr equation e = P::g.eq[static_cast<std::size_t>(s.equation)];
  static constexpr loop_parts parts = loop_parts::of(e);
  using body = executable<body_of<P, e.sub>>;
  static constexpr int written = body::results - parts.carries;

  static constexpr const equation& operand(int j) {
    return P::g.eq[static_cast<std::size_t>(P::g.pool[static_cast<std::size_t>(e.first + j)])];
  }
  static constexpr int buffer_of_operand(int j) { return P::plan.joined[static_cast<std::size_t>(s.joined.first + j)]; }
  /// The buffer of a result; -1 if no equation names it.
  static constexpr int buffer_of_result(loop_result what, int number) {
    int made = s.made.first;
    for (int k = s.equation + 1; k < P::g.size(); ++k) {
      const equation& r = P::g.eq[static_cast<std::size_t>(k)];
      if (r.op->what != kind::result || P::g.pool[static_cast<std::size_t>(r.first)] != s.equation) continue;
      if (kind_of_result(r) == what && r.attr[0] == number) return P::plan.joined[static_cast<std::size_t>(made)];
      ++made;
    }
    return -1;
  }
  template <loop_result What, int Number>
  static EBB_INLINE char* result(const nest_call& c) {
    constexpr int buffer = buffer_of_result(What, Number);
    if constexpr (buffer < 0) return nullptr;
    else return static_cast<char*>(c.buffer[buffer]);
  }

  /// Whether a carry that has no history stays in one place.
  template <int J>
  static constexpr bool stays = overwrites<body>::may(J, J);

  /// See call_body.
  static constexpr bool is_call = parts.carries == 0 && !parts.open && P::shape_at(e.shape).e[0] == 1;
  template <int Count>
  using numbers = std::array<int, static_cast<std::size_t>(Count) + 1>;
  static constexpr auto in_call = [] {
    numbers<body::arguments> r{};
    for (int j = 0; j < body::arguments; ++j) r[static_cast<std::size_t>(j)] = buffer_of_operand(j);
    return r;
  }();
  static constexpr auto out_of_call = [] {
    numbers<body::results> r{};
    for (int j = 0; j < body::results; ++j) r[static_cast<std::size_t>(j)] = buffer_of_result(loop_result::row, j);
    return r;
  }();
  static constexpr auto extents_of_call = [] {
    numbers<body::symbols> r{};
    for (int i = 0; i < body::symbols; ++i)
      if (const extent_origin o = body::g.syms[static_cast<std::size_t>(i)].origin; o.rule == extent_rule::argument && !o.is_value())
        r[static_cast<std::size_t>(i)] = P::shape_at(operand(o.a).shape).e[axis_of_operand(parts, o)];
    return r;
  }();

 public:
  static void run(const nest_call& c) {
    if constexpr (is_call)
      call_body<body, parts.guarded>(c, {in_call.data(), out_of_call.data(), extents_of_call.data()});
    else run_steps(c);
  }

 private:
  EBB_INLINE static void set_symbols(symbol_values_of<body>& symbols, const nest_call& c) {
    repeat<body::symbols>([&]<int I>() EBB_LAMBDA {
      constexpr extent_origin o = body::g.syms[static_cast<std::size_t>(I)].origin;
      if constexpr (o.is_value()) {
        symbols.value[I] = count_at(operand(o.a).op->result, c.buffer[buffer_of_operand(o.a)]);
      } else if constexpr (o.rule == extent_rule::argument) {
        constexpr int extent = P::shape_at(operand(o.a).shape).e[axis_of_operand(parts, o)];
        symbols.value[I] = extent_value(extent, c.symbol);
      }
    });
    static_cast<void>(symbols.complete());  // the outer program has checked all extents
  }
  static void run_steps(const nest_call& c) {
    symbol_values_of<body> symbols;
    set_symbols(symbols, c);
    void *in[body::arguments + 1], *out[body::results + 1];
    std::array<carried, static_cast<std::size_t>(parts.carries) + 1> carry;
    std::array<stepped, static_cast<std::size_t>(parts.rows) + 1> read;
    std::array<stepped, static_cast<std::size_t>(written) + 1> write;
    std::size_t spare = 0;
    repeat<body::arguments>([&]<int J>() EBB_LAMBDA { in[J] = c.buffer[buffer_of_operand(J)]; });
    repeat<parts.carries>([&]<int J>() EBB_LAMBDA {
      carried& x = carry[J];
      constexpr int shape = operand(J).shape;
      x.bytes = bytes_of_shape<P, shape>(operand(J).op->result, c.symbol, axes_of<P, shape>{});
      x.first = static_cast<const char*>(in[J]);
      x.end = result<loop_result::carry, J>(c);
      x.history = result<loop_result::history, J>(c);
      spare += padded_bytes(x.bytes) * (std::size_t{!x.end} + std::size_t{!x.history && !stays<J>});
    });
    repeat<parts.rows>([&]<int J>() EBB_LAMBDA {
      constexpr int argument = parts.carries + J;
      constexpr int shape = argument_of<body>(argument).shape;
      read[J] = {static_cast<char*>(in[argument]),
                 bytes_of_shape<body, shape>(operand(argument).op->result, symbols.value, axes_of<body, shape>{})};
    });
    repeat<written>([&]<int J>() EBB_LAMBDA {
      constexpr int number = parts.carries + J;
      constexpr const equation& made = body::g.eq[static_cast<std::size_t>(body::g.out[static_cast<std::size_t>(number)])];
      constexpr int shape = made.shape;
      write[J] = {result<loop_result::row, J>(c), bytes_of_shape<body, shape>(made.op->result, symbols.value, axes_of<body, shape>{})};
      if (!write[J].rows) spare += padded_bytes(write[J].bytes);
    });
    if (spare > 0) {
      char* at = workspace_of_carries<P::depth>().take(spare);
      const auto take = [&](char*& to, std::size_t bytes) {
        to = at;
        at += padded_bytes(bytes);
      };
      repeat<parts.carries>([&]<int J>() EBB_LAMBDA {
        carried& x = carry[J];
        if (!x.end) take(x.end, x.bytes);
        if (!x.history && !stays<J>) take(x.other, x.bytes);
      });
      for (int j = 0; j < written; ++j)
        if (stepped& x = write[static_cast<std::size_t>(j)]; !x.rows) {
          take(x.rows, x.bytes);
          x.bytes = 0;
        }
    }
    repeat<parts.carries>([&]<int J>() EBB_LAMBDA {
      if constexpr (stays<J>) carry[J].other = carry[J].end;
    });
    [[maybe_unused]] std::size_t n = extent_value(P::shape_at(e.shape).e[0], c.symbol);
    if constexpr (parts.guarded)
      if (!*static_cast<const bool*>(in[body::arguments - 1])) {
        clear_rows(n, carry.data(), parts.carries, write.data(), written);
        n = 0;
      }
    const auto step = [&]() EBB_LAMBDA {
      if constexpr (has_checks<body>(-1)) check_arguments<body>(c.name, in, symbols.value);
      run_program<body>(in, out, symbols.value, c.name);
    };
    if constexpr (parts.open) run_open_loop(carry.data(), parts.carries, in, out, step);
    else run_loop(n, parts.reversed, carry.data(), parts.carries, read.data(), parts.rows, write.data(), written, in, out, step);
  }
};

}  // namespace detail

}  // namespace ebb::inline EBB_ABI

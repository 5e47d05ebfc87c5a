// ebb/autocast/questions.hpp — the names of the equations of a backward that depend on the context of its call.
// SPDX-License-Identifier: BSL-1.0
//
// [note: the equation that differs]
// A backward that is called in another context than it was compiled for is refused with the first equation that would be another one,
// under the name and in the form that ebb::print shows it in. A graph that is read at run time would bring all functions of its ops
// with it: so the text of such a line is made at compile time, for the first equation after each question.
#pragma once

#include "../graph/frozen.hpp"
#include "../graph/print.hpp"

#include <utility>

namespace ebb::inline EBB_ABI {

/// One line of a program.
struct shown_equation {
  struct operand_name {
    int place = -1;  // of its letter; -1: the one value that fills it
    dtype type{};
    cell bits = 0;
  };
  static constexpr int most_operands = 4;

  std::string_view op{};
  kind what{};
  dtype result{};
  int place = 0, count = 0;
  operand_name in[most_operands]{};
  std::int64_t attr[2]{}, numbers[max_rank]{};
  int shown = -1;  // how many numbers
  shape extents{};
};

/// Equation k of a program type, for messages.
constexpr shown_equation shown(const auto& g, int k) {
  const auto at = [&](int i) -> const equation& { return g.eq[static_cast<std::size_t>(i)]; };
  const auto is_inline = [&](int i) {
    if (at(i).op->what != kind::literal) return false;
    for (int o = 0; o < g.outs(); ++o)
      if (g.out[static_cast<std::size_t>(o)] == i) return false;
    return true;
  };
  const auto place = [&](int i) {
    int n = 0;
    for (int before = 0; before < i; ++before) n += !is_inline(before);
    return n;
  };
  const equation& e = at(k);
  shown_equation s;
  s.op = e.op->name;
  s.what = e.op->what;
  s.result = e.op->result;
  s.place = place(k);
  s.count = e.count;
  for (int j = 0; j < e.count && j < s.most_operands; ++j) {
    const int i = g.pool[static_cast<std::size_t>(e.first + j)];
    if (is_inline(i)) s.in[j] = {-1, at(i).op->result, static_cast<cell>(at(i).attr[0])};
    else s.in[j].place = place(i);
  }
  for (int i = 0; i < 2; ++i) s.attr[i] = e.attr[i];
  s.extents = g.shapes[static_cast<std::size_t>(e.shape)];
  if (e.op->shows) s.shown = e.op->show(e.attr, s.extents.rank, s.numbers);
  return s;
}

/// `e = matmul a^T d : f32[2, 4]`
EBB_COLD std::string to_string(const shown_equation& e) {
  std::string s = letters_of_equation(e.place) + " = " + std::string(e.op);
  for (int j = 0; j < e.count && j < e.most_operands; ++j) {
    const auto& x = e.in[j];
    s += ' ' + (x.place < 0 ? literal_text(x.type, x.bits) : letters_of_equation(x.place));
    if (is_transposed(e.what, e.attr, j)) s += "^T";
  }
  if (e.count > e.most_operands) s += " ...";
  s += attribute_text(e.what, e.attr, e.numbers, e.shown) + " : " + std::string(name_of(e.result));
  for (int i = 0; i < e.extents.rank; ++i) {
    const int extent = e.extents.e[i];
    s += (i ? ", " : "[") + (extent < 0 ? letters_of_extent(~extent) : std::to_string(extent));
  }
  return e.extents.rank ? s + ']' : s;
}

struct asked_equation {
  cast_question asked;
  shown_equation equation;
};

/// The first equation of the frozen graph G after each question, in their order.
template <class G>
inline constexpr auto asked_equations = [] {
  constexpr auto each_first = [](auto f) {
    bool met[cast_question::codes] = {};
    for (int k = 0; k < G::g.size(); ++k)
      if (const cast_question q = G::g.eq[static_cast<std::size_t>(k)].asked; q && !std::exchange(met[q.code], true)) f(k, q);
  };
  constexpr int count = [=] {
    int n = 0;
    each_first([&](int, cast_question) { ++n; });
    return n;
  }();
  std::array<asked_equation, static_cast<std::size_t>(count)> r{};
  int n = 0;
  each_first([&](int k, cast_question q) { r[static_cast<std::size_t>(n++)] = {q, shown(G::g, k)}; });
  return r;
}();

/// The questions of pulls under each assumption, and the assumption that is wrong in each context: a call compares one number.
struct casts_assumed {
  casts_asked asked[contexts];
  const asked_equation* equations = nullptr;
  std::size_t count = 0;
  std::int8_t wrong_in[contexts] = {-1, -1, -1};
  bool matters = false;

  constexpr casts_assumed(const casts_asked (&of)[contexts], const auto& first) : equations(first.data()), count(first.size()) {
    for (int a = contexts - 1; a >= 0; --a) {
      asked[a] = of[a];
      for (int now = 0; now < contexts; ++now)
        if (asked[a].differs(a, now)) {
          wrong_in[now] = static_cast<std::int8_t>(a);
          matters = true;
        }
    }
  }
  /// Whether there is a context in which assumption `a` is wrong.
  constexpr bool matters_if(int a) const { return asked[a].differs(a, 0) || asked[a].differs(a, 1) || asked[a].differs(a, 2); }
  /// Whether one assumption or another is wrong in every context.
  constexpr bool contradictory() const { return wrong_in[0] >= 0 && wrong_in[1] >= 0 && wrong_in[2] >= 0; }
  /// The first equation that would be another one in context `now`; null where none is left of those that would.
  EBB_COLD const asked_equation* first_that_differs(int now) const {
    for (std::size_t i = 0; i < count; ++i)
      if (equations[i].asked.differs(now)) return equations + i;
    return nullptr;
  }
};

/// That of the frozen graph G.
template <class G>
inline constexpr casts_assumed assumed_by{G::g.casts.in_pulls, asked_equations<G>};

}  // namespace ebb::inline EBB_ABI

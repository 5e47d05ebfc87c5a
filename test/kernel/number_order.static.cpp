// test/kernel/number_order.static.cpp — equations on numbers, in the order in which operands are known; the same functions side by side.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/kernel/number_order.hpp>

#include <initializer_list>

namespace {

using ebb::nest_compute, ebb::slot;

constexpr slot at(int number) { return {ebb::dtype::f64, number}; }
void log(const void*, const void*, const void*, void*) {}
void exp(const void*, const void*, const void*, void*) {}
void sum(const void*, const void*, const void*, void*) {}

constexpr nest_compute heavy(nest_compute::vector_function f, int to, int from, bool branch_free = true) {
  nest_compute r;
  r.vector = f;
  r.count = 1;
  r.heavy = true;
  r.branch_free = branch_free;
  r.in[0] = at(from);
  r.to = at(to);
  return r;
}
constexpr nest_compute quick(nest_compute::vector_function f, int to, int from) {
  nest_compute r = heavy(f, to, from);
  r.heavy = false;
  return r;
}
constexpr nest_compute cheap(int to, int x, int y) {
  nest_compute r;
  r.vector = sum;
  r.count = 2;
  r.in[0] = at(x);
  r.in[1] = at(y);
  r.to = at(to);
  return r;
}

/// Whether the equations, whose results are 1, 2, ... and whose arguments are 0, are in this order: pairs of numbers, 0 for none beside.
template <int Count>
constexpr bool are_in_order(const nest_compute (&equations)[Count], std::initializer_list<ebb::number_entry> want) {
  const auto equation = [&](int i) -> const nest_compute& { return equations[i]; };
  const auto r = ebb::number_order_of<Count, Count + 1>(equation, [](slot s) { return s.number; });
  if (r.count != static_cast<int>(want.size())) return false;
  int k = 0;
  for (const ebb::number_entry& t : want) {
    if (r.at[k].first + 1 != t.first || r.at[k].second + 1 != t.second) return false;
    ++k;
  }
  return true;
}

static_assert(ebb::number_order_of<0, 1>([](int) { return nest_compute{}; }, [](slot s) { return s.number; }).count == 0);
// With one heavy function the order stays.
static_assert(are_in_order({cheap(1, 0, 0), cheap(2, 1, 1), heavy(log, 3, 0)}, {{1, 0}, {2, 0}, {3, 0}}));
// A function of an argument comes before one that waits for a sum, and what waits for it comes after both.
static_assert(are_in_order({heavy(log, 1, 0), cheap(2, 1, 1), heavy(exp, 3, 0)}, {{1, 0}, {3, 0}, {2, 0}}));
// Two of one function are computed side by side, once both operands are known.
static_assert(are_in_order({heavy(log, 1, 0), cheap(2, 0, 0), heavy(log, 3, 2), cheap(4, 1, 3)}, {{2, 0}, {1, 3}, {4, 0}}));
// Three are a pair and one; two of different functions, and those with branches, stay apart.
static_assert(are_in_order({heavy(log, 1, 0), heavy(log, 2, 0), heavy(log, 3, 0)}, {{1, 2}, {3, 0}}));
static_assert(are_in_order({heavy(log, 1, 0), heavy(exp, 2, 0)}, {{1, 0}, {2, 0}}));
static_assert(are_in_order({heavy(log, 1, 0, false), heavy(log, 2, 0, false)}, {{1, 0}, {2, 0}}));
// Quick functions stay apart: what waits for the first may come before the second.
static_assert(are_in_order({quick(sum, 1, 0), quick(sum, 2, 0), heavy(log, 3, 1), heavy(exp, 4, 2)}, {{1, 0}, {2, 0}, {3, 0}, {4, 0}}));
// A function of its own result, directly or by way of others, waits.
static_assert(are_in_order({heavy(log, 1, 0), heavy(log, 2, 1)}, {{1, 0}, {2, 0}}));
static_assert(are_in_order({heavy(log, 1, 0), cheap(2, 1, 0), heavy(log, 3, 2)}, {{1, 0}, {2, 0}, {3, 0}}));
// Crossing pairs: log of 0 and of an exp's result cannot be beside each other where the two exps are.
static_assert(are_in_order({heavy(log, 1, 0), heavy(exp, 2, 1), heavy(exp, 3, 0), heavy(log, 4, 3)}, {{1, 0}, {3, 0}, {2, 0}, {4, 0}}));

}  // namespace

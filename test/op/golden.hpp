// test/op/golden.hpp — compares traced functions with values, gradients and second derivatives recorded from PyTorch.
// SPDX-License-Identifier: BSL-1.0
//
// A function is traced on terms, differentiated at run time and evaluated element by element. Its result must be within a bound of
// PyTorch's result in float64 on the same inputs (kinds value64, grad64, second64) or of the correctly rounded result (kinds true,
// truegrad, truesecond), which is also right where PyTorch's formulas give NaN. If float overflows or underflows where float64 does not,
// PyTorch's recorded float result counts as well.
#pragma once

#include "../catch.hpp"

#include <ebb/exec/evaluate.hpp>
#include <ebb/pass/pipeline.hpp>
#include <ebb/trace/functions.hpp>
#include <ebb/trace/trace.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace golden {

using ebb::cell;
using ebb::dtype;

/// One line of a block: an array.
struct line {
  std::string kind, name;
  dtype type = dtype::f32;
  ebb::extent_list extents;
  std::vector<long double> values;
};

struct block {
  std::vector<line> lines;
  std::map<std::string, std::string> set;

  const line* find(const std::string& kind, const std::string& name) const {
    for (const line& l : lines)
      if (l.kind == kind && l.name == name) return &l;
    return nullptr;
  }
  std::vector<const line*> all(const std::string& kind) const {
    std::vector<const line*> r;
    for (const line& l : lines)
      if (l.kind == kind) r.push_back(&l);
    return r;
  }
};

inline line read_line(const std::string& kind, std::istringstream& words) {
  line l;
  l.kind = kind;
  std::string type, word;
  words >> l.name >> type >> l.extents.rank;
  l.type = dtype::boolean;
  if (type == "float32") l.type = dtype::f32;
  if (type == "float64") l.type = dtype::f64;
  if (type == "bfloat16") l.type = dtype::bf16;
  if (type == "float16") l.type = dtype::f16;
  if (type == "int64") l.type = dtype::i64;
  for (int i = 0; i < l.extents.rank; ++i) words >> l.extents.e[i];
  words >> word;
  while (words >> word) l.values.push_back(std::strtold(word.c_str(), nullptr));
  return l;
}

/// The blocks of data/golden/<family>.txt by name.
inline const std::map<std::string, block>& family(const std::string& name) {
  static std::map<std::string, std::map<std::string, block>> families;
  auto& blocks = families[name];
  if (!blocks.empty()) return blocks;
  std::ifstream file(EBB_TEST_DATA "/golden/" + name + ".txt");
  REQUIRE(file.good());
  block* open = nullptr;
  for (std::string text; std::getline(file, text);) {
    std::istringstream words(text);
    std::string kind, rest;
    words >> kind;
    if (kind == "case") {
      words >> rest;
      open = &blocks[rest];
    } else if (open && kind == "set") {
      words >> rest >> std::ws;
      std::getline(words, open->set[rest]);
    } else if (open && text.find(" : ") + 1 != 0) {
      if (kind != "code" && kind != "note") open->lines.push_back(read_line(kind, words));
    } else if (open && text.size() > 1 && text.find(" :") == text.size() - 2) {
      open->lines.push_back(read_line(kind, words));  // an array without elements
    }
  }
  return blocks;
}

/// Allowed errors, in units in the last place of max(|reference|, floor). Results with a negative bound are not compared.
struct bounds {
  double value = 0, grad = 4, second = 8;
  double grad_floor = 0, second_floor = 0;  // for formulas that cancel, as 1 - out * out does
  double value_floor = 0;                   // for values that cancel in PyTorch
  bool spread = false;            // for sums: the floor is the largest magnitude of the array
  bool sign_is_open = false;      // the sign of a derivative that is 0 is not compared
  bool value_sign_is_open = false;
  const char* nan_is_open = "";   // in this kind of derivative, or all ("derivatives"), any value is right where PyTorch's is NaN
  std::vector<int> open_at = {};  // elements that are not compared: each test gives the reason
};

inline cell to_cell(dtype type, long double x) {
  switch (type) {
    case dtype::f32: return ebb::to_cell(static_cast<float>(x));
    case dtype::f64: return ebb::to_cell(static_cast<double>(x));
    case dtype::bf16: return ebb::to_cell(ebb::bfloat16(static_cast<float>(x)));
    case dtype::f16: return ebb::to_cell(ebb::float16(static_cast<float>(x)));
    case dtype::i32: return ebb::to_cell(static_cast<std::int32_t>(x));
    case dtype::i64: return ebb::to_cell(static_cast<std::int64_t>(x));
    default: return ebb::to_cell(x != 0);
  }
}
inline long double from_cell(dtype type, cell c) {
  switch (type) {
    case dtype::f32: return ebb::from_cell<float>(c);
    case dtype::f64: return ebb::from_cell<double>(c);
    case dtype::bf16: return static_cast<float>(ebb::from_cell<ebb::bfloat16>(c));
    case dtype::f16: return static_cast<float>(ebb::from_cell<ebb::float16>(c));
    case dtype::i32: return ebb::from_cell<std::int32_t>(c);
    case dtype::i64: return static_cast<long double>(ebb::from_cell<std::int64_t>(c));
    default: return c != 0;
  }
}
inline ebb::cell_array cells(const line& l, dtype type) {
  ebb::cell_array r;
  for (long double x : l.values) r.push(to_cell(type, x));
  return r;
}

inline bool same(long double a, long double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && (a != 0 || std::signbit(a) == std::signbit(b)));
}

/// Whether got is within bound units of want, as a number of type T.
template <class T>
bool near(long double got, long double want, double bound, long double floor) {
  const auto rounded = static_cast<T>(want);
  if (std::isnan(rounded)) return std::isnan(got);
  if (std::isinf(rounded) || std::isinf(got)) return std::isinf(rounded) && same(got, rounded);
  if (rounded == 0 && floor == 0) return same(got, rounded);
  const long double size = std::max({std::fabs(want), floor, static_cast<long double>(std::numeric_limits<T>::min())});
  return std::fabs(got - want) <= bound * std::ldexp(1.0L, std::ilogb(size) - std::numeric_limits<T>::digits + 1);
}

inline void compare(const block& b, const std::string& kind, const std::string& name, const ebb::cell_array& got, dtype type, double bound,
                    const bounds& allowed) {
  if (bound < 0) return;
  const bool wide = type == dtype::f64, real = ebb::is_real(type), derivative = kind != "value";
  const line* own = b.find(kind, name);
  const line* reference = b.find(kind == "value" ? "true" : "true" + kind, name);
  const bool exact = reference;
  if (!reference) reference = b.find(kind + "64", name);
  if (!reference) reference = own;
  if (wide && own && own->type == dtype::f32) own = reference;
  INFO(kind << " of " << name << (wide ? ", float64" : ", float32"));
  REQUIRE(own);
  REQUIRE(static_cast<std::size_t>(got.size()) == own->values.size());
  long double largest = kind == "grad" ? allowed.grad_floor : kind == "second" ? allowed.second_floor : allowed.value_floor;
  if (allowed.spread)
    for (long double x : reference->values)
      if (std::isfinite(x)) largest = std::max(largest, std::fabs(x));
  for (int i = 0; i < got.size(); ++i) {
    const long double x = from_cell(type, got[i]), theirs = own->values[static_cast<std::size_t>(i)];
    const long double want = real && (exact || !std::isnan(theirs)) ? reference->values[static_cast<std::size_t>(i)] : theirs;
    if (std::count(allowed.open_at.begin(), allowed.open_at.end(), i)) continue;
    const std::string open = allowed.nan_is_open;
    if ((kind == open || (derivative && open == "derivatives")) && std::isnan(theirs)) continue;
    const bool any_sign = derivative ? allowed.sign_is_open || allowed.spread : allowed.value_sign_is_open;
    if (any_sign && x == 0 && want == 0) continue;
    if (!real) {
      if (x != theirs) FAIL_CHECK("element " << i << " is " << static_cast<double>(x) << ", not " << static_cast<double>(theirs));
      continue;
    }
    const bool special = (std::isnan(theirs) && !exact) || std::isinf(theirs) || theirs == 0;
    const bool ok = (special && same(x, theirs)) || (wide ? near<double>(x, want, bound, largest) : near<float>(x, want, bound, largest));
    if (!ok) {
      std::string at;
      for (const line* in : b.all("input"))
        at += " " + (in->values.size() == own->values.size() ? std::to_string(in->values[static_cast<std::size_t>(i)]) : "-");
      char text[160];
      std::snprintf(text, sizeof text, "element %d is %.9Lg (%La), not %.9Lg (%La); PyTorch %.9Lg", i, x, x, want, want, theirs);
      FAIL_CHECK(text << " at" << at);
    }
  }
}

/// The numbers of the real inputs.
inline ebb::vec<int> numbers_of_real_inputs(const ebb::graph& g) {
  ebb::vec<int> r;
  for (int i = 0; i < g.inputs; ++i)
    if (g.input(i) >= 0 && ebb::is_real(g.op(g.input(i)).result)) r.push(i);
  return r;
}

/// Compares a traced function with a block: values, gradients with the block's seeds, second derivatives.
inline void check_graph(const ebb::graph& g, const block& b, const bounds& allowed) {
  const auto inputs = b.all("input");
  REQUIRE(static_cast<int>(inputs.size()) == g.inputs);
  ebb::vec<ebb::cell_array> arguments;
  ebb::vec<ebb::extent_list> extents;
  for (int i = 0; i < g.inputs; ++i) {
    const line& in = *inputs[static_cast<std::size_t>(i)];
    arguments.push(cells(in, g.op(g.input(i)).result));
    extents.push(in.extents);
  }
  const auto symbols = ebb::symbol_values(g, extents);

  // Values.
  const auto values = ebb::evaluate(g, arguments, symbols);
  std::vector<std::string> names;
  for (int o = 0; o < g.out.size(); ++o) {
    names.push_back(g.out.size() == 1 ? "out" : "out" + std::to_string(o));
    const line* own = b.find("value", names.back());
    REQUIRE(own);
    const auto shape = ebb::extents_at(g.shape_of(g.out[o]), symbols.data());
    REQUIRE(shape.rank == own->extents.rank);
    for (int i = 0; i < shape.rank; ++i) CHECK(shape.e[i] == own->extents.e[i]);
    compare(b, "value", names.back(), values[o], g.op(g.out[o]).result, allowed.value, allowed);
  }

  // Gradients: the arguments are those of the function and then the seeds.
  const auto wrt = numbers_of_real_inputs(g);
  if (b.all("grad").empty() || wrt.empty()) return;
  ebb::graph d = ebb::joint(g, wrt);
  for (int o = 0; o < g.out.size(); ++o) {
    const dtype type = g.op(g.out[o]).result;
    if (!ebb::is_real(type)) continue;
    const line* seed = b.find("seed", names[static_cast<std::size_t>(o)]);
    arguments.push(seed ? cells(*seed, type) : ebb::cell_array(values[o].size(), to_cell(type, 1)));
  }
  // Differentiation may add extents of its own: of the parts of joined arrays.
  const auto all = ebb::evaluate(d, arguments, ebb::symbol_values(d, extents));
  for (int i = 0; i < wrt.size(); ++i) {
    const std::string& x = inputs[static_cast<std::size_t>(wrt[i])]->name;
    if (!b.find("grad", x)) continue;
    compare(b, "grad", x, all[g.out.size() + i], g.op(g.input(wrt[i])).result, allowed.grad, allowed);
  }

  // Second derivatives: of the sum of one gradient, with respect to one argument.
  for (const line* second : b.all("second")) {
    const std::size_t comma = second->name.find(',');
    const std::string of = second->name.substr(0, comma), by = comma == std::string::npos ? of : second->name.substr(comma + 1);
    ebb::graph h = d;
    int from = -1, to = -1;
    for (int i = 0; i < wrt.size(); ++i) {
      const std::string& x = inputs[static_cast<std::size_t>(wrt[i])]->name;
      if (x == of) from = h.out[g.out.size() + i];
      if (x == by) to = h.input(wrt[i]);
    }
    REQUIRE((from >= 0 && to >= 0));
    const int ones = h.op(from).kit->literal(h, h.eq[from].shape, 1);
    const auto r = ebb::pull_back(h, {to}, {from}, {ones});
    h.out = {ebb::or_zeros(h, r[0], to)};
    const auto result = ebb::evaluate(ebb::prune(h), arguments, ebb::symbol_values(h, extents));
    compare(b, "second", second->name, result[0], h.op(to).result, allowed.second, allowed);
  }
}

/// The dtype and extents of an argument; `real` is replaced by float or double.
struct real {};
template <class T, std::size_t... E>
struct of {
  template <class Width>
  using term = ebb::term<std::conditional_t<std::is_same_v<T, real>, Width, T>, E...>;
};
using any_vector = of<real, ebb::dyn>;

/// Checks a function in one width, with the block of that width if there is one, else with the block for both.
inline void check_traced(const std::string& in, const std::string& name, const char* suffix, const ebb::graph& g, bounds allowed) {
  const auto& blocks = family(in);
  auto at = blocks.find(name + suffix);
  if (at == blocks.end()) at = blocks.find(name);
  INFO(in << ": " << name);
  REQUIRE(at != blocks.end());
  check_graph(g, at->second, allowed);
}
/// Checks F on arguments of the given kinds in both widths. Blocks named `<name>/float32` and `<name>/float64` are for one width each.
template <class... A, class F>
void check(const std::string& in, const std::string& name, F, bounds allowed = {}) {
  check_traced(in, name, "/float32", ebb::trace_of<F, typename A::template term<float>...>::make(), allowed);
  check_traced(in, name, "/float64", ebb::trace_of<F, typename A::template term<double>...>::make(), allowed);
}

/// As check, for a block that is recorded in float64 only.
template <class... A, class F>
void check_wide(const std::string& in, const std::string& name, F, bounds allowed = {}) {
  check_traced(in, name, "", ebb::trace_of<F, typename A::template term<double>...>::make(), allowed);
}

}  // namespace golden

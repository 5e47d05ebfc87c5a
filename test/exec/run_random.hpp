// test/exec/run_random.hpp — arguments for random programs, and results as cells that are compared bit by bit.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "random_program.hpp"

#include <ebb/exec/blocks.hpp>

#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace test {

using cells = ebb::cell_array;

/// Elements in memory, aligned to their own size only, with a guard after them.
class array {
 public:
  array(dtype type, std::size_t count) : type_(type), count_(count), memory_(count * ebb::size_of(type) + 72, char(0x5a)) {}
  void* data() { return memory_.data() + 8; }
  const char* data() const { return memory_.data() + 8; }
  cells values() const {
    cells r;
    ebb::with_dtype(type_, [&]<class T>(T) {
      for (std::size_t i = 0; i < count_; ++i) {
        T x;
        std::memcpy(&x, data() + i * sizeof(T), sizeof x);
        r.push(ebb::to_cell(x));
      }
    });
    return r;
  }
  void assign(const cells& c) {
    ebb::with_dtype(type_, [&]<class T>(T) {
      for (int i = 0; i < c.size(); ++i) {
        const T x = ebb::from_cell<T>(c[i]);
        std::memcpy(static_cast<char*>(data()) + static_cast<std::size_t>(i) * sizeof(T), &x, sizeof x);
      }
    });
  }
  bool guarded() const {
    for (std::size_t i = 0; i < 64; ++i)
      if (data()[count_ * ebb::size_of(type_) + i] != 0x5a) return false;
    return true;
  }

 private:
  dtype type_;
  std::size_t count_;
  std::vector<char> memory_;
};

/// Replaces every NaN by one: two ways to compute a NaN may differ in its bits.
inline cells without_nan_bits(dtype type, cells c) {
  ebb::with_dtype(type, [&]<class T>(T) {
    if constexpr (ebb::is_real(ebb::dtype_of<T>))
      for (ebb::cell& x : c)
        if (const T v = ebb::from_cell<T>(x); !(v == v)) x = ebb::to_cell(static_cast<T>(std::numeric_limits<float>::quiet_NaN()));
  });
  return c;
}

inline cells random_cells(random_numbers& random, dtype type, std::size_t count, std::size_t places) {
  cells r;
  ebb::with_dtype(type, [&]<class T>(T) {
    for (std::size_t i = 0; i < count; ++i) {
      if (places) r.push(ebb::to_cell(static_cast<T>(static_cast<float>(random.below(static_cast<int>(places))))));
      else if constexpr (std::is_integral_v<T>) r.push(ebb::to_cell(static_cast<T>(random.below(19) - 9)));
      else {
        using wide = std::conditional_t<sizeof(T) == 8, double, float>;
        constexpr float special[] = {0.f, -0.f, 1.f, -1.f, 0.5f, std::numeric_limits<float>::infinity(), 1e-30f};
        const double x = static_cast<double>(static_cast<std::int64_t>(random.next())) * 0x1p-62;
        if (random.below(40) == 0) r.push(ebb::to_cell(static_cast<T>(special[random.below(7)])));
        else r.push(ebb::to_cell(static_cast<T>(static_cast<wide>(x))));
      }
    }
  });
  return r;
}

inline ebb::vec<cells> random_arguments(const random_program& p, std::uint64_t seed) {
  random_numbers random(seed + 77);
  ebb::vec<cells> r;
  for (int i = 0; i < p.types.size(); ++i) r.push(random_cells(random, p.types[i], p.arguments[i].volume(), p.places[i]));
  return r;
}

/// Runs g with f(argument pointers, result pointers) and returns the results.
inline ebb::vec<cells> run_on_memory(const ebb::graph& g, const ebb::vec<dtype>& types, const ebb::vec<cells>& arguments,
                                     const ebb::vec<std::size_t>& symbols, bool& guarded, auto&& f) {
  std::vector<array> in, out;
  std::vector<void*> from, to;
  for (int i = 0; i < arguments.size(); ++i) {
    in.emplace_back(types[i], static_cast<std::size_t>(arguments[i].size()));
    in.back().assign(arguments[i]);
  }
  for (int o : g.out) out.emplace_back(g.op(o).result, ebb::volume(g.shape_of(o), symbols.data()));
  for (array& a : in) from.push_back(a.data());
  for (array& a : out) to.push_back(a.data());
  from.push_back(nullptr);
  f(from.data(), to.data());
  ebb::vec<cells> r;
  guarded = true;
  for (std::size_t o = 0; o < out.size(); ++o) {
    guarded = guarded && out[o].guarded();
    r.push(without_nan_bits(g.op(g.out[static_cast<int>(o)]).result, out[o].values()));
  }
  for (array& a : in) guarded = guarded && a.guarded();
  for (int i = 0; i < arguments.size(); ++i) guarded = guarded && in[static_cast<std::size_t>(i)].values() == arguments[i];
  return r;
}

/// Runs each equation as its own program, from arrays to arrays.
inline ebb::vec<cells> run_unfused(const ebb::graph& g, const ebb::vec<cells>& arguments, const ebb::vec<std::size_t>& symbols) {
  ebb::vec<cells> value;
  for (int k = 0; k < g.size(); ++k) {
    if (g.op(k).what == ebb::kind::input) {
      value.push(arguments[static_cast<int>(g.eq[k].attr[0])]);
      continue;
    }
    ebb::graph one = ebb::shell_of(g);
    ebb::vec<int> in;
    ebb::vec<dtype> types;
    ebb::vec<cells> given;
    one.inputs = g.eq[k].count;
    for (int i : g.operands(k)) {
      in.push(g.op(i).kit->input(one, g.eq[i].shape, in.size()));
      types.push(g.op(i).result);
      given.push(value[i]);
    }
    one.out.push(one.append(g.eq[k], ebb::range_of(in)));
    bool guarded = true;
    value.push(run_on_memory(one, types, given, symbols, guarded, [&](void* const* from, void* const* to) {
      ebb::block_program(one, ebb::make_plan(one)).run(from, to, symbols.data());
    })[0]);
  }
  ebb::vec<cells> r;
  for (int o : g.out) r.push(without_nan_bits(g.op(o).result, value[o]));
  return r;
}

inline ebb::vec<cells> run_scalar(const ebb::graph& g, const ebb::vec<cells>& arguments, const ebb::vec<std::size_t>& symbols) {
  ebb::vec<cells> r = ebb::evaluate(g, arguments, symbols);
  for (int o = 0; o < r.size(); ++o) r[o] = without_nan_bits(g.op(g.out[o]).result, r[o]);
  return r;
}

/// The first difference of two results; empty if there is none.
inline std::string difference(const ebb::vec<cells>& a, const ebb::vec<cells>& b) {
  for (int o = 0; o < a.size(); ++o) {
    if (a[o].size() != b[o].size()) return "result " + std::to_string(o) + " has another size";
    for (int i = 0; i < a[o].size(); ++i)
      if (a[o][i] != b[o][i])
        return "result " + std::to_string(o) + ", element " + std::to_string(i) + " of " + std::to_string(a[o].size()) + ": " +
               std::to_string(a[o][i]) + " and " + std::to_string(b[o][i]);
  }
  return "";
}

}  // namespace test

// ebb/capture/chain_code.hpp — the second pass over a chain: each value is in registers, in a block, or in an array.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../base/vec.hpp"
#include "../exec/chainable.hpp"

#include <array>
#include <utility>

namespace ebb::inline EBB_ABI {

/// Code for kernel/chain.hpp, without addresses: places are numbers of arguments and results.
struct chain_program {
  struct place {
    enum class kind : std::uint8_t { argument, element, result, block } is;
    int number;     // of the argument or the result
    chain_use use;
    int word = -1;  // the first that names it
  };

  dtype type = dtype::f32;
  vec<chain_word> code;  // without addresses
  vec<int> place_of;  // each word's, or -1
  vec<place> places;
  vec<std::pair<int, int>> extents;  // vertices and outputs whose gradients must have the length of all others
};

/// A value of a chain.
struct chain_value {
  int argument = -1;       // its number: in memory from the start
  bool is_element = false, is_mask = false;
  int result = -1;         // its number
  int uses = 0;            // that are still to come
  int place = -1;          // in memory, once it is there
};
struct chain_call {
  const chainable* link;      // null: an add
  vec<int> in;                // values; an add: there, new
  vec<int> out;
};

/// Writes code for steps in order. A value is stored only if another step reads it later, or if it is a result.
class chain_writer {
 public:
  chain_writer(chain_program& p, vec<chain_value>& values) : p_(p), values_(values), stored_(values.size(), 0) {}

  EBB_ONCE void write(const vec<chain_call>& steps) {
    for (const chain_call& s : steps)
      for (int v : s.in) ++values_[v].uses;
    for (const chain_call& s : steps) {
      if (s.link) emit_link(s);
      else emit_add(s);
    }
    word(end);
  }

 private:
  using place_kind = chain_program::place::kind;

  enum builtin { load, plus, store, plus_store, end };
  template <class T>
  static chain_word word_of(builtin which) {
    using w = wide_links<T>;
    using n = narrow_links<T>;
    const std::array all{chain_word::of(w::load, n::load), chain_word::of(w::add, n::add), chain_word::of(w::store, n::store),
                         chain_word::of(w::add_store, n::add_store), chain_word::of(w::end, n::end)};
    return all[which];
  }
  EBB_ONCE void word(const chain_word& w) {
    p_.code.push(w);
    p_.place_of.push(-1);
  }
  void word(builtin which) { word(p_.type == dtype::f64 ? word_of<double>(which) : word_of<float>(which)); }
  /// The next place of the last link.
  EBB_ONCE void place_word(int number) {
    if (p_.place_of.back() >= 0) word(chain_word());
    const int at = p_.place_of.size() - 1;
    p_.place_of[at] = number;
    if (int& first = p_.places[number].word; first < 0) first = at;
  }

  EBB_ONCE int new_place(place_kind is, int number, chain_use use) {
    p_.places.push({is, number, use});
    return p_.places.size() - 1;
  }
  /// The place of a value in memory, now or later.
  EBB_ONCE int memory_of(int v) {
    chain_value& x = values_[v];
    if (x.place >= 0) return x.place;
    if (x.argument >= 0)
      return x.place = x.is_element ? new_place(place_kind::element, x.argument, chain_use::read)
                                    : new_place(place_kind::argument, x.argument, x.is_mask ? chain_use::mask : chain_use::read);
    if (x.result >= 0) return x.place = new_place(place_kind::result, x.result, chain_use::written);
    if (free_.empty()) return x.place = new_place(place_kind::block, -1, chain_use::block);
    return x.place = free_.pop();
  }
  /// v, which is in registers, is in memory too.
  EBB_ONCE void keep(int v) {
    const chain_value& x = values_[v];
    if (x.argument >= 0 || x.result >= 0 || std::exchange(stored_[v], 1)) return;
    word(store);
    place_word(memory_of(v));
  }
  /// A step that reads `read` is about to overwrite the registers: a value that a later step reads is kept.
  EBB_ONCE void give_up_registers(const vec<int>& read = {}) {
    if (current_ < 0) return;
    int uses = values_[current_].uses;
    for (int v : read) uses -= v == current_;
    if (uses > 0) keep(current_);
  }
  EBB_ONCE void used(int v) {
    chain_value& x = values_[v];
    if (--x.uses == 0 && x.place >= 0 && p_.places[x.place].is == place_kind::block)
      free_.push(x.place);
  }
  /// v has just come into registers.
  EBB_ONCE void made(int v) {
    current_ = v;
    chain_value& x = values_[v];
    if (x.result < 0) return;
    word(store);
    place_word(memory_of(v));
  }

  EBB_ONCE void bring(int v) {
    if (v == current_) return;
    give_up_registers();
    word(load);
    place_word(memory_of(v));
    current_ = v;
  }
  EBB_ONCE void emit_link(const chain_call& s) {
    const int primary = s.link->primary;
    if (primary >= 0) bring(s.in[primary]);
    for (int a = 0; a < s.in.size(); ++a)
      if (a != primary && s.in[a] == current_) keep(current_);
    give_up_registers(s.in);
    word(s.link->link());
    for (int a = 0; a < s.in.size(); ++a)
      if (a != primary) place_word(memory_of(s.in[a]));
    for (int o = 1; o < s.out.size(); ++o) {
      place_word(memory_of(s.out[o]));
      stored_[s.out[o]] = 1;
    }
    for (int v : s.in) used(v);
    made(s.out[0]);
  }
  EBB_ONCE void emit_add(const chain_call& s) {
    const int there = s.in[0], v = s.in[1];
    const bool exchanged = there == current_ && v != there;
    bring(exchanged ? there : v);
    const int other = exchanged ? v : there;
    if (other == current_) keep(current_);
    give_up_registers(s.in);
    const bool stores = values_[s.out[0]].result >= 0;
    word(stores ? plus_store : plus);
    place_word(memory_of(other));
    if (stores) place_word(memory_of(s.out[0]));
    for (int x : s.in) used(x);
    if (stores) current_ = s.out[0];
    else made(s.out[0]);
  }

  chain_program& p_;
  vec<chain_value>& values_;
  vec<char> stored_;
  vec<int> free_;
  int current_ = -1;
};

}  // namespace ebb::inline EBB_ABI

// ebb/kernel/chain_link.hpp — an elementwise program as a link of a chain; see [note: chains].
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "chain.hpp"
#include "nest_step.hpp"

namespace ebb::inline EBB_ABI {

/// P as a link. Argument number Primary arrives in registers (-1: none does), and result number Result leaves in them (-1: none does, and
/// the registers are unchanged). The words of the link name the places of all other arguments, then of all other results, in order.
template <class P, int Primary, int Result>
class chain_link {
  using code = nest_step<P, 0>;
  using plan_buffer = std::remove_cvref_t<decltype(P::plan.buffers[0])>;
  using role = typename plan_buffer::role;
  static constexpr auto buffer = [](int b) { return P::plan.buffers[static_cast<std::size_t>(b)]; };
  static constexpr bool is_primary(int b) { return buffer(b).is == role::argument && buffer(b).number == Primary; }
  static constexpr bool is_result(int b) { return buffer(b).is == role::result && buffer(b).number == Result; }

 public:
  /// Whether each step reads the same single element of a buffer.
  static constexpr bool is_element(int b) {
    for (int i = 0; i < P::plan.size.loads; ++i)
      if (const nest_load& x = P::plan.loads[static_cast<std::size_t>(i)];
          x.source == nest_load::from::array && x.along == 0 && x.buffer == b)
        return true;
    return false;
  }
  static constexpr bool is_mask(int b) { return buffer(b).type == dtype::boolean; }

 private:
  static constexpr dtype type = [] {
    int b = 0;
    while (b < P::plan.size.buffers && is_mask(b)) ++b;
    return b < P::plan.size.buffers ? buffer(b).type : dtype::boolean;
  }();

  /// With more equations than this, running block by block is as fast.
  static constexpr int longest = 20;

 public:
  /// Whether P can be a link: a single loop without reductions over arrays of one type, float or double, and over masks that it reads.
  static constexpr bool fits = [] {
    const auto& plan = P::plan;
    if (plan.size.steps != 1 || plan.size.nests != 1 || plan.size.copies + plan.size.checks != 0) return false;
    const auto& n = plan.nests[0];
    if (n.loops != 1 || n.reduces.count != 0 || n.computes.count > longest || Primary >= P::arguments || Result >= P::results) return false;
    if (type != dtype::f32 && type != dtype::f64) return false;
    for (int b = 0; b < plan.size.buffers; ++b) {
      const bool is_fit = buffer(b).type == type || (is_mask(b) && buffer(b).is == role::argument && !is_primary(b));
      if (!is_fit || buffer(b).is == role::temporary || buffer(b).is == role::part) return false;
    }
    for (int i = 0; i < n.loads.count; ++i) {
      const nest_load& x = plan.loads[static_cast<std::size_t>(n.loads.first + i)];
      if (x.source == nest_load::from::index || x.source == nest_load::from::placed) return false;
      if (x.source == nest_load::from::array && x.along == 0 && (is_primary(x.buffer) || is_mask(x.buffer))) return false;
    }
    for (int i = 0; i < n.stores.count; ++i)
      if (plan.stores[static_cast<std::size_t>(n.stores.first + i)].joined.count > 0) return false;
    return true;
  }();

  using element = std::conditional_t<fits && type == dtype::f64, double, float>;
  static constexpr int places = P::arguments - (Primary >= 0) + P::results - (Result >= 0);
  /// The number of elements of its loop if that is static, else -1.
  static constexpr std::ptrdiff_t length() { return code::template known_extent<0>; }
  /// The number of words of the link.
  static constexpr int words = places > 0 ? places : 1;

 private:
  using vector = simd::vector<element>;
  static constexpr int parts = lanes<element>::parts;

  /// One step of lanes; x: their registers. EBB_INLINE is needed: in a large program g++ 12 flattens one call of eight, and spills the
  /// values of the others.
  static EBB_INLINE void step(const typename code::pointers& p, std::size_t j, vector* x) {
    typename code::locals v;
    lanes<element> through;
    repeat<parts>([&]<int I>() EBB_PART_LAMBDA { through.part[I] = x[I]; });
    repeat<code::n.loads.count>([&]<int I>() EBB_PART_LAMBDA {
      constexpr nest_load e = code::template load_at<I>;
      if constexpr (e.source == nest_load::from::array && is_primary(e.buffer)) v.template at<e.to>() = through;
      else code::template load_one<I>(v, p, j, detail::whole_step{});
    });
    if constexpr (code::n.computes.count > 0) code::template compute_piece<0>(v, typename code::template piece<0>{});
    repeat<code::n.stores.count>([&]<int I>() EBB_PART_LAMBDA {
      constexpr nest_store e = code::template store_at<I>;
      if constexpr (is_result(e.buffer)) through = v.template at<e.from>();
      else code::template store_one<I>(v, p, j, detail::whole_step{});
    });
    repeat<parts>([&]<int I>() EBB_PART_LAMBDA { x[I] = simd::in_order(through.part[I]); });
  }

  /// The word that names the place of a buffer.
  static constexpr int word_of(int b) {
    const int number = buffer(b).number;
    if (buffer(b).is == role::argument) return number - (Primary >= 0 && number > Primary);
    return P::arguments - (Primary >= 0) + number - (Result >= 0 && number > Result);
  }
  /// The addresses of its arrays. The address of a value in registers is never used.
  static EBB_PART typename code::pointers arrays(const chain_word* at, std::size_t i) {
    void* to[P::plan.size.buffers + 1] = {};
    repeat<P::plan.size.buffers>([&]<int B>() EBB_PART_LAMBDA {
      if constexpr (!is_primary(B) && !is_result(B)) to[B] = at[word_of(B)].at(is_element(B) ? 0 : is_mask(B) ? i / sizeof(element) : i);
    });
    return typename code::pointers(nest_call{to});
  }

  template <std::size_t>
  using vector_at = vector;
  template <class Links, std::size_t... I>
  EBB_FLATTEN static void run(const chain_word* at, std::size_t i, vector_at<I>... registers) {
    static_assert(fits);
    constexpr int steps = static_cast<int>(sizeof...(I)) / parts;
    const auto p = arrays(at, i);
    vector x[] = {registers...};
    // Only small programs are unrolled: in large ones a spill costs nothing beside the rest, and compile time counts.
    if constexpr (code::n.small) repeat<steps>([&]<int K>() EBB_PART_LAMBDA { step(p, K * lane_count, x + K * parts); });
    else
      for (int k = 0; k < steps; ++k) step(p, static_cast<std::size_t>(k * lane_count), x + k * parts);
    EBB_TAIL_CALL return Links::link(at[words])(at + words, i, x[I]...);
  }
  template <class Links, std::size_t... I>
  static constexpr auto function(std::index_sequence<I...>) {
    return run<Links, I...>;
  }

 public:
  /// The functions of the link, and a place without an address.
  static chain_word first_word() {
    return chain_word::of(function<wide_links<element>>(std::make_index_sequence<chain_registers>()),
                          function<narrow_links<element>>(std::make_index_sequence<narrow_chain_registers<element>>()));
  }
};

}  // namespace ebb::inline EBB_ABI

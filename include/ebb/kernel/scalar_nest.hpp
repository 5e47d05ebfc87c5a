// ebb/kernel/scalar_nest.hpp — a nest of one element: its equations on scalars, without lanes.
// SPDX-License-Identifier: BSL-1.0
//
// [note: nests of one element]
// A model of numbers, such as the price of an option, is a nest whose loops have one index each. Lanes compute both sides of every choice
// for each number; a scalar takes the one it needs, see lane::choose. An op's function of one element is the same code on another type, so
// the bits are those of the lanes.
#pragma once

#include "nest_step.hpp"
#include "number_order.hpp"

namespace ebb::inline EBB_ABI {

template <class P, int Number>
class scalar_nest {
  using code = nest_step<P, Number>;
  static constexpr nest n = code::n;

  /// The values of the nest, as cells: those of each dtype after each other.
  static constexpr int place_of(slot s) {
    int r = s.number;
    for (int type = 0; type < static_cast<int>(s.type); ++type) r += n.slots[type] + 1;
    return r;
  }
  static constexpr int places = [] {
    int r = 0;
    for (const int count : n.slots) r += count + 1;
    return r;
  }();
  struct values {
    cell of[places];
  };

  template <int I, class Buffers>
  static EBB_PART void load(values& v, const Buffers& buffers) {
    constexpr nest_load e = code::template load_at<I>;
    using T = typename code::template loaded<I>;
    constexpr int to = place_of(e.to);
    if constexpr (e.source == nest_load::from::literal) v.of[to] = e.bits;
    else if constexpr (e.source == nest_load::from::index) v.of[to] = to_cell(T{});
    else v.of[to] = to_cell(*static_cast<const T*>(buffers.address(std::integral_constant<int, Buffers::place_of(e.buffer)>::value)));
  }
  /// See [note: order of numbers].
  static constexpr number_order<n.computes.count> order = number_order_of<n.computes.count, places>(
      [](int i) -> const nest_compute& { return P::plan.computes[static_cast<std::size_t>(n.computes.first + i)]; },
      [](slot s) { return place_of(s); });
  template <int Entry>
  static EBB_PART void compute(values& v) {
    constexpr number_entry t = order.at[Entry];
    constexpr nest_compute e = code::template compute_at<t.first>;
    if constexpr (t.second >= 0) {
      constexpr slot beside = code::template compute_at<t.second>.in[0], to_beside = code::template compute_at<t.second>.to;
      using T = detail::type_of<e.to.type>;
      lanes<T> in = lanes<T>::two(from_cell<T>(v.of[place_of(e.in[0])]), from_cell<T>(v.of[place_of(beside)])), out;
      constexpr auto function = e.vector;  // a constant of its own: g++ does not see a direct call by way of e
      function(&in, nullptr, nullptr, &out);
      v.of[place_of(e.to)] = to_cell(out[0]);
      v.of[place_of(to_beside)] = to_cell(out[1]);
    } else {
      // An operand that is not there is the first one: g++ warns where a place is read that nothing has written.
      constexpr int a = e.count > 0 ? place_of(e.in[0]) : 0, b = e.count > 1 ? place_of(e.in[1]) : a;
      constexpr int c = e.count > 2 ? place_of(e.in[2]) : a;
      const cell in[] = {v.of[a], v.of[b], v.of[c]};
      constexpr auto function = e.scalar;
      function(in, &v.of[place_of(e.to)]);
    }
  }
  template <int I, class Buffers>
  static EBB_PART void store(const values& v, const Buffers& buffers) {
    constexpr nest_store e = code::template store_at<I>;
    using T = typename code::template stored<I>;
    T* const to = static_cast<T*>(buffers.address(std::integral_constant<int, Buffers::place_of(e.buffer)>::value));
    if constexpr (e.joined.count == 0) *to = from_cell<T>(v.of[place_of(e.from)]);
    else
      repeat_part<e.joined.count>([&]<int C>() EBB_PART_LAMBDA { to[C] = from_cell<T>(v.of[place_of(code::template joined_slot<I, C>)]); });
  }
  template <int First, int... I>
  static EBB_PART void load_from(values& v, const auto& buffers, std::integer_sequence<int, I...>) {
    (load<First + I>(v, buffers), ...);
    if constexpr (constexpr int next = First + detail::most_in_fold; next < n.loads.count)
      load_from<next>(v, buffers, numbers_of_fold<next, n.loads.count>{});
  }
  template <int First, int... I>
  static EBB_PART void compute_from(values& v, std::integer_sequence<int, I...>) {
    (compute<First + I>(v), ...);
    if constexpr (constexpr int next = First + detail::most_in_fold; next < order.count)
      compute_from<next>(v, numbers_of_fold<next, order.count>{});
  }
  template <int First, int... I>
  static EBB_PART void store_from(const values& v, const auto& buffers, std::integer_sequence<int, I...>) {
    (store<First + I>(v, buffers), ...);
    if constexpr (constexpr int next = First + detail::most_in_fold; next < n.stores.count)
      store_from<next>(v, buffers, numbers_of_fold<next, n.stores.count>{});
  }

 public:
  /// Whether each loop has one index, and no equation needs lanes.
  static constexpr bool fits = [] {
    bool r = n.reduces.count == 0 && !code::any_zeros;
    repeat<n.loops>([&]<int L>() { r = r && code::template known_extent<L> == 1; });
    for (int i = n.computes.first; i < n.computes.first + n.computes.count; ++i)
      r = r && P::plan.computes[static_cast<std::size_t>(i)].scalar != nullptr;
    return r;
  }();

  static EBB_PART void run(const auto& buffers) {
    values v;
    load_from<0>(v, buffers, numbers_of_fold<0, n.loads.count>{});
    compute_from<0>(v, numbers_of_fold<0, order.count>{});
    store_from<0>(v, buffers, numbers_of_fold<0, n.stores.count>{});
  }
};

}  // namespace ebb::inline EBB_ABI

// ebb/exec/one_step.hpp — runs all nests of a program at once, if one step of lanes holds their whole row.
// SPDX-License-Identifier: BSL-1.0
//
// [note: one step for all nests]
// For short rows the overhead dominates: the set-up of nests, and masked loads, which wait for masked stores to reach the cache. So a small
// program whose nests all run over one row is compiled a second time, for rows that fit into one step of lanes: values pass from nest to
// nest in registers, and only results are written. The equations, their order and the tree of each reduction are the same (most
// accumulators hold the identity), so the bits are the same.
#pragma once

#include "../base/record.hpp"
#include "../base/repeat.hpp"
#include "../kernel/nest_step.hpp"
#include "../kernel/run_state.hpp"
#include "../plan/step.hpp"

namespace ebb::inline EBB_ABI::detail {

template <class P>
class one_step {
  static constexpr const auto& plan = P::plan;
  static constexpr int nests = plan.size.nests;
  template <int I>
  using code = nest_step<P, I>;

  // Larger programs gain less: the saving is the same for each nest, the code that is compiled twice grows.
  static constexpr int most_nests = 8, most_computes = 48;

  static constexpr const nest& nest_at(int i) { return plan.nests[static_cast<std::size_t>(i)]; }
  /// The number of elements of a shape; -1 if it is not known at compile time.
  static constexpr std::ptrdiff_t known_volume(int number) {
    const shape& s = P::shape_at(number);
    std::ptrdiff_t r = 1;
    for (int a = 0; a < s.rank; ++a) {
      if (s.e[a] < 0) return -1;
      r *= s.e[a];
    }
    return r;
  }
  static constexpr bool is_row(int i) { return known_volume(nest_at(i).shape) != 1; }

  /// The origin of a buffer's value: a store or a reduction of a nest; nest -1 for an argument.
  struct origin {
    int nest = -1, at = -1;
    bool reduced = false;
  };
  static constexpr origin origin_of(int buffer) {
    for (int i = 0; i < nests; ++i) {
      const nest& n = nest_at(i);
      for (int s = 0; s < n.stores.count; ++s)
        if (plan.stores[static_cast<std::size_t>(n.stores.first + s)].buffer == buffer) return {i, s, false};
      for (int r = 0; r < n.reduces.count; ++r)
        if (plan.reduces[static_cast<std::size_t>(n.reduces.first + r)].buffer == buffer) return {i, r, true};
    }
    return {};
  }
  /// The first buffer of a result's memory is the result; later ones are temporaries in that memory.
  static constexpr bool is_result(int buffer) {
    const auto of = [](int b) -> const plan_buffer& { return plan.buffers[static_cast<std::size_t>(b)]; };
    if (of(buffer).is != plan_buffer::role::result) return false;
    for (int b = 0; b < buffer; ++b)
      if (of(b).is == plan_buffer::role::result && of(b).number == of(buffer).number) return false;
    return true;
  }

  /// The nest with the row that all nests run over; -1 if there is none, or if it would not pay.
  static constexpr int leader = [] {
    if (plan.size.steps != nests || nests < 2 || nests > most_nests || plan.size.computes > most_computes) return -1;
    if (plan.size.copies > 0 || plan.size.bands > 0) return -1;
    for (int b = 0; b < plan.size.buffers; ++b)
      if (plan.buffers[static_cast<std::size_t>(b)].is == plan_buffer::role::part) return -1;
    for (int c = 0; c < plan.size.checks; ++c)
      if (plan.checks[static_cast<std::size_t>(c)].after >= 0) return -1;
    int r = -1;
    for (int i = 0; i < nests; ++i) {
      const nest& n = nest_at(i);
      if (plan.steps[static_cast<std::size_t>(i)].nest != i || n.loops != 1) return -1;
      for (int s = 0; s < n.stores.count; ++s)
        if (plan.stores[static_cast<std::size_t>(n.stores.first + s)].joined.count > 0) return -1;
      for (int l = 0; l < n.loads.count; ++l)
        if (plan.loads[static_cast<std::size_t>(n.loads.first + l)].view >= 0) return -1;
      if (is_row(i)) {
        if (r < 0) r = i;
        if (n.shape != nest_at(r).shape || known_volume(n.shape) == 0 || known_volume(n.shape) > lane_count) return -1;
        for (int k = 0; k < n.reduces.count; ++k)
          if (!plan.reduces[static_cast<std::size_t>(n.reduces.first + k)].run) return -1;
      } else {
        if (n.reduces.count > 0) return -1;
        for (int l = 0; l < n.loads.count; ++l) {  // only the reduction of a row is a single element
          const nest_load& x = plan.loads[static_cast<std::size_t>(n.loads.first + l)];
          const origin o = x.source == nest_load::from::array ? origin_of(x.buffer) : origin{};
          if (o.nest >= 0 && is_row(o.nest) && !o.reduced) return -1;
        }
      }
    }
    return r;
  }();
  template <int I>
  static constexpr std::ptrdiff_t length_of = known_volume(nest_at(I).shape);

  /// The arguments, then the results.
  struct memory : address_list<P::arguments + P::results + 1> {  // the last one is null
    static constexpr int place_of(int buffer) {
      const plan_buffer& b = plan.buffers[static_cast<std::size_t>(buffer)];
      if (b.is == plan_buffer::role::argument) return b.number;
      return P::arguments + (is_result(buffer) ? b.number : P::results);
    }
  };

  // The values that a nest passes on.
  template <class, class>
  struct values_of;
  template <class Code, int... R>
  struct values_of<Code, std::integer_sequence<int, R...>> {
    typename Code::locals of;
    record<typename Code::template reduced<R>...> reduced;
  };
  template <int I>
  using loads = std::make_integer_sequence<int, code<I>::n.loads.count>;
  template <int I>
  using stores = std::make_integer_sequence<int, code<I>::n.stores.count>;
  template <int I>
  using values = values_of<code<I>, typename code<I>::reduces>;

  template <int I, int L>
  static EBB_PART void load(auto& all, const auto& p, auto part) {
    constexpr nest_load e = code<I>::template load_at<L>;
    constexpr origin o = e.source == nest_load::from::array ? origin_of(e.buffer) : origin{};
    auto& v = member<I>(all).of;
    if constexpr (o.nest < 0) code<I>::template load_one<L>(v, p, 0, part);
    else {
      auto& from = member<o.nest>(all);
      auto& to = v.template at<e.to>();
      if constexpr (o.reduced) to = std::remove_cvref_t<decltype(to)>::all(member<o.at>(from.reduced));
      else to = from.of.template at<code<o.nest>::template store_at<o.at>.from>();
    }
  }
  template <int I, int R>
  static EBB_PART void reduce(auto& all, const auto& p, auto part) {
    constexpr nest_reduce e = code<I>::template reduce_at<R>;
    using T = typename code<I>::template reduced<R>;
    leaf_lanes<T> x;
    x.begin(code<I>::template identity<R>);
    code<I>::template reduce_one<R>(member<I>(all).of, p, 0, &x.rest[0], part);
    const T total = combine(x.rest, combiner<e.combine>{});
    member<R>(member<I>(all).reduced) = total;
    if constexpr (is_result(e.buffer)) *reinterpret_cast<T*>(p.red[R]) = total;
  }
  template <int I, int S>
  static EBB_PART void store(auto& all, const auto& p, auto part) {
    if constexpr (is_result(code<I>::template store_at<S>.buffer)) code<I>::template store_one<S>(member<I>(all).of, p, 0, part);
  }
  // Folds without parts: a program of at most 48 computations has few loads.
  template <int I, int... L, int... Piece, int... S, int... R>
  static EBB_PART void run_nest(auto& all, const memory& m, auto part, std::integer_sequence<int, L...>,
                                std::integer_sequence<int, Piece...>, std::integer_sequence<int, S...>, std::integer_sequence<int, R...>) {
    using own = code<I>;
    const typename own::pointers p(m);
    (load<I, L>(all, p, part), ...);
    (own::template compute_piece<Piece>(member<I>(all).of, typename own::template piece<Piece>{}), ...);
    (store<I, S>(all, p, part), ...);
    (reduce<I, R>(all, p, part), ...);
  }
  template <int I>
  static EBB_PART auto part_of([[maybe_unused]] std::size_t count) {
    if constexpr (length_of<I> == 1) return one_lane{};
    else if constexpr (length_of<I> == lane_count) return whole_step{};
    else return first_lanes<false>{static_cast<int>(count)};
  }
  template <int... I>
  static EBB_PART void run_nests(const memory& m, std::size_t count, std::integer_sequence<int, I...>) {
    record<values<I>...> all;
    (run_nest<I>(all, m, part_of<I>(count), loads<I>{}, typename code<I>::pieces{}, stores<I>{}, typename code<I>::reduces{}), ...);
  }
  // All addresses are arguments, see [note: arguments in registers].
  template <class... Address>
  [[gnu::noinline]] EBB_FLATTEN static void run_all(std::size_t count, Address*... at) {
    run_nests(memory{{{at...}}}, count, std::make_integer_sequence<int, nests>{});
  }

 public:
  static constexpr bool possible = leader >= 0;
  /// Whether every row is short.
  static constexpr bool always = [] {
    if constexpr (possible) return length_of<leader> > 0;
    else return false;
  }();

  static EBB_INLINE std::size_t length(const std::size_t* symbol) {
    return typename code<leader>::extents(symbol, typename code<leader>::loops{}).template at<0>();
  }
  static EBB_INLINE void run(void* const* arguments, void* const* results, std::size_t count) {
    [&]<int... A, int... R>(std::integer_sequence<int, A...>, std::integer_sequence<int, R...>) EBB_LAMBDA {
      run_all(count, arguments[A]..., results[R]...);
    }(std::make_integer_sequence<int, P::arguments>{}, std::make_integer_sequence<int, P::results>{});
  }
};

}  // namespace ebb::inline EBB_ABI::detail

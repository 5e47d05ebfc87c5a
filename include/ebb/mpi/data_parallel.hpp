// ebb/mpi/data_parallel.hpp — training on several ranks: each runs its share of a batch, and gradients are exchanged in the backward.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "broadcast.hpp"
#include "exchange.hpp"

#include "../train/optimizer.hpp"

namespace ebb::inline EBB_ABI::mpi {

namespace detail {

/// Tells the exchange of gradients. data_parallel owns the exchange and removes the hooks.
class arrival_hook final : public hook {
 public:
  arrival_hook(exchange& e, std::size_t number, bool before) : exchange_(e), number_(number), before_(before) {}
  void run(const hook_call& c) override {
    if (before_) exchange_.before(number_);
    else exchange_.gradient_is_there(number_, c.create_graph);
  }

 private:
  exchange& exchange_;
  std::size_t number_;
  bool before_;
};

template <class P>
inline constexpr bool is_parameter_or_key = is_key<P>;
template <parameters P>
inline constexpr bool is_parameter_or_key<P> = true;

/// Throws: error for a variable that is no leaf, or that is in `leaves` already.
inline void add_leaf(std::vector<counted<vertex>>& leaves, vertex* v) {
  const std::string name = "ebb::mpi::data_parallel: parameter " + std::to_string(leaves.size());
  if (!v) raise(name + " has no history: it is undefined, or was made under no_grad");
  if (!v->is_leaf) raise(name + " is the result of " + name_of(*v) + ": only leaves keep gradients");
  counted<vertex> at(v);
  if (std::find(leaves.begin(), leaves.end(), at) != leaves.end()) raise(name + " (" + name_of(*v) + ") is there twice");
  leaves.push_back(std::move(at));
}

}  // namespace detail

/// While it lives, the gradients of these parameters become their mean, sum or weighted mean over all ranks in each backward.
///   ebb::mpi::data_parallel all({.deterministic = true}, net, key);      // rank 0's parameters and keys, on all ranks
///   loss(net, my_share).backward();   opt.step();   opt.zero_grad();     // the same step on each rank
/// Parameters are variables, and tuples, vectors and structs of them; random keys may be among them. All ranks make the object with the
/// same parameters and options, and run as many backwards. See [note: an exchange].
///
/// `parts` divides the batch of a step into so many parts over all ranks, each with a backward of its own. Rank r of n runs its parts, from
/// r * parts / n on, one after the other, without zero_grad between them; its last backward exchanges. With parts = 4 and deterministic,
/// one, two and four ranks give the same bits: see [note: a fixed tree over ranks].
class data_parallel {
 public:
  /// Throws: error for a variable that is no leaf, for a parameter that is named twice, for parts that cannot be divided among the ranks,
  /// and on a rank whose parameters or options are not those of rank 0.
  template <class... P>
    requires(sizeof...(P) > 0)
  explicit data_parallel(const data_parallel_options& options, P&&... p) : among_(options.among) {
    constexpr bool fits = (detail::is_parameter_or_key<std::remove_cvref_t<P>> && ...);
    static_assert(fits, "[ebb E0343] ebb::mpi::data_parallel: after the options come variables, and tuples, vectors and structs of them, "
                        "and random keys");
    if constexpr (fits) {
      std::vector<counted<vertex>> leaves;
      const auto add = [&]<class X>(X& x) {
        if constexpr (!detail::is_key<X>) each_variable([&](const auto& v) { detail::add_leaf(leaves, v.history()); }, x);
      };
      (add(p), ...);
      prepare(options, std::move(leaves));
      if (options.broadcasts) (send_first(p), ...);
    }
  }
  data_parallel(const data_parallel&) = delete;
  data_parallel& operator=(const data_parallel&) = delete;
  /// Waits for gradients that are on their way, unless something has been thrown.
  ~data_parallel() {
    for (hook_handle& h : handles_) h.remove();
    if (!exchange_ || !exchange_->is_under_way()) return;
    if (exchange_->is_after_backward() && std::uncaught_exceptions() <= thrown_ && detail::is_running()) exchange_->wait();
    else static_cast<void>(exchange_.release());  // it is never freed: MPI may still write there
  }

  /// Waits for the gradients and steps, on all ranks.
  /// Throws: error if no gradients have been exchanged since the last step, and what optimizer::step throws.
  template <class Rule>
  void step(optimizer<Rule>& opt) {
    wait();
    if (!exchange_->has_exchanged())
      raise("ebb::mpi::data_parallel::step: no gradients have been exchanged since the last step: a rank without a batch calls take_part");
    opt.step();
    exchange_->note_step();
  }
  /// Waits until the gradients of the last backward are there. It returns at once unless the options say waits_in_step.
  void wait() { exchange_->wait(); }

  /// From now on the parameters that an optimizer shares with this are updated as soon as their gradients have come back from the other
  /// ranks: in the backward, while others are still on their way. Then the gradients are undefined again.
  /// The optimizer's own step_in_backward would update with the gradient of this rank alone.
  /// Throws: error if the optimizer has a parameter that this object lacks.
  template <class Rule>
  void step_in_backward(optimizer<Rule>& opt) {
    std::vector<std::pair<std::size_t, std::shared_ptr<hook>>> found;
    for (std::size_t i = 0; i < opt.size(); ++i) found.emplace_back(number_of(opt.parameter(i), i), opt.update_hook(i));
    for (auto& [number, update] : found) exchange_->slots()[number].update = std::move(update);
  }

  /// While it lives, backwards add to the gradients of this rank and exchange nothing; the first one after it exchanges the sums.
  class quiet_scope {
   public:
    EBB_SCOPE explicit quiet_scope(detail::exchange& e) : exchange_(&e) { e.be_quiet(1); }
    quiet_scope(const quiet_scope&) = delete;
    quiet_scope& operator=(const quiet_scope&) = delete;
    ~quiet_scope() { exchange_->be_quiet(-1); }

   private:
    detail::exchange* exchange_;
  };
  /// Throws: error if the options say `parts`.
  [[nodiscard]] quiet_scope no_sync() { return quiet_scope(*exchange_); }

  /// How many examples the batches of this rank have, from the next backward on: for reduce::weighted_mean. 0 is allowed.
  /// Throws: error if it is negative or not finite.
  void set_weight(double examples) { exchange_->set_weight(examples); }

  /// For a rank that has no batch left in this step: it exchanges what gradients it has, or zeros, and gets the result as others do. Set
  /// its weight to 0 first, or zeros count in the mean.
  void take_part() { exchange_->take_part(); }

  /// Whether all ranks have the same parameters, bit for bit; all ranks call it.
  bool agrees() {
    std::uint64_t hash = 1;
    for (auto& s : exchange_->slots()) {
      const leaf& l = s.parameter();
      hash = detail::add_to_hash(hash, hash_text({reinterpret_cast<const char*>(l.value.data()), l.value.bytes()}));
    }
    std::uint64_t both[] = {hash, ~hash};
    detail::check("MPI_Allreduce", MPI_Allreduce(MPI_IN_PLACE, both, 2, MPI_UINT64_T, MPI_MIN, among_.handle()));
    return both[0] == ~both[1];
  }

  std::size_t buckets() const { return exchange_->buckets(); }
  /// The bytes of all gradients together.
  std::size_t bytes() const {
    std::size_t all = 0;
    for (const auto& s : exchange_->slots()) all += s.bytes();
    return all;
  }

 private:
  void prepare(const data_parallel_options& o, std::vector<counted<vertex>> leaves) {
    std::uint64_t shapes = static_cast<std::uint64_t>(o.reduce) | std::uint64_t{o.deterministic} << 8 | std::uint64_t{o.find_unused} << 9;
    shapes = detail::add_to_hash(shapes, o.bucket_bytes);
    shapes = detail::add_to_hash(shapes, static_cast<std::uint64_t>(o.parts));
    for (const counted<vertex>& v : leaves) {
      const leaf& l = static_cast<const leaf&>(*v);
      shapes = detail::add_to_hash(shapes, static_cast<std::uint64_t>(l.type) | static_cast<std::uint64_t>(l.gradient_type) << 8);
      for (int i = 0; i < l.extents.rank; ++i) shapes = detail::add_to_hash(shapes, l.extents.e[i]);
    }
    detail::require_same("ebb::mpi::data_parallel", shapes, {.among = o.among});
    exchange_ = std::make_unique<detail::exchange>(o, std::move(leaves));
    for (std::size_t i = 0; i < exchange_->slots().size(); ++i) {
      hook_list& h = hooks_of(*exchange_->slots()[i].at);
      const auto add = [&](hook_kind kind) {
        handles_.emplace_back(h, h.add(kind, 0, std::make_shared<detail::arrival_hook>(*exchange_, i, kind == hook_kind::node_pre)));
      };
      if (exchange_->counts_once()) add(hook_kind::node_pre);
      add(hook_kind::post_accumulate);
    }
  }
  template <class X>
  void send_first(X& x) {
    constexpr bool is_written = !std::is_const_v<X> || !detail::is_key<X>;
    static_assert(is_written, "[ebb E0344] ebb::mpi::data_parallel writes random keys: they are no constants");
    if constexpr (!is_written) return;
    else if constexpr (detail::is_key<X>) broadcast(x, {.among = among_});
    else each_variable([&](auto v) { broadcast(v, {.among = among_}); }, x);
  }
  std::size_t number_of(const leaf& l, std::size_t place) const {
    const auto& slots = exchange_->slots();
    for (std::size_t i = 0; i < slots.size(); ++i)
      if (slots[i].at.get() == &l) return i;
    raise("ebb::mpi::data_parallel::step_in_backward: parameter " + std::to_string(place) + " of the optimizer (" + name_of(l) +
          ") is none of those whose gradients are exchanged");
  }

  communicator among_;
  std::unique_ptr<detail::exchange> exchange_;
  std::vector<hook_handle> handles_;
  int thrown_ = std::uncaught_exceptions();
};

}  // namespace ebb::inline EBB_ABI::mpi

// ebb/mpi/exchange.hpp — buckets of gradients on their way to their sum over all ranks, while the backward goes on.
// SPDX-License-Identifier: BSL-1.0
//
// [note: an exchange]
// Each parameter has a post-accumulate hook, which takes the gradient into its bucket. The last hook of a bucket sends it. Buckets are
// sent in the same order on all ranks, whatever the order of their gradients: the one whose parameters are last in the list first,
// since a backward comes to them first. Every later hook asks MPI whether something has arrived: few MPI libraries move bytes outside of
// their calls. The end of the backward, or `step`, waits for the rest, and the leaves get their gradients back.
// From the hook until then a leaf has no gradient: later hooks cannot see or change one that is on its way. Earlier hooks
// (tensor hooks, pre-hooks, post-accumulate hooks registered before) change the gradient of this rank.
// The hooks are opaque: a captured backward runs them at their place between its groups, see [note: the order of hooks].
//
// [note: parameters without a gradient]
// A backward may leave out a parameter on some ranks. Each rank still has to send each bucket, or the others wait without end. By default
// that is an error that names the parameter, as in PyTorch. With find_unused the rank counts zeros in. Parameters that the graph does not
// lead to are found when the first hook runs, so that their buckets need not wait for the end of the backward. Other unused ones are found
// at its end. A map of used parameters is exchanged too: a parameter that no rank has used keeps the gradient that it had, or none, so that
// optimizers leave it alone.
// A backward that comes to no parameter of a rank runs no hook there: then, and where a rank has no batch left, it calls take_part.
#pragma once

#include "all_reduce.hpp"

#include "../autograd/backward.hpp"
#include "../autograd/hook_list.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <vector>

namespace ebb::inline EBB_ABI::mpi {

struct data_parallel_options {
  std::size_t bucket_bytes = std::size_t{1} << 20;  // a bucket is sent when it holds at least so many
  mpi::reduce reduce = mpi::reduce::mean;
  bool deterministic = false;  // see [note: a fixed tree over ranks]
  int parts = 0;               // of a step's batch over all ranks, a backward each: see data_parallel; 0: one backward a rank
  bool find_unused = false;    // see [note: parameters without a gradient]
  bool waits_in_step = false;  // the backward does not wait for what is on its way; data_parallel::step and wait do
  bool broadcasts = true;      // rank 0's parameters, at the start
  communicator among = {};
};

namespace detail {

class exchange {
 public:
  struct slot {
    counted<vertex> at;
    int bucket = 0;
    std::size_t offset = 0;         // in its bucket, in bytes
    gradient taken;                 // its memory, until it comes back
    std::vector<storage> partial;   // sums over parts, as the digits of a binary counter
    std::shared_ptr<hook> update;   // run when the gradient is back
    bool here = false, used = false, came_back = false;

    leaf& parameter() const { return static_cast<leaf&>(*at); }
    std::size_t bytes() const { return parameter().extents.volume() * size_of(parameter().gradient_type); }
  };

  exchange(const data_parallel_options& o, std::vector<counted<vertex>> parameters) : options_(o), channels_(o.among) {
    for (counted<vertex>& p : parameters) slots_.emplace_back().at = std::move(p);
    parts_here_ = parts_of_rank();
    make_buckets();
  }
  exchange(const exchange&) = delete;
  exchange& operator=(const exchange&) = delete;

  const channels& ranks() const { return channels_; }
  std::vector<slot>& slots() { return slots_; }
  std::size_t buckets() const { return buckets_.size(); }
  bool counts_once() const { return options_.reduce == reduce::sum || options_.parts > 0; }
  void set_weight(double w) {
    require_weight("ebb::mpi::data_parallel::set_weight", w);
    weight_ = w;
  }
  void be_quiet(int more) {
    if (options_.parts) raise("ebb::mpi::data_parallel::no_sync: with parts it is known which backward is the last one");
    quiet_ += more;
  }
  bool is_under_way() const { return state_ != state::idle; }
  bool is_after_backward() const { return state_ == state::ended; }
  bool has_exchanged() const { return has_exchanged_; }
  void note_step() { has_exchanged_ = false; }

  /// Before a gradient is added to a leaf.
  void before(std::size_t number) {
    slot& s = slots_[number];
    if (!s.parameter().grad.defined) s.came_back = false;
    else if (s.came_back && counts_once()) raise_counted_again(number);
  }
  /// After it.
  void gradient_is_there(std::size_t number, bool creates_graph) {
    if (state_ == state::ended) raise_on_their_way();
    if (quiet_ > 0) return;
    if (creates_graph) raise("ebb::mpi::data_parallel: a graph of the backward is made, and the exchange has no derivative");
    if (!slots_[number].parameter().grad.defined) raise_updated_alone(number);
    backward_pass& pass = *this_tape().pass;
    if (bool& knows = pass.state_of<bool>(this); !knows) {
      knows = true;
      begin(&pass);
      pass.add_callback([this] { end(); });
    }
    if (!slots_[number].here) accept(number);
    advance(false);
  }
  /// All of a step, without a backward.
  void take_part() {
    do {
      begin(nullptr);
      for (std::size_t i = 0; i < slots_.size(); ++i) {
        accept(i);
        slots_[i].used |= !options_.find_unused;  // by others: they say so if not
      }
      end();
    } while (part_ != 0);
    wait();
  }
  /// Until all gradients are back. Nothing, if none is on its way.
  void wait() {
    if (state_ == state::idle) return;
    if (state_ == state::begun) raise("ebb::mpi::data_parallel::wait: the backward is not done");
    advance(true);
    is_done(used_request_, true);
    state_ = state::idle;
    has_exchanged_ = true;
  }

 private:
  enum class state : std::uint8_t { idle, begun, ended };
  struct bucket {
    summation sum;
    std::vector<std::size_t> members;
    std::size_t missing = 0;
  };

  int parts_of_rank() const {
    const int parts = options_.parts, ranks = channels_.ranks;
    if (parts == 0) return 1;
    const int here = parts > 0 && parts % ranks == 0 ? parts / ranks : 0;
    if (!here || (ranks > 1 && !std::has_single_bit(static_cast<unsigned>(here))))
      raise("ebb::mpi::data_parallel: " + std::to_string(parts) + " parts for " + std::to_string(ranks) +
            " ranks: each rank runs as many, and on several ranks that is a power of two");
    return here;
  }
  void make_buckets() {
    struct open {
      dtype type;
      std::vector<std::size_t> members;
      std::size_t bytes = 0;
    };
    std::vector<open> all;
    const auto close = [&](const open& o) {
      for (const std::size_t i : o.members) slots_[i].bucket = static_cast<int>(buckets_.size());
      buckets_.push_back({summation(o.type, o.bytes / size_of(o.type), options_.deterministic, channels_.ranks), o.members});
    };
    for (std::size_t i = slots_.size(); i-- > 0;) {
      const dtype type = slots_[i].parameter().gradient_type;
      auto at = std::find_if(all.begin(), all.end(), [&](const open& o) { return o.type == type; });
      if (at == all.end()) at = all.insert(at, open{type, {}, 0});
      slots_[i].offset = at->bytes;
      at->bytes += slots_[i].bytes();
      at->members.push_back(i);
      if (at->bytes < options_.bucket_bytes) continue;
      close(*at);
      all.erase(at);
    }
    for (const open& o : all) close(o);
  }

  std::string name_of_slot(std::size_t number) const {
    return "parameter " + std::to_string(number) + " (" + name_of(*slots_[number].at) + ")";
  }
  [[noreturn]] static void raise_on_their_way() {
    raise("ebb::mpi::data_parallel: the gradients of the last backward are on their way: call step or wait before the next one");
  }
  [[noreturn]] void raise_counted_again(std::size_t number) const {
    raise("ebb::mpi::data_parallel: " + name_of_slot(number) +
          " still has the gradient of the last exchange, which every rank would count again: call zero_grad first");
  }

  /// An optimizer that runs in the backward would update with the gradient of this rank.
  void refuse_updates_of_rank() const {
    for (std::size_t i = 0; i < slots_.size(); ++i)
      for (const hook_list::entry& e : slots_[i].at->hooks->entries)
        if (e.call && e.kind == hook_kind::post_accumulate)
          if (const hook_program* const p = e.call->traced(); p && p->clears) raise_updated_alone(i);
  }
  [[noreturn]] void raise_updated_alone(std::size_t number) const {
    raise("ebb::mpi::data_parallel: another hook of " + name_of_slot(number) +
          " takes the gradient of this rank: an optimizer's step_in_backward? Call data_parallel::step_in_backward instead");
  }

  bool is_last_part() const { return part_ + 1 == parts_here_; }
  bool is_weighted() const { return options_.reduce == reduce::weighted_mean; }

  /// A backward has come to the first parameter, or pass is null.
  void begin(backward_pass* pass) {
    if (state_ == state::ended) raise_on_their_way();
    if (state_ == state::begun)
      raise("ebb::mpi::data_parallel: another backward over these parameters has not come to its end: it runs now, or has thrown");
    refuse_updates_of_rank();
    if (is_weighted() && weight_ < 0) raise("ebb::mpi::data_parallel: reduce::weighted_mean needs set_weight before the first backward");
    state_ = state::begun;
    if (part_ == 0) {
      weights_ = 0;
      for (slot& s : slots_) s.used = false;
    }
    weights_ += weight_;
    for (slot& s : slots_) s.here = false;
    sent_ = combined_ = done_ = 0;
    asks_for_used_ = false;
    for (bucket& b : buckets_) b.missing = b.members.size();
    if (is_last_part() && is_weighted())
      check("MPI_Iallreduce", MPI_Iallreduce(&weights_, &all_weights_, 1, MPI_DOUBLE, MPI_SUM, channels_.sums, &weights_request_));
    if (options_.find_unused && pass)
      for (std::size_t i = 0; i < slots_.size(); ++i)
        if (!pass->will_reach(*slots_[i].at)) accept(i);
  }
  /// The gradient of the leaf becomes part of its bucket: zeros if there is none.
  void accept(std::size_t number) {
    slot& s = slots_[number];
    s.here = true;
    gradient& g = s.parameter().grad;
    if (g.defined) {
      if (s.came_back && counts_once()) raise_counted_again(number);
      if (g.from) g.from = nullptr;
      s.used = true;
      s.taken = std::move(g);
      if (is_weighted()) {
        s.taken.value.detach();
        change_elements(type_of(s), s.taken.value.data(), s.bytes() / size_of(type_of(s)), weight_, false);
      }
    } else {
      storage zeros(s.bytes());
      if (zeros.bytes()) std::memset(zeros.data(), 0, zeros.bytes());
      s.taken = {std::move(zeros), nullptr, 0, true};
    }
    if (parts_here_ > 1) add_part(s);
    if (!is_last_part()) return;
    bucket& b = buckets_[static_cast<std::size_t>(s.bucket)];
    if (goes_in_place(b)) {
      s.taken.value.detach();
      b.sum.block() = std::move(s.taken.value);
    } else if (s.bytes()) std::memcpy(b.sum.data() + s.offset, s.taken.value.data(), s.bytes());
    --b.missing;
  }
  static dtype type_of(const slot& s) { return s.parameter().gradient_type; }
  /// A gradient that is a bucket by itself is not copied.
  static bool goes_in_place(const bucket& b) { return b.members.size() == 1 && !b.sum.is_tree(); }

  /// See [note: a fixed tree over ranks]: part p is added to the sums of as many parts as it completes.
  void add_part(slot& s) {
    storage sum = std::move(s.taken.value);
    const auto add_to_last = [&] {
      storage older = std::move(s.partial.back());
      s.partial.pop_back();
      ebb::detail::add_to(type_of(s), older, sum);
      sum = std::move(older);
    };
    for (int p = part_; p & 1; p >>= 1) add_to_last();
    if (is_last_part())
      while (!s.partial.empty()) add_to_last();
    if (is_last_part()) s.taken = {std::move(sum), nullptr, 0, true};
    else {
      s.partial.push_back(std::move(sum));
      s.taken = {};
    }
  }

  /// The backward has come to its end.
  void end() {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      slot& s = slots_[i];
      if (s.here) continue;
      if (!s.parameter().grad.defined && !options_.find_unused)
        raise("ebb::mpi::data_parallel: " + name_of_slot(i) + " got no gradient in this backward: say find_unused = true if that is meant");
      accept(i);
    }
    if (!is_last_part()) {
      ++part_;
      state_ = state::idle;
      return;
    }
    part_ = 0;
    state_ = state::ended;
    advance(false);
    if (options_.find_unused) {
      used_.assign(slots_.size(), 0);
      for (std::size_t i = 0; i < slots_.size(); ++i) used_[i] = slots_[i].used;
      check("MPI_Iallreduce", MPI_Iallreduce(MPI_IN_PLACE, used_.data(), static_cast<int>(used_.size()), MPI_UNSIGNED_CHAR, MPI_MAX,
                                             channels_.sums, &used_request_));
      asks_for_used_ = true;
    }
    if (!options_.waits_in_step) wait();
  }

  /// Sends what is complete, takes what has arrived. Each of the three goes in the order of the buckets, on all ranks.
  void advance(bool waits) {
    if (!is_last_part() && state_ != state::ended) return;
    for (; sent_ < buckets_.size() && buckets_[sent_].missing == 0; ++sent_) buckets_[sent_].sum.send(channels_);
    for (; combined_ < sent_; ++combined_) {
      summation& s = buckets_[combined_].sum;
      if (!s.is_tree()) continue;
      if (!s.is_done(waits)) break;
      s.combine(channels_);
    }
    for (; done_ < combined_ && is_complete(buckets_[done_], waits); ++done_) give_back(buckets_[done_]);
  }
  bool is_complete(bucket& b, bool waits) {
    if (is_weighted() && !is_done(weights_request_, waits)) return false;
    const bool all_used = std::all_of(b.members.begin(), b.members.end(), [&](std::size_t i) { return slots_[i].used; });
    if (!all_used && (!asks_for_used_ || !is_done(used_request_, waits))) return false;
    return b.sum.is_done(waits);
  }
  void give_back(bucket& b) {
    const double parts = static_cast<double>(channels_.ranks) * parts_here_;
    const double divisor = is_weighted() ? all_weights_ : options_.reduce == reduce::mean ? parts : 1;
    if (!(divisor > 0)) raise("ebb::mpi::data_parallel: the weights of all ranks are 0");
    b.sum.divide(divisor);
    for (const std::size_t i : b.members) {
      slot& s = slots_[i];
      gradient back = std::move(s.taken);
      if (goes_in_place(b)) back = {std::move(b.sum.block()), nullptr, 0, true};
      if (!s.used && !used_[i]) continue;
      if (!goes_in_place(b)) {
        if (back.value.use_count() > 1) back.value = storage(s.bytes());
        if (s.bytes()) std::memcpy(back.value.data(), b.sum.data() + s.offset, s.bytes());
      }
      {
        const exclusive alone(s.parameter());
        s.parameter().grad = std::move(back);
      }
      s.came_back = true;
      if (s.update) s.update->run({.at = &s.parameter()});
    }
  }

  data_parallel_options options_;
  own_channels channels_;
  std::vector<slot> slots_;
  std::vector<bucket> buckets_;
  int parts_here_ = 1, part_ = 0;  // the backwards of this rank in a step, and the number of the next one
  int quiet_ = 0;
  double weight_ = -1, weights_ = 0, all_weights_ = 0;
  MPI_Request weights_request_ = MPI_REQUEST_NULL, used_request_ = MPI_REQUEST_NULL;
  std::vector<unsigned char> used_;
  std::size_t sent_ = 0, combined_ = 0, done_ = 0;  // how many buckets
  state state_ = state::idle;
  bool asks_for_used_ = false, has_exchanged_ = false;
};

}  // namespace detail
}  // namespace ebb::inline EBB_ABI::mpi

// ebb/train/grad_scaler.hpp — scales a loss up, so that small gradients survive a narrow dtype, and gradients down again.
// SPDX-License-Identifier: BSL-1.0
//
// [note: gradient scaling]
// float16 has no numbers between 0 and 6e-8, where many gradients are. So the loss is multiplied by a large scale before its backward, and
// the gradients of the parameters, which are float, by the reciprocal after it. If a gradient is infinite or NaN, the scale was too large:
// the step is skipped and the scale is reduced. After many good steps it grows again.
//   scaler.scale(loss).backward();   scaler.step(opt);   scaler.update();   opt.zero_grad();
// To clip gradients before the step, call unscale first: step does not unscale them again.
// Source: PyTorch's torch.amp.GradScaler, whose defaults, factors and checks these are (semantics checked against 2.13); Micikevicius et
// al., Mixed precision training, ICLR 2018, arXiv:1710.03740.
#pragma once

#include "optimizer.hpp"
#include "unscale.hpp"

#include "../autograd/expression.hpp"
#include "../base/objects.hpp"

#include <algorithm>
#include <concepts>
#include <limits>
#include <vector>

namespace ebb::inline EBB_ABI {

struct grad_scaler_options {
  double init_scale = 65536;
  double growth_factor = 2;
  double backoff_factor = 0.5;
  std::uint64_t growth_interval = 2000;  // good steps until the scale grows; 0: never
  bool enabled = true;                   // false: nothing is scaled, no step is skipped, update does nothing
};

/// See [note: gradient scaling].
class grad_scaler {
 public:
  /// Throws: error for a scale that is not positive and finite, a growth factor that is not above 1, a back-off factor not in (0, 1).
  EBB_ONCE_CTOR explicit grad_scaler(const grad_scaler_options& options = {});
  grad_scaler(const grad_scaler&) = delete;
  grad_scaler& operator=(const grad_scaler&) = delete;
  grad_scaler(grad_scaler&&) = default;
  grad_scaler& operator=(grad_scaler&&) = default;

  bool enabled() const { return options_.enabled; }
  float current_scale() const { return enabled() ? scale_->now : 1; }
  /// Good steps since the last change of the scale.
  std::uint64_t good_steps() const { return good_steps_; }

  /// The loss, or any other variable, times the scale.   Dtype: bf16 and f16 become float.
  template <detail::on_tape A>
  auto scale(A&& loss) {
    using T = typename std::remove_cvref_t<A>::value_type;
    using wide = detail::computed_in<T>;
    scale_->used = true;
    if constexpr (std::is_same_v<T, wide>)
      return enabled() ? variable(std::forward<A>(loss) * scale_->now) : variable(loss);
    else {
      const variable wider = cast<wide>(std::forward<A>(loss));
      return enabled() ? variable(wider * scale_->now) : wider;
    }
  }

  /// Divides the gradients of parameters, or of all parameters of an optimizer, by the scale.
  /// Throws: error if nothing has been scaled yet, for a gradient that has been unscaled since the last update, for a float16 one (it could
  /// not hold the result), and for variables that are not leaves; nothing has changed.
  template <parameters... P>
    requires(sizeof...(P) > 0)
  void unscale(const P&... p) {
    targets_.clear();
    each_variable([&]<class T, std::size_t... E>(const variable<T, E...>& v) {
      if (!v.history() || !v.is_leaf()) raise("ebb::grad_scaler::unscale: " + v.name() + " is no leaf: name parameters");
      targets_.push_back(detail::unscale_target::of<T>(static_cast<leaf&>(*v.history())));
    }, p...);
    if (enabled()) unscale_targets("ebb::grad_scaler::unscale", false);
  }
  template <class Rule>
  void unscale(const optimizer<Rule>& opt) {
    find_targets(opt);
    if (enabled()) unscale_targets("ebb::grad_scaler::unscale", false);
  }

  /// Unscales the gradients that are not unscaled yet, and steps if all gradients of the optimizer are finite. Returns whether it stepped.
  /// Throws: error if nothing has been scaled yet, for an optimizer that has stepped since the last update or whose parameters have no
  /// gradients; the errors of unscale and optimizer::step.
  template <class Rule>
  bool step(optimizer<Rule>& opt) {
    find_targets(opt);
    const bool good = !enabled() || unscale_targets("ebb::grad_scaler::step", true);
    if (good) opt.step();
    if (enabled()) note_step(targets_);
    return good;
  }

  /// Adapts the scale to the gradients since the last update, and begins the next iteration.
  /// Throws: error if no gradient has been unscaled since then.
  EBB_ONCE void update();
  /// Sets the scale instead. Throws: error if it is not positive and finite.
  EBB_ONCE void update(double new_scale);

  /// Unscales each later gradient as it arrives in the backward, before it is added to others: hooks see unscaled gradients. A step inside
  /// the backward cannot be skipped: use this with step, not with optimizer::step_in_backward.
  /// Throws: the errors of unscale.
  template <parameters... P>
    requires(sizeof...(P) > 0)
  std::vector<hook_handle> unscale_in_backward(const P&... p) {
    std::vector<hook_handle> handles;
    each_variable([&]<class T, std::size_t... E>(const variable<T, E...>& v) {
      if (!v.history() || !v.is_leaf()) raise("ebb::grad_scaler::unscale_in_backward: " + v.name() + " is no leaf: name parameters");
      const auto target = detail::unscale_target::of<T>(static_cast<leaf&>(*v.history()));
      if (!target.unscale) raise_narrow("ebb::grad_scaler::unscale_in_backward", v.name());
      if (enabled()) handles.push_back(add_hook(target));
    }, p...);
    return handles;
  }

  /// Writes the scale, the factors, the interval and the number of good steps to a binary stream: 48 bytes.
  /// Throws: error if writing fails.
  template <class Stream>
    requires requires(Stream& s, const char* bytes) { s.write(bytes, 1); }
  void save(Stream& to) const {
    const state s = state_now();
    if (!to.write(reinterpret_cast<const char*>(&s), sizeof s)) raise("ebb::grad_scaler::save: the stream does not take what is written");
  }
  /// Reads a state that save wrote. Throws: error for other content; then nothing has changed.
  template <class Stream>
    requires requires(Stream& s, char* bytes) { s.read(bytes, 1); }
  void load(Stream& from) {
    state s;
    if (!from.read(reinterpret_cast<char*>(&s), sizeof s)) raise("ebb::grad_scaler::load: the stream ends before the state does");
    set(s);
  }

 private:
  /// The bytes that save writes: these members in order, little endian.
  struct state {
    char magic[8] = "ebb-amp";
    std::uint32_t version = 1;
    float scale = 0;
    double growth_factor = 0, backoff_factor = 0;
    std::uint64_t growth_interval = 0, good_steps = 0;
  };
  static_assert(sizeof(state) == 48);

  /// A leaf whose gradient has been unscaled since the last update.
  struct entry {
    counted<vertex> at;
    bool finite = true, stepped = false;

    const leaf* address() const { return static_cast<const leaf*>(at.get()); }
  };

  template <class Rule>
  void find_targets(const optimizer<Rule>& opt) {
    targets_.clear();
    for (std::size_t i = 0; i < opt.size(); ++i) {
      leaf& l = const_cast<leaf&>(opt.parameter(i));  // an optimizer is a handle: a const one may change its parameters
      with_dtype(l.type, [&]<class T>(T) { targets_.push_back(detail::unscale_target::of<T>(l)); });
    }
  }
  // Templates: see [note: compiled where used].
  template <std::same_as<const char*> Call>
  bool unscale_targets(Call call, bool steps);
  template <std::same_as<detail::unscale_target> Target>
  void note_step(const objects<Target>& targets);
  template <std::same_as<leaf> Leaf>
  entry* find(const Leaf* l, std::size_t count);
  template <std::same_as<detail::unscale_target> Target>
  bool unscale_one(const Target& t);
  template <std::same_as<detail::unscale_target> Target>
  hook_handle add_hook(const Target& t);
  static bool is_scale(double x) { return x > 0 && x <= std::numeric_limits<float>::max(); }
  void require_scaled(const char* call) const;
  EBB_ONCE void set_scale(float scale);
  EBB_ONCE state state_now() const;
  EBB_ONCE void set(const state& s);
  [[noreturn, gnu::cold, gnu::noinline]] static void raise_unscaled(const char* call) {
    raise(std::string(call) + ": nothing has been scaled: call scale(loss).backward() first");
  }
  [[noreturn, gnu::cold, gnu::noinline]] static void raise_narrow(const char* call, const std::string& name) {
    raise(std::string(call) + ": the gradient of " + name + " is float16 and cannot hold what is small: keep parameters in "
          "float, or their gradients, by ebb::grad_dtype<float>");
  }

  grad_scaler_options options_;
  std::shared_ptr<detail::loss_scale> scale_ = std::make_shared<detail::loss_scale>();
  std::uint64_t good_steps_ = 0;
  objects<entry> entries_;  // in the order of addresses
  objects<std::weak_ptr<detail::unscaled_by_hook>> hooks_;
  objects<detail::unscale_target> targets_;  // of the call that runs now
};

EBB_ONCE_CTOR grad_scaler::grad_scaler(const grad_scaler_options& options) : options_(options) {
  const auto refuse = [](const char* problem) { raise(std::string("ebb::grad_scaler: ") + problem); };
  if (!is_scale(options.init_scale)) refuse("init_scale must be positive and finite");
  if (!(options.growth_factor > 1)) refuse("growth_factor must be larger than 1");
  if (!(options.backoff_factor > 0 && options.backoff_factor < 1)) refuse("backoff_factor must lie between 0 and 1");
  scale_->now = static_cast<float>(options.init_scale);
}

/// Among the first `count` entries.
template <std::same_as<leaf> Leaf>
grad_scaler::entry* grad_scaler::find(const Leaf* l, std::size_t count) {
  const auto first = entries_.begin(), last = first + static_cast<std::ptrdiff_t>(count);
  const auto at = std::lower_bound(first, last, l, [](const entry& e, const leaf* x) { return std::less<>{}(e.address(), x); });
  return at != last && at->address() == l ? &*at : nullptr;
}

/// Unscales the targets' gradients that are not unscaled yet. Returns whether all are finite.
template <std::same_as<const char*> Call>
bool grad_scaler::unscale_targets(Call call, bool steps) {
  require_scaled(call);
  bool any = false, finite = true;
  for (const auto& [at, function] : targets_) {
    const entry* const e = find(at, entries_.size());
    if (e && e->stepped) raise(std::string(call) + ": the optimizer has stepped since the last update: call update once an iteration");
    if (!at->grad.defined) continue;
    any = true;
    if (e && !steps) raise(std::string(call) + ": the gradient of " + name_of(*at) + " has been unscaled since the last update");
    if (!function) raise_narrow(call, name_of(*at));
  }
  if (steps && !any) raise(std::string(call) + ": no parameter of the optimizer has a gradient");
  for (const auto& [at, function] : targets_)
    if (at->grad.defined) at->grad.value.detach();  // all that may fail
  entries_.reserve(entries_.size() + targets_.size());
  std::sort(targets_.begin(), targets_.end(), [](const auto& x, const auto& y) { return std::less<>{}(x.at, y.at); });
  const std::size_t before = entries_.size();
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    const auto& [at, function] = targets_[i];
    if (!at->grad.defined || (i > 0 && targets_[i - 1].at == at)) continue;
    const entry* const e = find(at, before);
    if (!e) entries_.push_back({counted<vertex>(at), unscale_one(targets_[i]), false});
    finite = finite && (e ? e->finite : entries_.back().finite);
  }
  std::sort(entries_.begin(), entries_.end(), [](const entry& x, const entry& y) { return std::less<>{}(x.address(), y.address()); });
  return finite;
}
/// Unscales a target unless a hook has done so. Returns whether it is finite.
template <std::same_as<detail::unscale_target> Target>
bool grad_scaler::unscale_one(const Target& t) {
  for (const auto& weak : hooks_)
    if (const auto seen = weak.lock(); seen && seen->at == t.at && seen->any.load(std::memory_order_relaxed))
      return seen->finite.load(std::memory_order_relaxed);
  return t.unscale(t.at->grad, t.at->extents.volume(), scale_->reciprocal());
}
template <std::same_as<detail::unscale_target> Target>
void grad_scaler::note_step(const objects<Target>& targets) {
  for (const auto& t : targets)
    if (entry* const e = find(t.at, entries_.size())) e->stepped = true;
}

template <std::same_as<detail::unscale_target> Target>
hook_handle grad_scaler::add_hook(const Target& t) {
  auto seen = std::make_shared<detail::unscaled_by_hook>();
  seen->at = t.at;
  seen->scale = scale_;
  hooks_.erase_if([](const auto& weak) { return weak.expired(); });
  hooks_.push_back(seen);
  hook_list& h = hooks_of(*t.at);
  return {h, h.add(hook_kind::tensor, 0, std::make_shared<detail::unscaling_hook>(std::move(seen), t.unscale))};
}

EBB_ONCE void grad_scaler::update() {
  if (!enabled()) return;
  require_scaled("ebb::grad_scaler::update");
  bool any = !entries_.empty(), finite = true;
  for (const entry& e : entries_) finite = finite && e.finite;
  for (const auto& weak : hooks_)
    if (const auto seen = weak.lock()) {
      any = any || seen->any.load(std::memory_order_relaxed);
      finite = finite && seen->finite.load(std::memory_order_relaxed);
    }
  if (!any) raise("ebb::grad_scaler::update: no gradient has been unscaled since the last update: call step first");
  if (!finite) {
    good_steps_ = 0;
    set_scale(static_cast<float>(scale_->now * options_.backoff_factor));
  } else if (++good_steps_ == options_.growth_interval) {
    good_steps_ = 0;
    const double next = scale_->now * options_.growth_factor;
    set_scale(is_scale(next) ? static_cast<float>(next) : scale_->now);
  } else set_scale(scale_->now);
}
EBB_ONCE void grad_scaler::update(double new_scale) {
  if (!enabled()) return;
  require_scaled("ebb::grad_scaler::update");
  if (!is_scale(new_scale)) raise("ebb::grad_scaler::update: a scale must be positive and finite");
  set_scale(static_cast<float>(new_scale));
}
EBB_ONCE void grad_scaler::set_scale(float scale) {
  scale_->now = scale;
  entries_.clear();
  for (const auto& weak : hooks_)
    if (const auto seen = weak.lock()) seen->begin_anew();
}

inline void grad_scaler::require_scaled(const char* call) const {
  if (!scale_->used) raise_unscaled(call);
}

EBB_ONCE grad_scaler::state grad_scaler::state_now() const {
  state s;
  s.scale = scale_->now;
  s.growth_factor = options_.growth_factor;
  s.backoff_factor = options_.backoff_factor;
  s.growth_interval = options_.growth_interval;
  s.good_steps = good_steps_;
  return s;
}
EBB_ONCE void grad_scaler::set(const state& s) {
  const state own;
  const auto refuse = [](const std::string& problem) { raise("ebb::grad_scaler::load: " + problem); };
  if (std::memcmp(s.magic, own.magic, sizeof own.magic) != 0) refuse("this is not what an ebb::grad_scaler has saved");
  if (s.version != own.version) refuse("version " + std::to_string(s.version) + " of the format is not known");
  const grad_scaler checked({s.scale, s.growth_factor, s.backoff_factor, s.growth_interval, options_.enabled});
  options_ = checked.options_;
  good_steps_ = s.good_steps;
  set_scale(s.scale);
}

}  // namespace ebb::inline EBB_ABI

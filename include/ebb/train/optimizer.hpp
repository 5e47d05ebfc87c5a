// ebb/train/optimizer.hpp — an update rule for a structure of parameters: in steps, or inside the backward.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "state_file.hpp"

#include "../autograd/parameters.hpp"
#include "../io/file.hpp"

#include <algorithm>
#include <memory>

namespace ebb::inline EBB_ABI {

namespace detail {

/// Throws: error for a variable that is not a leaf, or that is there already.
EBB_COLD void add_parameter(const char* call, std::vector<counted<vertex>>& leaves, vertex* v) {
  const auto refuse = [&](const std::string& problem) { raise(call + (": parameter " + std::to_string(leaves.size())) + problem); };
  if (!v) refuse(" has no history: it is undefined, or was made under no_grad");
  if (!v->is_leaf) refuse(" is the result of " + name_of(*v) + ": only leaves can be updated");
  counted<vertex> at(v);
  if (std::find(leaves.begin(), leaves.end(), at) != leaves.end()) refuse(" (" + name_of(*v) + ") is there twice");
  leaves.push_back(std::move(at));
}

}  // namespace detail

/// Parameters, the rule by which they are updated, and the rule's state for each. A handle: copies are the same optimizer.
///   ebb::optimizer opt(ebb::adam{.lr = 1e-3}, w, std::tie(b, c), layers);   loss.backward();  opt.step();  opt.zero_grad();
/// Parameters are variables, and tuples, vectors and structs of them. For different hyperparameters use two optimizers.
template <update_rule Rule>
class optimizer {
  static_assert(detail::is_complete<Rule>, "[ebb E0157] an update rule's function gives the parameter, then as many states as it says");

 public:
  /// Throws: error for variables that are not leaves, for a parameter that occurs twice, and for invalid hyperparameters.
  template <class... P>
    requires(sizeof...(P) > 0)
  explicit optimizer(const Rule& rule, const P&... p) : body_(std::make_shared<detail::rule_body<Rule>>()) {
    constexpr bool fits = (parameters<P> && ...);
    static_assert(fits, "[ebb E0140] ebb::optimizer: parameters are variables, and tuples, vectors and structs of them");
    detail::require_usable("ebb::optimizer", rule);
    body_->rule = rule;
    if constexpr (fits) each_variable([&]<class T, std::size_t... E>(const variable<T, E...>& v) { add<T>(v); }, p...);
  }

  /// The hyperparameters, to be read and changed between steps.
  Rule& rule() { return body_->rule; }
  const Rule& rule() const { return body_->rule; }

  /// Updates each parameter that has a gradient, in place. Parameters without one, and their states, are unchanged. Nothing is recorded.
  /// Saved values of a parameter are unchanged.
  /// Throws: error for invalid hyperparameters, std::bad_alloc; both before anything has changed.
  void step() {
    EBB_PROBE(const probe here({probed::optimizer, "ebb::optimizer::step"});)
    detail::require_usable("ebb::optimizer::step", rule());
    each_with_gradient([&](auto& slot, leaf& l) { slot.update->prepare(rule(), l, slot.state); });
    each_with_gradient([&](auto& slot, leaf& l) { slot.update->run(rule(), l, slot.state); });
  }
  /// Sets the gradients to undefined.
  void zero_grad() {
    for (const auto& l : leaves_) leaf_at(l).grad = {};
  }
  /// Updates each parameter in later backwards, as soon as its gradient is complete, and then sets the gradient to undefined: only a few
  /// gradients exist at a time. Post-accumulate hooks that are registered later see an undefined gradient. Removing a handle ends this for
  /// one parameter; dropping the optimizer does not.
  std::vector<hook_handle> step_in_backward() {
    std::vector<hook_handle> handles;
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      hook_list& h = hooks_of(*leaves_[i]);
      handles.emplace_back(h, h.add(hook_kind::post_accumulate, 0, update_hook(i)));
    }
    return handles;
  }
  /// The hook that updates one parameter in the backward, for callers that run it at another time than step_in_backward does.
  std::shared_ptr<hook> update_hook(std::size_t number) const {
    return std::make_shared<detail::rule_hook<Rule>>(body_, number, parameter(number).gradient_type);
  }

  /// The number of parameters, in all structures.
  std::size_t size() const { return leaves_.size(); }
  /// The state of one parameter; it has no arrays before its first step.
  const update_state& state(std::size_t number) const { return body_->slots[number].state; }
  const leaf& parameter(std::size_t number) const { return leaf_at(leaves_[number]); }

  /// The rule's name of an array that it keeps, or the array's number: see [note: update rules].
  static std::string state_name(std::size_t number) { return detail::name_of_state<Rule>(number); }
  /// Whether a parameter may have so many arrays.
  static bool may_keep(std::size_t arrays) { return detail::may_keep<Rule>(arrays); }
  /// Replaces the states of all parameters, in order.
  /// Throws: error if they are not as many as the parameters, or are none that the rule keeps of these; then nothing has changed.
  void set_states(std::vector<update_state> states) {
    bool fits = states.size() == size();
    for (std::size_t i = 0; fits && i < size(); ++i) {
      fits = may_keep(states[i].arrays.size());
      for (const storage& a : states[i].arrays) fits = fits && a.bytes() == detail::state_bytes(parameter(i));
    }
    if (!fits) raise("ebb::optimizer::set_states: these are no states of the parameters under this rule");
    set(std::move(states));
  }

  /// Writes the states to a binary stream: see [note: the file of an optimizer].
  /// Throws: error if writing fails.
  template <class Stream>
    requires requires(Stream& s, const char* bytes) { s.write(bytes, 1); }
  void save(Stream& to) const {
    const auto put = [&](const void* bytes, std::size_t n) {
      return static_cast<bool>(to.write(static_cast<const char*>(bytes), static_cast<std::ptrdiff_t>(n)));
    };
    if (!write(put)) raise("ebb::optimizer::save: the stream does not take what is written");
  }
  /// Reads a state that save wrote for parameters of the same dtypes and extents, and a rule with as many states.
  /// Throws: error for other content and for a truncated file; then nothing has changed.
  template <class Stream>
    requires requires(Stream& s, char* bytes) { s.read(bytes, 1); }
  void load(Stream& from) {
    set(read([&](void* bytes, std::size_t n) {
      return static_cast<bool>(from.read(static_cast<char*>(bytes), static_cast<std::ptrdiff_t>(n)));
    }));
  }
  /// The same with a file, which appears under its name only when it is complete: see write_file. Nothing may follow the states.
  void save(const std::string& path) const {
    const std::string problem = write_file(path, [&](open_file& file) {
      return write([&](const void* bytes, std::size_t n) { return file.write(bytes, n); });
    });
    if (!problem.empty()) raise("ebb::optimizer::save: " + path + ": " + problem);
  }
  void load(const std::string& path) {
    open_file file(path, "rb");
    if (!file) detail::raise_state_file(path + ": " + std::strerror(errno));
    auto states = read([&](void* bytes, std::size_t n) { return file.read(bytes, n); });
    if (file.remaining() != 0) detail::raise_state_file(path + ": there are bytes after the last parameter");
    set(std::move(states));
  }

 private:
  static leaf& leaf_at(const counted<vertex>& v) { return static_cast<leaf&>(*v); }

  template <class T, std::size_t... E>
  void add(const variable<T, E...>& v) {
    detail::add_parameter("ebb::optimizer", leaves_, v.history());
    body_->slots.push_back({&detail::update_for<Rule, T>(v.layout()), {}});
  }
  void each_with_gradient(auto&& f) {
    for (std::size_t i = 0; i < leaves_.size(); ++i)
      if (leaf& l = leaf_at(leaves_[i]); l.grad.defined) f(body_->slots[i], l);
  }

  bool write(auto&& put) const {
    detail::state_file_head h;
    h.parameters = static_cast<std::uint32_t>(size());
    bool good = put(&h, sizeof h);
    for (std::size_t i = 0; i < size() && good; ++i) good = detail::write_state(put, parameter(i), state(i));
    return good;
  }
  std::vector<update_state> read(auto&& get) const {
    detail::state_file_head found, own;
    if (!get(&found, sizeof found) || std::memcmp(found.magic, own.magic, sizeof own.magic) != 0)
      detail::raise_state_file("this is not what an ebb::optimizer has saved");
    if (found.version != own.version) detail::raise_state_file("version " + std::to_string(found.version) + " of the format is not known");
    if (found.parameters != size())
      detail::raise_state_file("the number of parameters is " + std::to_string(size()) + ", in the file " +
                               std::to_string(found.parameters));
    std::vector<update_state> states;
    for (std::size_t i = 0; i < size(); ++i) states.push_back(detail::read_state(get, detail::may_keep<Rule>, parameter(i), i));
    return states;
  }
  void set(std::vector<update_state> states) {
    for (std::size_t i = 0; i < size(); ++i) body_->slots[i].state = std::move(states[i]);
  }

  std::shared_ptr<detail::rule_body<Rule>> body_;
  std::vector<counted<vertex>> leaves_;
};

/// An optimizer that runs in the backward only, and its hooks.
template <class Rule>
struct optimizer_in_backward {
  ebb::optimizer<Rule> optimizer;
  std::vector<hook_handle> handles;
};

/// Updates the parameters during each backward that reaches them: see optimizer::step_in_backward.
///   auto [opt, handles] = ebb::optimize_in_backward(ebb::sgd{.lr = 0.1}, params);   opt.rule().lr = 0.01;
/// Source: the recipe of PyTorch's tutorial "How to save memory by fusing the optimizer step into the backward pass".
template <update_rule Rule, class... P>
  requires(sizeof...(P) > 0)
optimizer_in_backward<Rule> optimize_in_backward(const Rule& rule, const P&... p) {
  optimizer<Rule> opt(rule, p...);
  auto handles = opt.step_in_backward();
  return {std::move(opt), std::move(handles)};
}

}  // namespace ebb::inline EBB_ABI

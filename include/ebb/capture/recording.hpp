// ebb/capture/recording.hpp — the structure of one backward, without its objects: keys by which it is found again.
// SPDX-License-Identifier: BSL-1.0
//
// [note: what is structure]
//   keyed       programs of nodes, edges and sharing, which outputs are roots and which are asked for, hooks by kind and place, programs
//               of traced hooks, the dtype of a leaf's gradient and whether it has one, whether saved values went through hooks; the
//               options
//   never       hook objects, values bound to hooks, sizes, numbers, the arrays themselves
// Nodes are listed in the order in which they run. So a recording guides the walk that compares it with a graph: each edge says whether it
// leads to a new vertex, and to which number. Falling sequence numbers along that order prove two things at once: it is the order of a
// backward, and no two nodes are one. The walk writes nothing but the pass's own list of vertices.
#pragma once

#include "../autograd/derivation.hpp"
#include "../autograd/engine.hpp"
#include "../base/objects.hpp"

#include <cstdint>
#include <string>

namespace ebb::inline EBB_ABI {

/// One hook, or one gradient that is retained.
struct hook_key {
  hook_kind kind;
  bool retains = false, is_opaque = false;
  std::uint32_t output;
  const hook_program* program;  // null: it runs by itself

  bool is_inlined(int outputs, int edges) const { return program && may_be_merged(kind, *program, outputs, edges); }
  bool is_update() const { return kind == hook_kind::post_accumulate && program && program->is_update(); }

  bool operator==(const hook_key&) const = default;
};
/// The hooks of one vertex.
struct hook_keys {
  const hook_key *first, *last;

  const hook_key* begin() const { return first; }
  const hook_key* end() const { return last; }
  int size() const { return static_cast<int>(last - first); }
  const hook_key& operator[](int number) const { return first[number]; }
};

struct node_key {
  const node_program* program;
  int hooks = 0, hook_count = 0;  // among all
  std::uint16_t edges = 0, outputs = 0;
  bool is_packed = false;
  bool keeps = false;     // something that another backward may have released
  bool assumes = false;   // an autocast context
  bool is_plain = false;  // no hooks, nothing packed, no context assumed
};

struct leaf_key {
  dtype type, gradient_type;
  int hooks = 0, hook_count = 0;
  bool has_gradient = false;
};

/// One edge, one root, or one output that is asked for.
struct edge_key {
  std::int32_t to;  // -1: none
  std::uint16_t output;
  bool is_first = false, is_leaf = false;  // the first that leads there

  bool operator==(const edge_key&) const = default;
};

/// The options of a pass that decide how it runs.
struct pass_key {
  capture_options options;
  const higher_order* graph = nullptr;
  int context = 0;
  bool accumulates = true, restricted = false;

  /// Whether the backward of such nodes is a graph: of a segment, under its own policy, which this autocast context does not change.
  EBB_ONCE bool has_graph(const node_program& p) const {
    if (!p.graphs || is_replaced(p, options.backward_policy)) return false;
    return !p.graphs->follows || p.graphs->follows->wrong_in[context] < 0;
  }

  bool operator==(const pass_key&) const = default;
};
EBB_ONCE pass_key key_of(const backward_pass& pass) {
  const pass_options& o = pass.options();
  return {static_cast<const capturing_engine*>(o.engine)->options, o.graph, current_context(), o.accumulates, o.restricted};
}

namespace detail {

/// Other threads may add to the gradient meanwhile, or clear it.
EBB_INLINE bool has_gradient(const leaf& l) {
  const exclusive alone(const_cast<leaf&>(l));
  return l.grad.defined;
}

/// Another thread may release the node meanwhile.
EBB_INLINE bool is_packed(const node& n) { return n.packed.load(std::memory_order_relaxed) != nullptr; }

/// The program of a hook in this autocast context: null if the hook runs by itself.
EBB_ONCE const hook_program* program_in(int context, const hook& h) {
  const hook_program* const p = h.traced();
  return p && context && p->depends_on_context ? nullptr : p;
}
/// f(kind, output, hook) for each hook of v, then, without one, for each gradient that is retained, until it says false.
EBB_INLINE bool each_hook(const vertex& v, auto&& f) {
  if (!v.hooks) return true;
  for (const hook_list::entry& e : v.hooks->entries)
    if (e.call && !f(e.kind, e.output, e.call.get())) return false;
  for (std::uint32_t o = 0; o < v.hooks->retained.size(); ++o)
    if (v.hooks->retained[o].on && !f(hook_kind::tensor, o, nullptr)) return false;
  return true;
}

}  // namespace detail

class recording {
 public:
  /// The pass has walked its graph.
  EBB_ONCE_CTOR explicit recording(backward_pass& pass) : key_(key_of(pass)) {
    walk& w = pass.vertices();
    vec<int> number(w.size(), -1);  // in the recording, of each visit
    const auto take = [&](int visited) {
      const visit& v = w.at(visited);
      number[visited] = known_.visits.push({nullptr, known_.gradients, 0, v.waiting, v.outputs, v.needed, v.wanted, v.widens});
      known_.gradients += v.outputs;
    };
    for (int i : w.order()) take(i);
    nodes_.reserve(w.order().size());
    for (int i : w.order()) take_node(w, i);
    vec<char> met(w.size(), 0);
    const auto endpoint_key = [&](const endpoint& e) -> edge_key {
      if (e.number < 0) return {-1, static_cast<std::uint16_t>(e.output)};
      if (number[e.number] < 0) take(e.number);
      return edge_to(w, e.number, e.output, number, met);
    };
    for (const endpoint& r : w.roots()) roots_.push(endpoint_key(r));
    for (int i : w.order()) {
      const visit& v = w.at(i);
      const node& n = w.node_at(i);
      known_.visits[number[i]].edges = edges_.size();
      for (int j = 0; j < n.program->edges; ++j) {
        const int to = w.target(v, j);
        if (to < 0) edges_.push({-1, 0});
        else {
          if (number[to] < 0) take(to);
          edges_.push(edge_to(w, to, n.edges()[j].output, number, met));
        }
        known_.targets.push(edges_.back().to);
      }
    }
    for (const endpoint& r : w.wishes()) wishes_.push(endpoint_key(r));
    leaves_ = vec<leaf_key>(known_.visits.size() - nodes(), leaf_key{});
    for (int i = 0; i < w.size(); ++i)
      if (w.at(i).at->is_leaf) take_leaf(static_cast<const leaf&>(*w.at(i).at), number[i] - nodes());
  }

  int nodes() const { return nodes_.size(); }
  int leaves() const { return leaves_.size(); }
  /// How many gradients there are: outputs of all vertices.
  int slots() const { return known_.gradients; }
  const node_key& node_at(int i) const { return nodes_[i]; }
  /// The numbers of leaves follow those of nodes.
  const leaf_key& leaf_at(int number) const { return leaves_[number - nodes()]; }
  bool is_leaf(int number) const { return number >= nodes(); }
  const visit& visit_at(int number) const { return known_.visits[number]; }
  const edge_key& edge_at(int node, int j) const { return edges_[visit_at(node).edges + j]; }
  const vec<edge_key>& roots() const { return roots_; }
  const vec<edge_key>& wishes() const { return wishes_; }
  hook_keys hooks_of(int number) const {
    const int first = is_leaf(number) ? leaf_at(number).hooks : node_at(number).hooks;
    const int count = is_leaf(number) ? leaf_at(number).hook_count : node_at(number).hook_count;
    return {hooks_.data() + first, hooks_.data() + first + count};
  }
  const pass_key& options() const { return key_; }

  // These decide what is merged, see [note: what is merged].
  /// Whether the backward of node i can be looked into: it is a graph, no hook has taken its saved values, and it has not been
  /// differentiated twice.
  EBB_ONCE bool is_open(int i) const {
    const node_key& k = node_at(i);
    return key_.has_graph(*k.program) && !k.is_packed && visit_at(i).outputs == k.program->outputs;
  }
  /// Whether the rest of what happens at node i can be looked into, too: its hooks are traced, or retain a gradient.
  EBB_ONCE bool is_chainable(int i) const {
    if (!visit_at(i).needed || !is_open(i)) return false;
    for (int j = 0; j < node_at(i).program->edges; ++j)  // a chain has one dtype
      if (const int to = edge_at(i, j).to; to >= 0 && visit_at(to).widens) return false;
    if (node_at(i).hook_count == 0) return true;
    for (const hook_key& h : hooks_of(i))
      if (!h.retains && !h.is_inlined(visit_at(i).outputs, node_at(i).program->edges)) return false;
    return true;
  }
  /// Whether a leaf's gradient is accumulated, and all that happens there is traced.
  EBB_ONCE bool is_traced(int leaf) const {
    for (const hook_key& h : hooks_of(leaf))
      if (!h.is_inlined(1, 0) && !h.is_update()) return false;
    return key_.accumulates && visit_at(leaf).needed && !visit_at(leaf).wanted;
  }
  /// Whether the user's code runs at a leaf: nothing that comes later may have run then.
  bool is_observed(int leaf) const { return leaf_at(leaf).hook_count > 0 && !is_traced(leaf); }

  /// How many bytes the keys of a vertex have: PyTorch's log calls that key size.
  EBB_ONCE std::size_t key_size(int number) const {
    if (is_leaf(number)) return sizeof(leaf_key) + static_cast<std::size_t>(leaf_at(number).hook_count) * sizeof(hook_key);
    const node_key& k = node_at(number);
    return sizeof(node_key) + k.program->edges * sizeof(edge_key) + static_cast<std::size_t>(k.hook_count) * sizeof(hook_key);
  }

  /// Whether the pass, which has roots and wishes, has this structure: then it has the vertices, in this numbering, and need not walk.
  EBB_ONCE_APART bool match(backward_pass& pass) const {
    walk& w = pass.vertices();
    if (!(key_of(pass) == key_) || w.roots().size() != roots_.size() || w.wishes().size() != wishes_.size()) return false;
    visit* const v = w.adopt(known_);
    if (fits(w, v)) return true;
    w.abandon();
    return false;
  }

 private:
  EBB_ONCE void take_node(walk& w, int i) {
    const node& n = w.node_at(i);
    const node_program& p = *n.program;
    node_key k{&p, hooks_.size(), 0, p.edges, n.outputs, detail::is_packed(n), p.saved > 0 || p.release, p.assumed != nullptr};
    k.hook_count = take_hooks(n);
    k.is_plain = k.hook_count == 0 && !k.is_packed && !k.assumes;
    nodes_.push(k);
  }
  EBB_ONCE void take_leaf(const leaf& l, int number) {
    leaf_key k{l.type, l.gradient_type, hooks_.size(), 0, detail::has_gradient(l)};
    k.hook_count = take_hooks(l);
    leaves_[number] = k;
  }
  EBB_ONCE int take_hooks(const vertex& v) {
    const int before = hooks_.size();
    detail::each_hook(v, [&](hook_kind kind, std::uint32_t output, const hook* h) {
      if (h) hooks_.push({kind, false, h->is_opaque(), output, detail::program_in(key_.context, *h)});
      else hooks_.push({kind, true, false, output, nullptr});
      return true;
    });
    return hooks_.size() - before;
  }
  EBB_ONCE static edge_key edge_to(const walk& w, int visited, std::uint32_t output, const vec<int>& number, vec<char>& met) {
    const int i = visited;
    return {number[i], static_cast<std::uint16_t>(output), !std::exchange(met[i], 1), w.at(visited).at->is_leaf};
  }

  EBB_INLINE bool fits(walk& w, visit* v) const {
    const auto arrive = [v](const edge_key& k, vertex* to, std::uint32_t output) {
      if (!to) return k.to < 0;
      if (!k.is_first) return k.to >= 0 && v[k.to].at == to && k.output == output;
      v[k.to].at = to;
      return k.output == output && k.is_leaf == to->is_leaf;
    };
    for (int i = 0; i < roots_.size(); ++i) {
      endpoint& r = w.roots()[i];
      if (!arrive(roots_[i], r.at.get(), r.output)) return false;
      r.number = roots_[i].to;
    }
    std::uint64_t before = ~std::uint64_t{0};
    const edge_key* k = edges_.data();
    const visit* at = v;
    for (const node_key& key : nodes_) {
      const node& n = static_cast<const node&>(*(at++)->at);
      n.fetch_ahead();
      if (n.program != key.program || n.sequence >= before) return false;
      before = n.sequence;
      for (const edge *e = n.edges(), *end = e + key.edges; e != end; ++e, ++k)
        if (!arrive(*k, e->to, e->output)) return false;
      if (!agrees(n, key)) return false;
    }
    for (const leaf_key& key : leaves_)
      if (!agrees(static_cast<const leaf&>(*(at++)->at), key)) return false;
    return (leaves_.size() < 2 || are_distinct(v + nodes())) && (wishes_.empty() || find_wishes(w, v));
  }
  /// Compares the rest of a node. A node that would be refused does not agree: a walk refuses it.
  EBB_INLINE bool agrees(const node& n, const node_key& k) const {
    if (n.outputs.load(std::memory_order_relaxed) != k.outputs || (k.keeps & n.released.load(std::memory_order_relaxed))) return false;
    if (k.is_plain && !n.hooks && !detail::is_packed(n)) [[likely]] return true;
    return agrees_in_all(n, k);  // a node that had hooks may have none left
  }
  EBB_ONCE_APART bool agrees_in_all(const node& n, const node_key& k) const {
    if (detail::is_packed(n) != k.is_packed) return false;
    if (k.assumes && k.program->assumed->wrong_in[key_.context] >= 0) return false;
    return have_hooks(n, k.hooks, k.hook_count);
  }
  EBB_INLINE bool agrees(const leaf& l, const leaf_key& k) const {
    if (detail::has_gradient(l) != k.has_gradient || l.type != k.type || l.gradient_type != k.gradient_type) return false;
    return l.hooks ? have_hooks(l, k.hooks, k.hook_count) : k.hook_count == 0;
  }
  EBB_ONCE_APART bool have_hooks(const vertex& v, int first, int count) const {
    const hook_key *k = hooks_.data() + first, *const end = k + count;
    const bool all = detail::each_hook(v, [&](hook_kind kind, std::uint32_t output, const hook* h) EBB_LAMBDA {
      if (k == end || k->kind != kind || k->output != output || k->retains == (h != nullptr)) return false;
      const hook_key& known = *k++;  // hooks with one program are opaque or not alike
      return !h || (detail::program_in(key_.context, *h) == known.program && (known.program || h->is_opaque() == known.is_opaque));
    });
    return all && k == end;
  }
  /// No two leaves are one.
  [[gnu::noinline]] bool are_distinct(const visit* v) const {
    const int n = leaves();
    if (n <= 8) {
      for (int i = 1; i < n; ++i)
        for (int j = 0; j < i; ++j)
          if (v[i].at == v[j].at) return false;
      return true;
    }
    static thread_local objects<const vertex*> table;
    const auto mask = std::bit_ceil(static_cast<std::size_t>(n) * 2) - 1;
    table.assign(mask + 1, nullptr);
    for (int i = 0; i < n; ++i) {
      std::size_t at = reinterpret_cast<std::uintptr_t>(v[i].at) / 64 * 0x9E3779B97F4A7C15u >> 20 & mask;
      for (; table[at]; at = (at + 1) & mask)
        if (table[at] == v[i].at) return false;
      table[at] = v[i].at;
    }
    return true;
  }
  EBB_ONCE_APART bool find_wishes(walk& w, const visit* v) const {
    for (int i = 0; i < wishes_.size(); ++i) {
      endpoint& e = w.wishes()[i];
      const edge_key& k = wishes_[i];
      if (k.output != e.output) return false;
      if (k.to < 0) {  // it is not among the vertices
        for (int j = 0; j < nodes() + leaves(); ++j)
          if (v[j].at == e.at.get()) return false;
      } else if (v[k.to].at != e.at.get()) return false;
      e.number = k.to;
    }
    return true;
  }

  pass_key key_;
  known_walk known_;
  vec<node_key> nodes_;
  vec<leaf_key> leaves_;
  vec<hook_key> hooks_;
  vec<edge_key> edges_, roots_, wishes_;
};

}  // namespace ebb::inline EBB_ABI

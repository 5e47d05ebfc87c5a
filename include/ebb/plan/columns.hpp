// ebb/plan/columns.hpp — loads of columns that lie side by side, which a step loads once.
// SPDX-License-Identifier: BSL-1.0
//
// [note: columns side by side]
// Loads of columns that lie side by side in one array, as the elements of its rows, read the same registers: these are loaded once, and
// each column is chosen from them. Rows have two to four elements. The first and the last of these are columns, so that no element outside
// of the array is read.
#pragma once

#include "../graph/graph.hpp"
#include "step.hpp"

namespace ebb::inline EBB_ABI::detail {

class column_finder {
 public:
  constexpr column_finder(const graph& g, plan& p) : g_(g), p_(p) {}

  EBB_COLD constexpr void run() {
    for (const nest& n : p_.nests)
      if (n.loops > 0) find_groups(n);
  }

 private:
  /// A column: the elements of a static number before it in its array. Below 0: the load reads no column.
  EBB_COLD constexpr std::int64_t before_column(const nest& n, const nest_load& e) const {
    if (e.source != nest_load::from::array || e.view < 0) return -1;
    const extent_product& apart = p_.views[e.view].along[n.loops - 1];
    const plan_buffer& b = p_.buffers[e.buffer];
    if (apart.symbols[0] != 0 || apart.factor < 2 || apart.factor > nest_columns::most) return -1;
    if (b.is != plan_buffer::role::part || b.at.from != part_place::counted::from_start) return -1;
    const shape& own = g_.shapes[b.at.shape];
    std::int64_t r = b.at.rows;
    for (int a = b.at.axis + 1; a < own.rank && r > 0; ++a) r *= own.e[a];
    for (int t = 0; b.view >= 0 && t < p_.views[b.view].terms && r >= 0; ++t) {
      const extent_product& x = p_.views[b.view].offset[t];
      r = x.symbols[0] == 0 ? r + x.factor : -1;
    }
    return r;
  }
  /// Whether two columns are parts of one array that differ in nothing but their beginning.
  constexpr bool are_of_one_array(const nest& n, const nest_load& x, const nest_load& y) const {
    const plan_buffer &a = p_.buffers[x.buffer], &b = p_.buffers[y.buffer];
    if (x.to.type != y.to.type || a.whole != b.whole || a.at.axis != b.at.axis) return false;
    for (int l = 0; l < n.loops; ++l)
      if (!(p_.views[x.view].along[l] == p_.views[y.view].along[l])) return false;
    return true;
  }
  EBB_COLD constexpr void find_groups(const nest& n) {
    before_ = vec<std::int64_t>(n.loads.count, -1);
    bool any = false;
    for (int i = 0; i < n.loads.count; ++i) {
      before_[i] = before_column(n, p_.loads[n.loads.first + i]);
      any = any || before_[i] >= 0;
    }
    for (int i = 0; any && i < n.loads.count; ++i)
      if (before_[i] >= 0 && p_.loads[n.loads.first + i].columns < 0) find_group(n, i);
  }
  /// The group of load i and later ones.
  EBB_COLD constexpr void find_group(const nest& n, int i) {
    nest_load* const loads = p_.loads.data() + n.loads.first;
    nest_columns g;
    g.step = static_cast<int>(p_.views[loads[i].view].along[n.loops - 1].factor);
    const std::int64_t own = before_[i];
    const auto is_near = [&](int k) {
      const std::int64_t other = before_[k];
      return other >= 0 && other > own - g.step && other < own + g.step && are_of_one_array(n, loads[i], loads[k]);
    };
    std::int64_t first = own;
    for (int k = 0; k < n.loads.count; ++k)
      if (before_[k] < first && is_near(k)) first = before_[k];
    for (int k = n.loads.count; k-- > i;)
      if (const std::int64_t place = before_[k] - first; place >= 0 && place < g.step && is_near(k)) g.load[place] = k;
    if (g.load[0] < 0 || g.load[g.step - 1] < 0) return;
    const int number = p_.columns.push(g);
    for (const int k : g.load)
      if (k >= 0) loads[k].columns = number;
  }

  const graph& g_;
  plan& p_;
  vec<std::int64_t> before_;  // of each load of a nest
};

}  // namespace ebb::inline EBB_ABI::detail

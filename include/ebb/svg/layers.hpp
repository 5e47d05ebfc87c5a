// ebb/svg/layers.hpp — places boxes and arrows in layers, so that arrows go down and few of them cross.
// SPDX-License-Identifier: BSL-1.0
//
// [note: a drawing in layers]
// Sugiyama's method, in whole numbers, so that every machine draws the same picture:
//   1. A box is one layer below the lowest box that points to it. A box to which none points is just above the first that it points to.
//   2. An arrow over several layers gets a point in each layer between, so that it does not cross boxes.
//   3. In each layer boxes and points are sorted by the mean place of their neighbours, downwards and upwards in turn. The order with the
//      fewest crossings is kept.
//   4. Each moves to the mean of its neighbours, as far as the order and the widths allow.
// An arrow that would close a cycle does not decide a layer.
#pragma once

#include "../base/vec.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace ebb::inline EBB_ABI::detail {

/// A box to be placed: its size is given, its place is found. A point of a long arrow has no size.
struct placed_box {
  int width = 0, height = 0;
  int x = 0, y = 0;  // of the upper left corner
  int layer = 0;
};
/// An arrow, and the places that it goes through: boxes or points, by number.
struct placed_arrow {
  int from = 0, to = 0;
  vec<int> through;
};

class layered_drawing {
 public:
  static constexpr int margin = 16, beside = 24, between = 44, of_point = 12;

  int add_box(int width, int height) { return boxes_.push({width, height}); }
  /// An arrow from a box to itself is left out, and so is one that is there already.
  EBB_COLD void add_arrow(int from, int to) {
    if (from == to) return;
    for (const placed_arrow& a : arrows_)
      if (a.from == from && a.to == to) return;
    arrows_.push({from, to, {}});
  }

  EBB_COLD void place() {
    given_ = boxes_.size();
    find_layers();
    add_points();
    sort_layers();
    move_across();
    move_down();
  }
  const vec<placed_arrow>& arrows() const { return arrows_; }
  const placed_box& box(int i) const { return boxes_[i]; }
  int width() const { return width_; }
  int height() const { return height_; }

 private:
  EBB_COLD void find_layers() {
    const int n = boxes_.size();
    vec<int> waits(n, 0), order;
    vec<char> taken(n, 0);
    for (const placed_arrow& a : arrows_) ++waits[a.to];
    while (order.size() < n) {
      int next = -1;
      for (int i = 0; i < n; ++i)
        if (!taken[i] && (next < 0 || (waits[i] <= 0 && waits[next] > 0))) next = i;  // in a cycle, the first box
      taken[next] = 1;
      order.push(next);
      for (const placed_arrow& a : arrows_)
        if (a.from == next && !taken[a.to]) {
          --waits[a.to];
          boxes_[a.to].layer = std::max(boxes_[a.to].layer, boxes_[next].layer + 1);
        }
    }
    vec<char> has_source(n, 0);
    for (const placed_arrow& a : arrows_) has_source[a.to] = 1;
    for (int i = 0; i < n; ++i) {
      if (has_source[i]) continue;
      int first = -1;
      for (const placed_arrow& a : arrows_)
        if (a.from == i && (first < 0 || boxes_[a.to].layer < first)) first = boxes_[a.to].layer;
      if (first > 0) boxes_[i].layer = first - 1;
    }
    for (const placed_box& b : boxes_) layers_ = std::max(layers_, b.layer + 1);
  }
  EBB_COLD void add_points() {
    for (placed_arrow& a : arrows_) {
      const int last = boxes_[a.to].layer, step = last > boxes_[a.from].layer ? 1 : -1;
      a.through.push(a.from);
      for (int l = boxes_[a.from].layer + step; l != last && last != boxes_[a.from].layer; l += step) {
        placed_box point;
        point.layer = l;
        a.through.push(boxes_.push(point));
      }
      a.through.push(a.to);
    }
    above_ = below_ = vec<vec<int>>(boxes_.size(), {});
    for (const placed_arrow& a : arrows_)
      for (int i = 1; i < a.through.size(); ++i) {
        int up = a.through[i - 1], down = a.through[i];
        if (boxes_[up].layer > boxes_[down].layer) std::swap(up, down);
        above_[down].push(up);
        below_[up].push(down);
      }
    rows_ = vec<vec<int>>(layers_, {});
    for (int i = 0; i < boxes_.size(); ++i) rows_[boxes_[i].layer].push(i);
    place_ = vec<int>(boxes_.size(), 0);
    number();
  }
  EBB_COLD void number() {
    for (const vec<int>& row : rows_)
      for (int i = 0; i < row.size(); ++i) place_[row[i]] = i;
  }
  EBB_COLD long crossings() const {
    long n = 0;
    for (int l = 0; l + 1 < layers_; ++l) {
      vec<std::pair<int, int>> lines;
      for (int up : rows_[l])
        for (int down : below_[up]) lines.push({place_[up], place_[down]});
      for (int i = 0; i < lines.size(); ++i)
        for (int j = 0; j < i; ++j)
          n += (lines[i].first - lines[j].first > 0) != (lines[i].second - lines[j].second > 0) && lines[i].first != lines[j].first &&
               lines[i].second != lines[j].second;
    }
    return n;
  }
  EBB_COLD void sort_layers() {
    constexpr int sweeps = 12;
    vec<vec<int>> best = rows_;
    long fewest = crossings();
    for (int s = 0; s < sweeps && fewest > 0; ++s) {
      const bool down = s % 2 == 0;
      for (int k = 1; k < layers_; ++k) {
        const int l = down ? k : layers_ - 1 - k;
        sort_row(rows_[l], down ? above_ : below_);
      }
      if (const long n = crossings(); n < fewest) {
        fewest = n;
        best = rows_;
      }
    }
    rows_ = best;
    number();
  }
  /// A box without neighbours keeps its place.
  EBB_COLD void sort_row(vec<int>& row, const vec<vec<int>>& neighbours) {
    vec<std::pair<std::int64_t, int>> keys;  // each with its place in the row: boxes with equal keys keep their order
    for (int i = 0; i < row.size(); ++i) {
      const int b = row[i];
      const int count = neighbours[b].size();
      std::int64_t sum = 0;
      for (int other : neighbours[b]) sum += place_[other];
      keys.push({count ? sum * 1024 / count : std::int64_t{place_[b]} * 1024, i});
    }
    std::sort(keys.begin(), keys.end());
    const vec<int> before = row;
    for (int i = 0; i < row.size(); ++i) {
      row[i] = before[keys[i].second];
      place_[row[i]] = i;
    }
  }

  int gap(int left, int right) const { return left < given_ && right < given_ ? beside : of_point; }
  int middle(int b) const { return boxes_[b].x + boxes_[b].width / 2; }
  EBB_COLD void move_across() {
    for (const vec<int>& row : rows_) {
      int x = 0;
      for (int i = 0; i < row.size(); ++i) {
        if (i > 0) x += gap(row[i - 1], row[i]);
        boxes_[row[i]].x = x;
        x += boxes_[row[i]].width;
      }
    }
    constexpr int sweeps = 10;
    for (int s = 0; s < sweeps; ++s) {
      const bool down = s % 2 == 0;
      for (int k = 0; k < layers_; ++k) {
        const int l = down ? k : layers_ - 1 - k;
        move_row(rows_[l], down ? above_ : below_);
      }
    }
    int left = 0;
    for (int i = 0; i < boxes_.size(); ++i) left = i == 0 ? boxes_[i].x : std::min(left, boxes_[i].x);
    for (placed_box& b : boxes_) {
      b.x += margin - left;
      width_ = std::max(width_, b.x + b.width + margin);
    }
  }
  /// To the middle of the places that it could have if it yielded to the left and to the right only.
  EBB_COLD void move_row(const vec<int>& row, const vec<vec<int>>& neighbours) {
    const int n = row.size();
    vec<int> right(n, 0), left(n, 0);
    for (int i = 0; i < n; ++i) {
      const int b = row[i];
      const int count = neighbours[b].size();
      std::int64_t sum = 0;
      for (int other : neighbours[b]) sum += middle(other);
      right[i] = left[i] = count ? static_cast<int>(sum / count) - boxes_[b].width / 2 : boxes_[b].x;
    }
    for (int i = 1; i < n; ++i) right[i] = std::max(right[i], right[i - 1] + boxes_[row[i - 1]].width + gap(row[i - 1], row[i]));
    for (int i = n - 1; i-- > 0;) left[i] = std::min(left[i], left[i + 1] - boxes_[row[i]].width - gap(row[i], row[i + 1]));
    // Both keep the distances. So does their mean; rounding it could take one away, which the second loop gives back.
    for (int i = 0; i < n; ++i) boxes_[row[i]].x = (right[i] + left[i]) / 2;
    for (int i = 1; i < n; ++i) {
      const placed_box& before = boxes_[row[i - 1]];
      boxes_[row[i]].x = std::max(boxes_[row[i]].x, before.x + before.width + gap(row[i - 1], row[i]));
    }
  }
  EBB_COLD void move_down() {
    int y = margin;
    for (const vec<int>& row : rows_) {
      int tallest = 0;
      for (int b : row) tallest = std::max(tallest, boxes_[b].height);
      for (int b : row) {
        if (b >= given_) boxes_[b].height = tallest;  // a point goes straight through its layer
        boxes_[b].y = y;
      }
      y += tallest + between;
    }
    height_ = std::max(y - between + margin, 2 * margin);
  }

  vec<placed_box> boxes_;  // first the given ones, then points of long arrows
  vec<placed_arrow> arrows_;
  vec<vec<int>> above_, below_, rows_;
  vec<int> place_;  // in its row
  int given_ = 0, layers_ = 0, width_ = 2 * margin, height_ = 0;
};

}  // namespace ebb::inline EBB_ABI::detail

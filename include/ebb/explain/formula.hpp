// ebb/explain/formula.hpp — a number of bytes, elements or operations as a formula of extents: 256*n + 4*m.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../graph/print.hpp"
#include "../plan/work.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace ebb::inline EBB_ABI {

/// A sum of products of extents that are known at the call only. If all extents are known it is a number.
class formula {
 public:
  formula() = default;
  EBB_COLD_CTOR formula(double number) {
    if (number != 0) terms_[{}] = number;
  }
  EBB_COLD static formula named(const std::string& extent) {
    formula f;
    f.terms_[{extent}] = 1;
    return f;
  }

  EBB_COLD formula& operator+=(const formula& other) {
    for (const auto& [factors, times] : other.terms_)
      if ((terms_[factors] += times) == 0) terms_.erase(factors);
    return *this;
  }
  friend formula operator+(formula a, const formula& b) { return a += b; }
  EBB_COLD friend formula operator*(const formula& a, const formula& b) {
    formula r;
    for (const auto& [x, times] : a.terms_)
      for (const auto& [y, other] : b.terms_) {
        std::vector<std::string> factors = x;
        factors.insert(factors.end(), y.begin(), y.end());
        std::sort(factors.begin(), factors.end(), is_before);
        formula one;
        one.terms_[factors] = times * other;
        r += one;
      }
    return r;
  }

  bool is_number() const { return terms_.empty() || (terms_.size() == 1 && terms_.begin()->first.empty()); }
  /// Requires is_number().
  double number() const { return terms_.empty() ? 0 : terms_.begin()->second; }
  bool operator==(const formula&) const = default;

  /// `256*n + 12`: products of more extents first.
  EBB_COLD std::string text() const {
    if (terms_.empty()) return "0";
    std::vector<std::pair<std::vector<std::string>, double>> sorted(terms_.begin(), terms_.end());
    std::sort(sorted.begin(), sorted.end(), [](const auto& x, const auto& y) {
      const auto &a = x.first, &b = y.first;
      return a.size() != b.size() ? a.size() > b.size() : std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), is_before);
    });
    std::string s;
    for (const auto& [factors, times] : sorted) {
      s += s.empty() ? (times < 0 ? "-" : "") : times < 0 ? " - " : " + ";
      std::string product = std::abs(times) == 1 && !factors.empty() ? "" : short_text(std::abs(times));
      for (const std::string& f : factors) product += (product.empty() ? "" : "*") + f;
      s += product;
    }
    return s;
  }
  /// `256*n bytes`, or `2.3 MB`.
  EBB_COLD std::string bytes() const {
    if (!is_number() || number() < 10000) return text() + (is_number() && number() == 1 ? " byte" : " bytes");
    constexpr const char* units[] = {" kB", " MB", " GB", " TB"};
    return scaled(units, 4);
  }
  /// `64*n operations`, or `2.3 million operations`.
  EBB_COLD std::string operations() const {
    if (!is_number() || number() < 1e6) return text() + (is_number() && number() == 1 ? " operation" : " operations");
    constexpr const char* units[] = {" thousand operations", " million operations", " billion operations", " trillion operations"};
    return scaled(units, 4);
  }

 private:
  /// The order of letters_of_extent.
  EBB_COLD static bool is_before(const std::string& a, const std::string& b) {
    const auto place = [](const std::string& s) { return std::string("nmkpqrstuvw").find(s[0]); };
    return a.size() != b.size() ? a.size() < b.size() : place(a) != place(b) ? place(a) < place(b) : a < b;
  }
  EBB_COLD static std::string short_text(double x) {
    char text[40];
    std::snprintf(text, sizeof text, x == std::floor(x) && x < 1e15 ? "%.0f" : "%.4g", x);
    return text;
  }
  EBB_COLD std::string scaled(const char* const* units, int count) const {
    double x = number() / 1000;
    int unit = 0;
    for (; x >= 999.5 && unit + 1 < count; ++unit) x /= 1000;
    char text[40];
    std::snprintf(text, sizeof text, x < 9.995 ? "%.2f" : x < 99.95 ? "%.1f" : "%.0f", x);
    return text + std::string(units[unit]);
  }

  std::map<std::vector<std::string>, double> terms_;
};

/// Bytes and operations of a step as formulas.
struct formula_work {
  formula read, written, operations;

  EBB_COLD formula_work& operator+=(const formula_work& more) {
    read += more.read;
    written += more.written;
    operations += more.operations;
    return *this;
  }
};

/// The extents of a graph as formulas.
class extent_formulas {
 public:
  /// `known` has the extents of arguments, by symbol; one that it lacks is called n, m, k...
  EBB_COLD_CTOR extent_formulas(const graph& g, const std::map<int, formula>& known) : g_(g) {
    int count = 0;
    for (int s = 0; s < g.syms.count(); ++s) {
      const extent_origin& o = g.syms.origin(s);
      formula f;
      if (o.rule != extent_rule::argument) f = derived(o);
      else if (g.syms.find(~s) == ~s) {
        const auto found = known.find(s);
        const std::string name = letters_of_extent(count++);
        f = found != known.end() ? found->second : formula::named(name);
      }
      of_.push_back(f);
    }
  }

  EBB_COLD formula of(int extent) const {
    extent = g_.syms.find(extent);
    return extent >= 0 ? formula(extent) : of_[static_cast<std::size_t>(~extent)];
  }
  /// The number of elements.
  EBB_COLD formula volume(const shape& s) const {
    formula r(1);
    for (int a = 0; a < s.rank; ++a) r = r * of(s.e[a]);
    return r;
  }
  EBB_COLD formula bytes(const shape& s, dtype type) const { return volume(s) * formula(static_cast<double>(size_of(type))); }
  /// `[n, 64]`
  EBB_COLD std::string text(const shape& s) const {
    std::string r = "[";
    for (int a = 0; a < s.rank; ++a) r += (a ? ", " : "") + of(s.e[a]).text();
    return r + ']';
  }
  EBB_COLD formula_work work(const vec<work_term>& terms) const {
    formula_work r;
    for (const work_term& t : terms) {
      const formula n = volume(t.over) * of(t.times);
      r += {n * formula(t.each.read), n * formula(t.each.written), n * formula(t.each.operations)};
    }
    return r;
  }

 private:
  /// Its operands are older.
  EBB_COLD formula derived(const extent_origin& o) const {
    const formula a = of(o.a), b = of(o.b);
    switch (o.rule) {
      case extent_rule::sum: return a + b;
      case extent_rule::difference: case extent_rule::before: return a + formula(-1) * b;
      case extent_rule::after: return a + formula(-1) * b + formula(-1);
      case extent_rule::product: return a * b;
      default: break;
    }
    if (a.is_number() && b.is_number())
      return formula(static_cast<double>(
          apply(o.rule, static_cast<std::int64_t>(a.number()), static_cast<std::int64_t>(b.number()))));
    if (o.rule == extent_rule::root) return formula::named("ceil(sqrt(" + a.text() + "))");
    if (o.rule == extent_rule::remainder) return formula::named("(" + a.text() + " mod " + b.text() + ")");
    const bool least = o.rule == extent_rule::least;
    return formula::named((least ? "min(" : "ceil(") + a.text() + (least ? ", " : " / ") + b.text() + ")");
  }

  const graph& g_;
  std::vector<formula> of_;
};

}  // namespace ebb::inline EBB_ABI

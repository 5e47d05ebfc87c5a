// ebb/svg/curves.hpp — draws curves, such as losses over epochs, as an SVG picture.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "drawing.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

namespace ebb::inline EBB_ABI {

/// A curve through the points (1, values[0]), (2, values[1]), ... A value that is not finite leaves a gap; so does, on a logarithmic axis,
/// one that is not positive.
struct curve {
  std::string name;
  std::vector<double> values;
};
struct curve_axes {
  std::string x, y;  // the names of the axes
  bool logarithmic = false;  // the scale of the y axis
};

namespace detail {

class drawn_curves {
 public:
  EBB_COLD_CTOR drawn_curves(const std::vector<curve>& curves, const curve_axes& axes) : axes_(axes) {
    bool any = false;
    for (const curve& c : curves) {
      count_ = std::max(count_, c.values.size());
      for (double v : c.values) {
        if (!has_place(v)) continue;
        const double h = scaled(v);
        low_ = any ? std::min(low_, h) : h;
        high_ = any ? std::max(high_, h) : h;
        any = true;
      }
    }
    if (low_ == high_) {
      const double more = axes.logarithmic ? 1 : std::max(std::abs(low_) / 2, 0.5);
      low_ -= more;
      high_ += more;
    }
  }

  EBB_COLD std::string text(const std::vector<curve>& curves, const std::string& title) const {
    std::string s = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"720\" height=\"420\" viewBox=\"0 0 720 420\" "
                    "font-family=\"sans-serif\" font-size=\"13\">\n<title>" + xml_text(title) +
                    "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n" +
                    label(360, 24, "middle", title, " font-weight=\"bold\"");
    add_ticks(s);
    s += label((left + right) / 2, 408, "middle", axes_.x) + label(left, 44, "middle", axes_.y);
    int number = 0;
    for (const curve& c : curves) {
      constexpr const char* colours[] = {"#2563c9", "#d1501f", "#2b8a3e", "#8a3ab9", "#b08900", "#0b7a8a"};
      const std::string colour = colours[number % 6];
      std::string points;
      const auto end_line = [&] {
        if (points.empty()) return;
        s += "<polyline points=\"" + points + "\" fill=\"none\" stroke=\"" + colour + "\" stroke-width=\"2\" stroke-linecap=\"round\"/>\n";
        points.clear();
      };
      for (std::size_t i = 0; i < c.values.size(); ++i) {
        if (!has_place(c.values[i])) {
          end_line();
          continue;
        }
        const std::string point = tenths(x_of(static_cast<double>(i) + 1)) + ',' + tenths(y_of(scaled(c.values[i])));
        const bool is_alone = points.empty() && (i + 1 == c.values.size() || !has_place(c.values[i + 1]));
        points += (points.empty() ? "" : " ") + point + (is_alone ? " " + point : "");
      }
      end_line();
      const int y = top + 8 + 18 * number++;
      s += "<path d=\"M" + std::to_string(right - 150) + ' ' + std::to_string(y) + "h20\" stroke=\"" + colour +
           "\" stroke-width=\"2\"/>\n" + label(right - 124, y + 4, "start", c.name);
    }
    return s + "</svg>\n";
  }

 private:
  static constexpr int left = 70, right = 700, top = 56, bottom = 370;

  bool has_place(double v) const { return std::isfinite(v) && (!axes_.logarithmic || v > 0); }
  double scaled(double v) const { return axes_.logarithmic ? std::log10(v) : v; }
  double x_of(double number) const {
    return count_ < 2 ? (left + right) / 2.0 : left + (right - left) * (number - 1) / static_cast<double>(count_ - 1);
  }
  double y_of(double height) const { return bottom - (bottom - top) * (height - low_) / (high_ - low_); }
  /// x with one digit after the point, so that all machines write the same text.
  EBB_COLD static std::string tenths(double x) {
    char text[40];
    std::snprintf(text, sizeof text, "%.1f", x);
    return text;
  }
  EBB_COLD static std::string short_text(double x) {
    char text[40];
    std::snprintf(text, sizeof text, "%.6g", x);
    return text;
  }
  EBB_COLD static std::string label(int x, int y, const char* anchor, const std::string& what, const char* more = "") {
    return "<text x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) + "\" text-anchor=\"" + anchor + '"' + more + '>' +
           xml_text(what) + "</text>\n";
  }
  /// The distance between ticks: 1, 2 or 5 times a power of ten, with at most six steps in the range.
  EBB_COLD static double step_in(double range) {
    const double power = std::pow(10, std::floor(std::log10(range / 6)));
    for (double times : {1, 2, 5})
      if (range <= 6 * times * power) return times * power;
    return 10 * power;
  }
  EBB_COLD void add_ticks(std::string& s) const {
    const std::string l = std::to_string(left), r = std::to_string(right), b = std::to_string(bottom);
    const double range = high_ - low_;
    const auto tick = [&](double height, double value) {
      if (height < low_ - 1e-9 * range || height > high_ + 1e-9 * range) return;
      s += "<path d=\"M" + l + ' ' + tenths(y_of(height)) + 'H' + r + "\" stroke=\"#dde\"/>\n" +
           label(left - 6, static_cast<int>(y_of(height)) + 4, "end", short_text(value));
    };
    const double step = axes_.logarithmic ? std::max(1.0, std::ceil(step_in(range))) : step_in(range);
    const double lowest = std::floor(low_ / step);
    for (int i = 0; (lowest + i) * step <= high_ + 1e-9 * step; ++i) {
      const double n = lowest + i, height = n * step;
      if (!axes_.logarithmic) tick(n == 0 ? 0 : height, n == 0 ? 0 : height);  // not -0
      else
        for (double times : {1, 2, 5})
          if (times == 1 || range < 2) tick(height + std::log10(times), times * std::pow(10, height));
    }
    const auto numbers = static_cast<double>(std::max<std::size_t>(count_, 1));
    const double apart = std::max(1.0, step_in(std::max(numbers - 1, 1.0)));
    label_number(s, 1);
    for (int i = apart > 1 ? 1 : 2; i * apart <= numbers; ++i) label_number(s, i * apart);
    s += "<path d=\"M" + l + ' ' + std::to_string(top) + 'V' + b + 'H' + r + "\" fill=\"none\" stroke=\"#667\"/>\n";
  }
  EBB_COLD void label_number(std::string& s, double n) const {
    s += "<path d=\"M" + tenths(x_of(n)) + ' ' + std::to_string(bottom) + "v5\" stroke=\"#667\"/>\n" +
         label(static_cast<int>(x_of(n)), bottom + 20, "middle", short_text(n));
  }

  curve_axes axes_;
  std::size_t count_ = 0;
  double low_ = 0, high_ = 0;
};

}  // namespace detail

/// Curves with a common scale as an SVG picture.
///   std::ofstream("loss.svg") << ebb::to_svg({{"training", losses}}, "digits", {.x = "epoch", .y = "loss", .logarithmic = true});
EBB_COLD std::string to_svg(const std::vector<curve>& curves, const std::string& title, const curve_axes& axes = {}) {
  return detail::drawn_curves(curves, axes).text(curves, title);
}

}  // namespace ebb::inline EBB_ABI

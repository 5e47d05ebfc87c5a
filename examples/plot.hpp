// examples/plot.hpp — panels with lines, points and areas as an SVG picture, for the examples that draw one.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

/// A diagram: its axes fit what was drawn.
///   panel p("decay", "seconds", "volts");
///   p.points(t, measured, "measured");
///   p.line(t, fitted, "fitted");
///   std::ofstream("decay.svg") << picture({p});
class panel {
 public:
  panel(std::string title, std::string x, std::string y) : title_(std::move(title)), x_(std::move(x)), y_(std::move(y)) {}

  void line(const std::vector<double>& x, const std::vector<double>& y, const std::string& name = "", bool dashed = false) {
    add(dashed ? look::dashed : look::line, x, y, name);
  }
  void points(const std::vector<double>& x, const std::vector<double>& y, const std::string& name = "") { add(look::points, x, y, name); }
  /// The area between the line and y = 0.
  void area(const std::vector<double>& x, const std::vector<double>& y, const std::string& name = "") { add(look::area, x, y, name); }

  /// The panel as a part of a picture, with its corner at (left, top).
  std::string text(int left, int top) const {
    const frame f = place(left, top);
    std::string s = label(left + width / 2, top + 16, "middle", title_, " font-weight=\"bold\"") + axes(f);
    int named = 0;
    for (std::size_t i = 0; i < curves_.size(); ++i) {
      const curve& c = curves_[i];
      const std::string colour = colours[i % std::size(colours)];
      s += shape(f, c, colour);
      if (!c.name.empty()) {
        const int y = f.top + 10 + 15 * named++;
        s += "<rect x=\"" + tenths(f.right - 112) + "\" y=\"" + tenths(y - 5) + "\" width=\"12\" height=\"4\" fill=\"" + colour + "\"/>\n" +
             label(f.right - 96, y + 1, "start", c.name);
      }
    }
    return s;
  }

  static constexpr int width = 340, height = 250;

 private:
  enum class look { line, dashed, points, area };
  struct curve {
    look how;
    std::vector<double> x, y;
    std::string name;
  };
  struct frame {
    int left, right, top, bottom;
    double x0, x1, y0, y1;
    double x(double v) const { return left + (right - left) * (v - x0) / (x1 - x0); }
    double y(double v) const { return bottom - (bottom - top) * (v - y0) / (y1 - y0); }
  };
  static constexpr const char* colours[] = {"#2563c9", "#d1501f", "#2b8a3e", "#8a3ab9", "#b08900", "#0b7a8a"};

  void add(look how, const std::vector<double>& x, const std::vector<double>& y, const std::string& name) {
    curves_.push_back({how, x, y, name});
  }
  frame place(int left, int top) const {
    frame f{left + 52, left + width - 10, top + 38, top + height - 40, INFINITY, -INFINITY, INFINITY, -INFINITY};
    for (const curve& c : curves_) {
      for (const double v : c.x) f.x0 = std::min(f.x0, v), f.x1 = std::max(f.x1, v);
      for (const double v : c.y) f.y0 = std::min(f.y0, v), f.y1 = std::max(f.y1, v);
      if (c.how == look::area) f.y0 = std::min(f.y0, 0.0);
    }
    bool named = false;
    for (const curve& c : curves_) named = named || !c.name.empty();
    const double range = f.y1 - f.y0;
    f.y1 += (named ? 0.25 : 0.05) * range;
    if (f.y0 != 0) f.y0 -= 0.05 * range;
    return f;
  }
  static std::string shape(const frame& f, const curve& c, const std::string& colour) {
    std::string s, path;
    for (std::size_t i = 0; i < c.x.size(); ++i) {
      const std::string x = tenths(f.x(c.x[i])), y = tenths(f.y(c.y[i]));
      if (c.how == look::points) s += "<circle cx=\"" + x + "\" cy=\"" + y + "\" r=\"3\" fill=\"" + colour + "\"/>\n";
      path += (i ? "L" : "M") + x + ' ' + y;
    }
    if (c.how == look::points) return s;
    if (c.how == look::area) {
      const std::string ground = tenths(f.y(0));
      path += "L" + tenths(f.x(c.x.back())) + ' ' + ground + 'L' + tenths(f.x(c.x.front())) + ' ' + ground + 'Z';
      return "<path d=\"" + path + "\" fill=\"" + colour + "\" fill-opacity=\".3\"/>\n";
    }
    return "<path d=\"" + path + "\" fill=\"none\" stroke=\"" + colour + "\" stroke-width=\"1.5\"" +
           (c.how == look::dashed ? " stroke-dasharray=\"5 4\"" : "") + "/>\n";
  }
  std::string axes(const frame& f) const {
    std::string s;
    const double dx = step_in(f.x1 - f.x0), dy = step_in(f.y1 - f.y0);
    for (double n = std::ceil(f.x0 / dx - 1e-9); n * dx <= f.x1 + 1e-9 * dx; ++n) {
      const std::string x = tenths(f.x(n * dx));
      s += "<path d=\"M" + x + ' ' + std::to_string(f.bottom) + "v4\" stroke=\"#667\"/>\n" +
           label(f.x(n * dx), f.bottom + 17, "middle", short_text(n * dx));
    }
    for (double n = std::ceil(f.y0 / dy - 1e-9); n * dy <= f.y1 + 1e-9 * dy; ++n)
      s += "<path d=\"M" + std::to_string(f.left) + ' ' + tenths(f.y(n * dy)) + 'H' + std::to_string(f.right) + "\" stroke=\"#dde\"/>\n" +
           label(f.left - 5, f.y(n * dy) + 4, "end", short_text(n * dy));
    return s + "<path d=\"M" + std::to_string(f.left) + ' ' + std::to_string(f.top) + 'V' + std::to_string(f.bottom) + 'H' +
           std::to_string(f.right) + "\" fill=\"none\" stroke=\"#667\"/>\n" + label((f.left + f.right) / 2, f.bottom + 33, "middle", x_) +
           label(f.left, f.top - 6, "middle", y_);
  }
  /// The distance between ticks: 1, 2 or 5 times a power of ten, with at most six steps in the range.
  static double step_in(double range) {
    const double power = std::pow(10, std::floor(std::log10(range / 6)));
    for (const double times : {1, 2, 5})
      if (range <= 6 * times * power) return times * power;
    return 10 * power;
  }
  static std::string tenths(double x) {
    char text[40];
    std::snprintf(text, sizeof text, "%.1f", x);
    return text;
  }
  static std::string short_text(double x) {
    char text[40];
    std::snprintf(text, sizeof text, "%.6g", std::abs(x) < 1e-12 ? 0 : x);
    return text;
  }
  static std::string label(double x, double y, const char* anchor, const std::string& what, const char* more = "") {
    return "<text x=\"" + tenths(x) + "\" y=\"" + tenths(y) + "\" text-anchor=\"" + anchor + '"' + more + '>' + what + "</text>\n";
  }

  std::string title_, x_, y_;
  std::vector<curve> curves_;
};

/// Panels in rows.
inline std::string picture(const std::vector<panel>& panels, int columns = 2) {
  std::string s;
  int count = 0;
  for (const panel& p : panels) {
    s += p.text(count % columns * panel::width, count / columns * panel::height);
    ++count;
  }
  const std::string w = std::to_string(columns * panel::width), h = std::to_string((count + columns - 1) / columns * panel::height);
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + w + "\" height=\"" + h + "\" viewBox=\"0 0 " + w + ' ' + h +
         "\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n" + s + "</svg>\n";
}

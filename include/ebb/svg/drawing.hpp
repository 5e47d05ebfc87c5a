// ebb/svg/drawing.hpp — boxes of text and arrows as an SVG picture, which any browser shows.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "layers.hpp"

#include "../base/utf8.hpp"

#include <string>
#include <string_view>

namespace ebb::inline EBB_ABI {

namespace detail {

/// The number of bytes of the character that s begins with, or 0 if it is not UTF-8, or no character that XML allows.
EBB_COLD std::size_t character_at(std::string_view s) {
  const bool allowed = (static_cast<unsigned char>(s[0]) >= 0x20 || s[0] == '\t') && !s.starts_with("\xef\xbf\xbe") &&
                       !s.starts_with("\xef\xbf\xbf");
  return allowed ? utf8_length(s) : 0;
}
/// Text for XML. Bytes that XML does not allow become question marks.
EBB_COLD std::string xml_text(std::string_view s) {
  std::string text;
  while (!s.empty()) {
    const std::size_t count = character_at(s);
    if (count == 0) text += '?';
    else if (s[0] == '&') text += "&amp;";
    else if (s[0] == '<') text += "&lt;";
    else if (s[0] == '>') text += "&gt;";
    else if (s[0] == '"') text += "&quot;";
    else text += s.substr(0, count);
    s.remove_prefix(count ? count : 1);
  }
  return text;
}
EBB_COLD int characters_in(std::string_view s) {
  int n = 0;
  for (; !s.empty(); ++n) {
    const std::size_t count = character_at(s);
    s.remove_prefix(count ? count : 1);
  }
  return n;
}

}  // namespace detail

/// A picture of boxes with lines of text, and of arrows between boxes. The same boxes give the same bytes.   See [note: a drawing in
/// layers].
class svg_drawing {
 public:
  enum class look : std::uint8_t { box, plain, dashed };  // plain: text without a box

  /// Adds a box and returns its number. Heat: 0 to 1, the share of the time, which colours the box; negative: not known.
  EBB_COLD int add(const std::string& title, const vec<std::string>& lines, look l = look::box, double heat = -1) {
    int longest = detail::characters_in(title);
    for (const std::string& line : lines) longest = std::max(longest, detail::characters_in(line));
    const int count = lines.size() + !title.empty();
    texts_.push({title, lines, l, heat});
    return places_.add_box(longest * character + 2 * padding, std::max(count, 1) * line_height + 2 * padding);
  }
  void arrow(int from, int to) { places_.add_arrow(from, to); }

  /// The picture. Call it once, after the last box and arrow.
  EBB_COLD std::string text(const std::string& title) {
    places_.place();
    const std::string width = number(places_.width()), height = number(places_.height());
    std::string s = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + width + "\" height=\"" + height + "\" viewBox=\"0 0 " + width +
                    ' ' + height + "\" font-family=\"monospace\" font-size=\"13\">\n<title>" + detail::xml_text(title) +
                    "</title>\n<defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" "
                    "orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#667\"/></marker></defs>\n"
                    "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n<g fill=\"none\" stroke=\"#667\">\n";
    for (const detail::placed_arrow& a : places_.arrows()) s += path(a);
    s += "</g>\n";
    for (int i = 0; i < texts_.size(); ++i) s += box(i);
    return s + "</svg>\n";
  }

 private:
  static constexpr int character = 8, line_height = 17, padding = 8;
  struct box_text {
    std::string title;
    vec<std::string> lines;
    look is = look::box;
    double heat = -1;
  };

  static std::string number(int i) { return std::to_string(i); }
  static std::string point(int x, int y) { return number(x) + ' ' + number(y); }
  EBB_COLD std::string path(const detail::placed_arrow& a) const {
    std::string d;
    int x = 0, y = 0;
    for (int i = 0; i < a.through.size(); ++i) {
      const detail::placed_box& b = places_.box(a.through[i]);
      const bool is_down = i == 0 || places_.box(a.through[i - 1]).layer <= b.layer;
      const int middle = b.x + b.width / 2, to = is_down ? b.y : b.y + b.height;
      if (i == 0) d = "M" + point(middle, b.y + b.height);
      else {
        const int half = (to - y) / 2;
        d += "C" + point(x, y + half) + ' ' + point(middle, to - half) + ' ' + point(middle, to);
        if (b.width == 0) d += "V" + number(is_down ? b.y + b.height : b.y);
      }
      x = middle;
      y = i == 0 || is_down ? b.y + b.height : b.y;
    }
    return "<path d=\"" + d + "\" marker-end=\"url(#head)\"/>\n";
  }
  /// From white over yellow to red.
  EBB_COLD static std::string colour(double heat) {
    if (heat < 0) return "#f3f5f8";
    const int share = static_cast<int>(std::min(heat, 1.0) * 200);
    const int green = share < 100 ? 255 - share / 4 : 230 - (share - 100) * 12 / 10, blue = std::max(255 - share * 2, 80);
    return "rgb(255," + number(green) + ',' + number(blue) + ')';
  }
  EBB_COLD std::string box(int i) const {
    const box_text& t = texts_[i];
    const detail::placed_box& b = places_.box(i);
    std::string s;
    if (t.is != look::plain)
      s = "<rect x=\"" + number(b.x) + "\" y=\"" + number(b.y) + "\" width=\"" + number(b.width) + "\" height=\"" + number(b.height) +
          "\" rx=\"5\" fill=\"" + colour(t.heat) + "\" stroke=\"#445\"" +
          (t.is == look::dashed ? " stroke-dasharray=\"5 3\"" : "") + "/>\n";
    int y = b.y + padding + 13;
    const auto line = [&](const std::string& text, const char* weight) {
      s += "<text x=\"" + number(b.x + padding) + "\" y=\"" + number(y) + '"' + weight + " xml:space=\"preserve\">" +
           detail::xml_text(text) + "</text>\n";
      y += line_height;
    };
    if (!t.title.empty()) line(t.title, " font-weight=\"bold\"");
    for (const std::string& text : t.lines) line(text, "");
    return s;
  }

  vec<box_text> texts_;
  detail::layered_drawing places_;
};

}  // namespace ebb::inline EBB_ABI

// test/svg/curves.cpp — curves as pictures: places of points, gaps, scales, and text that is escaped.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"
#include "xml.hpp"

#include <ebb/svg/curves.hpp>

#include <cmath>
#include <limits>
#include <string>

namespace {

std::string drawn_curve(std::vector<double> values, bool logarithmic = false) {
  const std::string s = ebb::to_svg({{"a<b", std::move(values)}}, "T & t", {"epoch", "loss", logarithmic});
  CHECK(test::error_in_xml(s) == "");
  CHECK(s.find("a&lt;b") != std::string::npos);
  CHECK(s.find("T &amp; t") != std::string::npos);
  return s;
}
/// The points of all lines, with a bar between lines.
std::string points_in(const std::string& s) {
  std::string all;
  const std::string before = "<polyline points=\"";
  for (std::size_t at = 0; (at = s.find(before, at)) != std::string::npos;) {
    at += before.size();
    all += (all.empty() ? "" : " | ") + s.substr(at, s.find('"', at) - at);
  }
  return all;
}
bool has_tick(const std::string& s, const std::string& text) { return s.find('>' + text + "</text>") != std::string::npos; }

}  // namespace

TEST_CASE("a curve goes from the left to the right, and its extremes touch the frame") {
  const std::string s = drawn_curve({0, 10, 5});
  CHECK(points_in(s) == "70.0,370.0 385.0,56.0 700.0,213.0");
  for (const char* tick : {"0", "2", "4", "6", "8", "10", "1", "3", "epoch", "loss"}) CHECK(has_tick(s, tick));
  CHECK_FALSE(has_tick(s, "12"));
  CHECK(s == drawn_curve({0, 10, 5}));
}

TEST_CASE("values that have no place are gaps, and a value between gaps is a dot") {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  CHECK(points_in(drawn_curve({0, 1, nan, 1, inf})) == "70.0,370.0 227.5,56.0 | 542.5,56.0 542.5,56.0");
  CHECK(points_in(drawn_curve({nan, -inf})) == "");
  CHECK(points_in(drawn_curve({})) == "");
}

TEST_CASE("a logarithmic axis has powers of ten, and a place for positive values only") {
  const std::string s = drawn_curve({1, 0.1, 0, 0.01, -1}, true);
  CHECK(points_in(s) == "70.0,56.0 227.5,213.0 | 542.5,370.0 542.5,370.0");
  for (const char* tick : {"1", "0.1", "0.01"}) CHECK(has_tick(s, tick));
  CHECK_FALSE(has_tick(s, "0.001"));
  CHECK_FALSE(has_tick(s, "0.2"));
  const std::string within_a_decade = drawn_curve({0.7, 0.12}, true);
  for (const char* tick : {"0.2", "0.5"}) CHECK(has_tick(within_a_decade, tick));
  for (const char* tick : {"0.1", "1"}) CHECK_FALSE(has_tick(within_a_decade.substr(0, within_a_decade.find("M70.0 370v5")), tick));
}

TEST_CASE("a constant, a single value and a long curve have a scale") {
  CHECK(points_in(drawn_curve({4, 4})) == "70.0,213.0 700.0,213.0");
  CHECK(points_in(drawn_curve({0})) == "385.0,213.0 385.0,213.0");
  CHECK(points_in(drawn_curve({5}, true)) == "385.0,213.0 385.0,213.0");
  const std::string s = drawn_curve(std::vector<double>(500, 1));
  for (const char* tick : {"1", "100", "200", "500"}) CHECK(has_tick(s, tick));
  CHECK_FALSE(has_tick(s, "150"));
}

TEST_CASE("several curves have one scale, and each its colour") {
  const std::string s = ebb::to_svg({{"one", {0, 2}}, {"two", {1}}}, "both");
  CHECK(points_in(s) == "70.0,370.0 700.0,56.0 | 70.0,213.0 70.0,213.0");
  CHECK(s.find("#2563c9") != std::string::npos);
  CHECK(s.find("#d1501f") != std::string::npos);
}

// test/svg/drawing.cpp — pictures of graphs, plans and captured backwards: valid, complete, the same each time; boxes that do not overlap.
// SPDX-License-Identifier: BSL-1.0
// covers: layers.hpp drawing.hpp graph.hpp function.hpp captured.hpp
#include "../catch.hpp"
#include "../io/files.hpp"
#include "xml.hpp"

#include <ebb/ebb.hpp>
#include <ebb/svg.hpp>

#include <cstdlib>
#include <fstream>
#include <string>

namespace {

using X = ebb::tensor<float, ebb::dyn, 64>;
using W = ebb::tensor<float, 64>;
constexpr auto drawn_loss = [](auto x, auto w) { return ebb::sum(ebb::tanh(ebb::matmul(x, w))); };

int pieces_in(const std::string& s, const std::string& what) {
  int n = 0;
  for (std::size_t at = 0; (at = s.find(what, at)) != std::string::npos; at += what.size()) ++n;
  return n;
}
void check_picture(const std::string& svg) {
  CHECK(test::error_in_xml(svg) == "");
  CHECK(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
}

}  // namespace

TEST_CASE("the checker of XML finds what is not well-formed") {
  CHECK(test::error_in_xml("<a b=\"1\"><c/>x &lt; y</a>\n") == "");
  for (const char* bad : {"", "<a>", "<a></b>", "<a/><a/>", "<a b=1/>", "<a b=\"1\" b=\"2\"/>", "<a>&</a>", "<a>x < y</a>", "<a>\x01</a>",
                          "x<a/>", "<a b=\"&\"/>", "<a b=\"1\"c=\"2\"/>"})
    CHECK(test::error_in_xml(bad) != "");
}

TEST_CASE("text in pictures is escaped, and bytes that XML does not allow become question marks") {
  CHECK(ebb::detail::xml_text("a<b && \"c\" > d") == "a&lt;b &amp;&amp; &quot;c&quot; &gt; d");
  CHECK(ebb::detail::xml_text("tab\tend\x01\n") == "tab\tend??");
  CHECK(ebb::detail::xml_text("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80") == "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80");
  CHECK(ebb::detail::xml_text("\xc3 \xc0\x80 \xed\xa0\x80 \xef\xbf\xbf \xff") == "? ?? ??? ??? ?");
  CHECK(ebb::detail::characters_in("\xc3\xa4\xe2\x82\xac") == 2);
  ebb::svg_drawing d;
  d.arrow(d.add("<title> & \"more\"", {"\x02"}), d.add("", {"]]>"}, ebb::svg_drawing::look::dashed));
  check_picture(d.text("a < b"));
}

TEST_CASE("boxes of a layer do not overlap, arrows go down, and crossings are removed") {
  ebb::detail::layered_drawing d;
  // Four pairs whose arrows cross in the order of the numbers, and one arrow over several layers.
  for (int i = 0; i < 8; ++i) d.add_box(40 + 10 * i, 20);
  for (int i = 0; i < 4; ++i) d.add_arrow(i, 7 - i);
  const int last = d.add_box(300, 60), middle = d.add_box(30, 10);
  d.add_arrow(4, middle);
  d.add_arrow(middle, last);
  d.add_arrow(7, last);
  d.add_arrow(7, last);
  d.add_arrow(last, last);
  d.place();
  CHECK(d.arrows().size() == 7);
  for (const ebb::detail::placed_arrow& a : d.arrows()) CHECK(d.box(a.from).y + d.box(a.from).height < d.box(a.to).y);
  CHECK(d.arrows()[6].through.size() == 3);
  for (int i = 0; i < 10; ++i)
    for (int j = 0; j < i; ++j) {
      const auto &p = d.box(i), &q = d.box(j);
      if (p.layer == q.layer) CHECK((p.x + p.width < q.x || q.x + q.width < p.x));
    }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < i; ++j) CHECK((d.box(i).x < d.box(j).x) == (d.box(7 - i).x < d.box(7 - j).x));
  for (int i = 0; i < 10; ++i) {
    CHECK(d.box(i).x >= ebb::detail::layered_drawing::margin);
    CHECK(d.box(i).x + d.box(i).width <= d.width());
    CHECK(d.box(i).y + d.box(i).height <= d.height());
  }
}

TEST_CASE("arrows in a circle are drawn") {
  ebb::svg_drawing d;
  const int a = d.add("a", {}), b = d.add("b", {}), c = d.add("c", {});
  d.arrow(a, b);
  d.arrow(b, c);
  d.arrow(c, a);
  const std::string svg = d.text("circle");
  check_picture(svg);
  CHECK(pieces_in(svg, "marker-end") == 3);
  check_picture(ebb::svg_drawing().text("nothing"));
}

TEST_CASE("hot boxes have another colour than cold ones") {
  const auto with_heat = [](double heat) {
    ebb::svg_drawing d;
    d.add("a", {}, ebb::svg_drawing::look::box, heat);
    return d.text("heat");
  };
  CHECK(with_heat(0).find("rgb(255,255,255)") != std::string::npos);
  CHECK(with_heat(1).find("rgb(255,110,80)") != std::string::npos);
  CHECK(with_heat(7) == with_heat(1));
  CHECK(with_heat(0.3) != with_heat(0.6));
  CHECK(with_heat(-1).find("rgb") == std::string::npos);
}

TEST_CASE("a plan is drawn with a box for each step, and so are graphs of programs") {
  const auto slope = ebb::value_and_grad<1>(drawn_loss);
  const std::string svg = ebb::to_svg<X, W>(slope);
  check_picture(svg);
  CHECK(svg == ebb::to_svg<X, W>(slope));
  CHECK(svg.find(">step 0: matmul</text>") != std::string::npos);
  CHECK(svg.find("tanh") != std::string::npos);
  CHECK(svg.find("<title>ebb::value_and_grad</title>") != std::string::npos);
  for (const char* line : {"return 0: ", "return 1: ", "a = input 0 : f32[n, 64]"}) CHECK(svg.find(line) != std::string::npos);

  const std::string backward = ebb::to_svg(ebb::backward_t<decltype(drawn_loss), ebb::off, X, W>{}, "backward");
  check_picture(backward);
  const ebb::graph g = ebb::detail::lowered_graph<ebb::detail::compile_spec<decltype(drawn_loss)>, X, W>();
  const std::string forward = ebb::to_svg(g);
  check_picture(forward);
  CHECK(pieces_in(forward, "<text") == pieces_in(to_string(g), "\n"));  // one line each; its last line is `return`
  CHECK(pieces_in(forward, "marker-end") == 7);
}

TEST_CASE("the body of a loop is in its box") {
  const auto f = ebb::compile([](auto x) { return ebb::scan([](auto c, auto v) { return std::tuple(c * v, ebb::exp(c)); }, x[0], x); });
  const std::string svg = ebb::to_svg<ebb::tensor<double, ebb::dyn>>(f);
  check_picture(svg);
  CHECK(svg.find("= exp ") != std::string::npos);
}

namespace {
std::string drawn_capture_graph, drawn_capture_plan;
}

TEST_CASE("captured backwards and their plans are drawn, with hooks, functions and names from users") {
  struct doubled {
    using array = ebb::tensor<double, ebb::dyn>;
    array forward(const array& x) const { return array(x + x); }
    array backward(const array& g) const { return array(g + g); }
  };
  ebb::compiled_autograd::reset();
  const ebb::compiled_autograd::enable on({.compiler = [](const ebb::captured_graph& g) {
    drawn_capture_graph = ebb::to_svg(g);
    drawn_capture_plan = ebb::to_svg(ebb::captured_plan(g));
    return ebb::backend::merge;
  }});
  ebb::variable<double, ebb::dyn> x({1, 2, 3}), y({4, 5, 6});
  x.set_name("x<1> & \"x\"");
  x.register_hook([](auto g) { return g * 2; });
  y.register_hook(ebb::opaque([](const ebb::tensor<double, ebb::dyn>& g) { return g; }));
  ebb::sum(ebb::tanh(ebb::apply(doubled{}, x) * y)).backward();
  check_picture(drawn_capture_graph);
  check_picture(drawn_capture_plan);
  for (const std::string& svg : {drawn_capture_graph, drawn_capture_plan})
    for (const char* part : {"x&lt;1&gt; &amp; &quot;x&quot;", "call_backward", "hook_type = tensor_pre_hook", "call_accumulate_grad"})
      CHECK(svg.find(part) != std::string::npos);
  CHECK(drawn_capture_plan.find("node by node: ") != std::string::npos);
  // A sum of gradients is in the step of the last of them, not in a box of its own, which would be between the step and itself.
  ebb::variable<double, ebb::dyn> z = x * y;
  ebb::sum(ebb::apply(doubled{}, z) + z * z).backward();
  check_picture(drawn_capture_plan);
  std::size_t at = 0;
  for (const char* part : {"mul+add+sum (NodeCall 1)", ">add = add ", "node by node: doubled", ">add_1 = add ", "mul (NodeCall 3)"}) {
    CAPTURE(part);
    at = drawn_capture_plan.find(part, at);
    REQUIRE(at != std::string::npos);
  }
  ebb::compiled_autograd::reset();
}

TEST_CASE("Python's parser reads the pictures, if there is a Python") {
  if (std::system("python3 -c '' 2>/dev/null") != 0) {
    WARN("not run: there is no python3");
    return;
  }
  test::directory there;
  const std::string file = there.file("plan.svg");
  std::ofstream(file) << ebb::to_svg<X, W>(ebb::value_and_grad<1>(drawn_loss), "a<b & \"c\"");
  CHECK(std::system(("python3 -c 'import sys, xml.dom.minidom as x; x.parse(sys.argv[1])' " + file).c_str()) == 0);
}

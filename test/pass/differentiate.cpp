// test/pass/differentiate.cpp — the reverse pass on graphs: equations before and after.
// SPDX-License-Identifier: BSL-1.0
// covers: differentiate.hpp pull_back.hpp cuts.hpp op/kit.hpp op/emit.hpp
#include "../build.hpp"
#include "../catch.hpp"

#include <ebb/op/compare.hpp>
#include <ebb/op/exponential.hpp>
#include <ebb/pass/pipeline.hpp>

using test::graph;
using test::n;

namespace {

struct without_pull : ebb::elementwise<1> {
  static constexpr std::string_view name = "without_pull";
  static constexpr auto value(auto x) { return x; }
};

std::string gradient(const graph& g, const ebb::vec<int>& wrt) {
  const graph d = ebb::value_and_gradient(g, wrt);
  CHECK(test::error_text(d) == "");
  return ebb::to_string(d);
}

}  // namespace

TEST_CASE("the gradient of the sum of a product needs no equation for the sum's cotangent") {
  const graph g = test::build([](test::builder& b) {
    const auto x = b.in({n}), y = b.in({n});
    return b.returns(ebb::sum_over(x * y, 1));
  });
  CHECK(gradient(g, {0, 1}) == "a = input 0 : f32[n]\nb = input 1 : f32[n]\nc = mul a b : f32[n]\nd = sum c over 0 : f32\nreturn d b a\n");
}

TEST_CASE("cotangents that meet are added, those of later equations first") {
  const graph g = test::build([](test::builder& b) {
    const auto x = b.in<double>({});
    const auto u = x * x;
    return b.returns(u * ebb::exp(x));
  });
  CHECK(gradient(g, {0}) ==
        "a = input 0 : f64\nb = mul a a : f64\nc = exp a : f64\nd = mul b c : f64\ne = mul c a : f64\nf = add d e : f64\n"
        "g = add f e : f64\nreturn d g\n");
}

TEST_CASE("the gradients of pieces that make up an array are joined") {
  struct cut {
    std::int64_t start;
    int count;
    bool used = true;
  };
  // The moves in the gradient of [n, 6], of which these slices are read.
  const auto pieces_of = [](bool whole, std::initializer_list<cut> cuts) {
    const graph g = test::build([&](test::builder& b) {
      const auto x = b.in({n, 6});
      for (const cut& c : cuts) {
        const auto y = ebb::slice_as(x, {1, c.start}, b.g.intern(ebb::with_extent(x.extents(), 1, c.count)));
        const auto z = y * y;
        if (c.used) b.g.out.push(z.id);
      }
      if (whole) b.g.out.push((-x).id);
      return b.g;
    });
    const graph d = ebb::joint(g, {0});
    CHECK(test::error_text(d) == "");
    std::string r;
    for (int k = 0; k < d.size(); ++k)
      if (d.op(k).what == ebb::kind::move && d.op(k).family != ebb::family_of<ebb::op::slice>) {
        r += (r.empty() ? "" : " ") + std::string(d.op(k).name);
        if (d.eq[k].count > 1) r += std::to_string(d.eq[k].count);
      }
    return r;
  };
  constexpr std::int64_t end = ebb::stride::at_the_end;
  CHECK(pieces_of(false, {{0, 2}, {2, 3}, {5, 1}}) == "concat3");
  CHECK(pieces_of(false, {{2, 3}, {end, 1}, {-6, 2}}) == "concat3");                  // in any order, from either end
  CHECK(pieces_of(false, {{0, 2}, {2, 3, false}, {5, 1}}) == "concat3");              // with zeros for one without a gradient
  CHECK(pieces_of(false, {{0, 2}, {2, 3, false}, {5, 1, false}}) == "place");
  CHECK(pieces_of(false, {{0, 2}, {2, 2}}) == "place place");                         // the last ones are missing
  CHECK(pieces_of(false, {{0, 4}, {2, 4}}) == "place place");                         // two overlap
  CHECK(pieces_of(true, {{0, 2}, {2, 4}}) == "place place");                          // the array is read as a whole, too
  CHECK(pieces_of(false, {{0, 6}}) == "place");
}

TEST_CASE("a joint graph takes a seed for each real result") {
  const graph g = test::build([](test::builder& b) {
    const auto x = b.in({n}), y = b.in({n});
    const auto p = x * y, m = -x;
    return b.returns(p, ebb::less(x, y), m);
  });
  const graph j = ebb::joint(g, {0});
  CHECK(test::error_text(j) == "");
  CHECK(j.inputs == 4);
  CHECK(j.out.size() == 4);
  CHECK(ebb::to_string(j) ==
        "a = input 0 : f32[n]\nb = input 1 : f32[n]\nc = mul a b : f32[n]\nd = neg a : f32[n]\ne = less a b : bool[n]\n"
        "f = input 2 : f32[n]\ng = input 3 : f32[n]\nh = mul f b : f32[n]\ni = sub h g : f32[n]\nreturn c e d i\n");
}

TEST_CASE("an argument that gets no gradient gets zeros") {
  const graph g = test::build([](test::builder& b) {
    const auto x = b.in<double>({}), y = b.in<double>({n});
    (void)y;
    return b.returns(x * 3);
  });
  CHECK(gradient(g, {1}) == "a = input 0 : f64\nb = input 1 : f64[n]\nc = mul a 3.0 : f64\nd = 0.0 : f64[n]\nreturn c d\n");
}

TEST_CASE("an op without a pull is reported only if the gradient needs it") {
  const auto program = [](bool used, bool constant) {
    return test::build([&](test::builder& b) {
      const auto x = b.in<double>({}), y = b.in<double>({});
      const auto z = ebb::emit_on<without_pull>({}, constant ? y : x);
      return b.returns(used ? x * z : x * x);
    });
  };
  CHECK(ebb::first_without_pull(program(true, false), {0}) == 2);
  CHECK(ebb::first_without_pull(program(false, false), {0}) == -1);
  CHECK(ebb::first_without_pull(program(true, true), {0}) == -1);
}

TEST_CASE("integers and conditions pass no gradient") {
  const graph g = test::build([](test::builder& b) {
    const auto x = b.in<double>({});
    return b.returns(ebb::cast_to<double>(ebb::cast_to<std::int32_t>(x)) + ebb::where(ebb::less(x, ebb::literal_like(x, 1)), x, -x));
  });
  const graph d = ebb::value_and_gradient(g, {0});
  for (const double x : {0.25, 2.5}) {
    const auto r = ebb::evaluate(d, {{ebb::to_cell(x)}}, {});
    CHECK(ebb::from_cell<double>(r[1][0]) == (x < 1 ? 1.0 : -1.0));
  }
}

// test/profile/explained.cpp — an explanation counts the bytes and operations that a profile of the same call counts.
// SPDX-License-Identifier: BSL-1.0
// covers: explain/explanation.hpp plan/work.hpp
#if !defined(EBB_PROFILE)
#define EBB_PROFILE
#endif
#include "../catch.hpp"
#include "rows.hpp"

#include <ebb/explain.hpp>
#include <ebb/functional.hpp>

namespace {

using ebb::probed;
using test::rows_of;
using counted_vector = ebb::tensor<float, ebb::dyn>;
using counted_matrix = ebb::tensor<float, ebb::dyn, ebb::dyn>;
using counted_points = ebb::tensor<float, ebb::dyn, 3>;

/// Calls f while it is profiled, and compares the work of the program, and of each step that is reported.
template <class F, class... A>
void check_counts(const F& f, const A&... a) {
  const ebb::explanation e = ebb::explain(f, a...);
  const ebb::profile p;
  static_cast<void>(f(a...));
  const ebb::profile_row* outer = nullptr;
  for (const ebb::profile_row& r : p.rows())
    if (r.is == probed::program && (!outer || r.work.operations > outer->work.operations)) outer = &r;
  REQUIRE(outer);
  INFO(e.text());
  CHECK(e.work().read.number() == outer->work.read);
  CHECK(e.work().written.number() == outer->work.written);
  CHECK(e.work().operations.number() == Approx(outer->work.operations));
  std::vector<const ebb::explanation::step*> steps;
  bool has_bodies = false;
  for (const auto& s : e.steps()) {
    if (s.depth == 0) steps.push_back(&s);
    has_bodies = has_bodies || s.depth > 0;
  }
  int compared = 0;
  for (const ebb::profile_row& r : p.rows()) {
    if (r.is != probed::step || r.program != outer->program || has_bodies) continue;
    const auto& work = steps[static_cast<std::size_t>(r.step)]->work;
    CHECK(work.read.number() == r.work.read);
    CHECK(work.written.number() == r.work.written);
    CHECK(work.operations.number() == r.work.operations);
    ++compared;
  }
  CHECK((has_bodies || compared == static_cast<int>(steps.size())));
}

}  // namespace

TEST_CASE("the counts of an explanation are those of a profile") {
  const counted_matrix x = counted_matrix::ones(50, 40), w = counted_matrix::ones(40, 30);
  const counted_vector v = counted_vector::ones(50);
  check_counts(ebb::compile([](auto a, auto b) { return ebb::sum(ebb::tanh(ebb::matmul(a, b))); }), x, w);
  check_counts(ebb::compile([](auto a) { return ebb::softmax<1>(a); }), x);
  check_counts(ebb::value_and_grad<0>([](auto a, auto y) { return ebb::mse(ebb::sum<1>(a * a), y); }), x, v);
}

TEST_CASE("the number of rows in a block is that of a call") {
  constexpr auto f = ebb::compile([](auto a) { return ebb::softmax<1>(a); });
  const counted_matrix x = counted_matrix::ones(100, 1000);
  const std::string text = ebb::explain(f, x).text();
  INFO(text);
  CHECK(text.find("the next 3 steps run on 16 of the 100 rows at a time") != std::string::npos);
  const ebb::profile p;
  static_cast<void>(f(x));
  for (const auto& r : rows_of(p, probed::step)) CHECK(r.calls == 7);
}

TEST_CASE("so are those of moves, in place and not") {
  const counted_matrix x = counted_matrix::ones(50, 40);
  const counted_vector v = counted_vector::ones(50), u = counted_vector::ones(40);
  check_counts(ebb::compile([](auto a, auto b) { return ebb::concat<0>(a * 2, b, a + 1); }), v, u);
  constexpr auto twice = ebb::compile([](auto a) {
    const auto b = a * 2;
    return ebb::concat<0>(b, b);
  });
  check_counts(twice, v);
  CHECK(ebb::explain(twice, v).work().written.number() == 2 * 4 * 50);  // the first one is in place
  check_counts(ebb::compile([](auto a) { return ebb::slice<1, 3, 9>(a) * 2; }), x);
  check_counts(ebb::grad([](auto a) { return ebb::sum(ebb::square(ebb::slice<1, 3, 9>(a))); }), x);
  check_counts(ebb::compile([](auto p, auto i) { return ebb::sum<1>(ebb::take(p, i)); }), counted_points::ones(50),
               ebb::tensor<int, ebb::dyn>::ones(40));
  check_counts(ebb::compile([](auto p) { return ebb::map([](auto a) { return ebb::sum(ebb::square(a)) * a[0]; }, p); }),
               counted_points::ones(50));
}

TEST_CASE("so are those of loops, whose bodies run many times") {
  const counted_vector v = counted_vector::ones(50);
  check_counts(ebb::compile([](auto x) { return ebb::fori(10, [](auto, auto c) { return ebb::sin(c) * c; }, x); }), v);
}

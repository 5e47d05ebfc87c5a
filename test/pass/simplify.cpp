// test/pass/simplify.cpp — each exact rule: the equations before and after, and equal bits on both sides.
// SPDX-License-Identifier: BSL-1.0
// covers: simplify.hpp pattern.hpp op/kit.hpp
#include "../build.hpp"
#include "../catch.hpp"

#include <ebb/op/extremum.hpp>
#include <ebb/op/exponential.hpp>
#include <ebb/op/shape.hpp>
#include <ebb/pass/pipeline.hpp>

namespace {

using test::graph;
using test::n;

/// Checks that simplify turns one graph into the other.
void check(const graph& before, const graph& after) {
  INFO("before:\n" << ebb::to_string(before));
  CHECK(test::error_text(before) == "");
  const graph simple = ebb::prune(ebb::simplify(before));
  CHECK(test::error_text(simple) == "");
  CHECK(ebb::to_string(simple) == ebb::to_string(ebb::prune(after)));
  for (std::uint64_t seed = 0; seed < 20; ++seed) CHECK(test::difference(before, simple, test::random_call(before, seed)) == "");
}

/// Checks a rule on x, y, z of dtype T and conditions c, d of one shape.
template <class T = float>
void rule(auto left, auto right) {
  const auto side = [](auto f) {
    return test::build([&](test::builder& b) {
      const auto x = b.in<T>({n, 3}), y = b.in<T>({n, 3}), z = b.in<T>({n, 3});
      const auto c = b.in<bool>({n, 3}), d = b.in<bool>({n, 3});
      return b.returns(f(x, y, z, c, d));
    });
  };
  check(side(left), side(right));
}

auto negated(auto c) { return ebb::logical_not(c); }

/// Checks that a left side that resembles a rule's is not rewritten.
template <class T = float>
void no_rule(auto left) {
  rule<T>(left, left);
}

#define EBB_SIDE(...) [](auto x, auto y, auto z, auto c, auto d) { (void)x, (void)y, (void)z, (void)c, (void)d; return __VA_ARGS__; }

}  // namespace

TEST_CASE("factors of 1 and -1 are removed") {
  rule(EBB_SIDE(x * 1), EBB_SIDE(x));
  rule(EBB_SIDE(1 * x), EBB_SIDE(x));
  rule(EBB_SIDE(x / 1), EBB_SIDE(x));
  rule(EBB_SIDE(x * -1), EBB_SIDE(-x));
  rule(EBB_SIDE(-1 * x), EBB_SIDE(-x));
  rule(EBB_SIDE(x / -1), EBB_SIDE(-x));
  rule<std::int32_t>(EBB_SIDE(x * 1), EBB_SIDE(x));
  rule<std::int64_t>(EBB_SIDE(-1 * x), EBB_SIDE(-x));
  rule<ebb::bfloat16>(EBB_SIDE(x * -1), EBB_SIDE(-x));
  rule<double>(EBB_SIDE(1 * x * 1), EBB_SIDE(x));
  no_rule(EBB_SIDE(x * 0));
  no_rule(EBB_SIDE(x * 2));
  no_rule(EBB_SIDE(x / y));
}

TEST_CASE("sums with zeros are removed if the sign of zero allows it") {
  rule(EBB_SIDE(x + -0.0), EBB_SIDE(x));
  rule(EBB_SIDE(-0.0 + x), EBB_SIDE(x));
  rule(EBB_SIDE(x - 0.0), EBB_SIDE(x));
  rule(EBB_SIDE(-0.0 - x), EBB_SIDE(-x));
  rule<std::int32_t>(EBB_SIDE(x + 0), EBB_SIDE(x));
  rule<std::int32_t>(EBB_SIDE(0 - x), EBB_SIDE(-x));
  no_rule(EBB_SIDE(x + 0.0));
  no_rule(EBB_SIDE(0.0 - x));
  no_rule(EBB_SIDE(x - -0.0));
  no_rule(EBB_SIDE(x - x));
}

TEST_CASE("signs cancel and move into sums") {
  rule(EBB_SIDE(-(-x)), EBB_SIDE(x));
  rule(EBB_SIDE(x - -y), EBB_SIDE(x + y));
  rule(EBB_SIDE(x + -y), EBB_SIDE(x - y));
  rule(EBB_SIDE(-x + y), EBB_SIDE(y - x));
  rule(EBB_SIDE(-x * -y), EBB_SIDE(x * y));
  rule(EBB_SIDE(-x / -y), EBB_SIDE(x / y));
  rule<double>(EBB_SIDE(x - (y * -1)), EBB_SIDE(x + y));
  rule(EBB_SIDE(ebb::abs(-x)), EBB_SIDE(ebb::abs(x)));
  rule(EBB_SIDE(ebb::abs(ebb::abs(x))), EBB_SIDE(ebb::abs(x)));
  no_rule(EBB_SIDE(-(x - y)));
  no_rule(EBB_SIDE(-x * y));
}

TEST_CASE("selections between equal values or by known conditions are removed") {
  rule(EBB_SIDE(ebb::where(c, x, x)), EBB_SIDE(x));
  rule(EBB_SIDE(ebb::where(negated(c), x, y)), EBB_SIDE(ebb::where(c, y, x)));
  rule(EBB_SIDE(ebb::where(negated(negated(c)), x, y)), EBB_SIDE(ebb::where(c, x, y)));
  rule(EBB_SIDE(ebb::where(negated(c), x, x)), EBB_SIDE(x));
  rule(EBB_SIDE(ebb::where(c, ebb::where(c, x, z), y)), EBB_SIDE(ebb::where(c, x, y)));
  rule(EBB_SIDE(ebb::where(c, x, ebb::where(c, z, y))), EBB_SIDE(ebb::where(c, x, y)));
  rule(EBB_SIDE(ebb::where(ebb::literal_like(c, 1), x, y)), EBB_SIDE(x));
  rule(EBB_SIDE(ebb::where(ebb::literal_like(c, 0), x, y)), EBB_SIDE(y));
  rule(EBB_SIDE(ebb::maximum(x, x)), EBB_SIDE(x));
  rule(EBB_SIDE(ebb::minimum(x, x)), EBB_SIDE(x));
  no_rule(EBB_SIDE(ebb::where(d, ebb::where(c, x, z), y)));
  no_rule(EBB_SIDE(ebb::where(c, x, y)));
  no_rule(EBB_SIDE(ebb::maximum(x, y)));
}

TEST_CASE("reshapes, broadcasts and permutations in a row become one") {
  const auto shapes = [](auto left, auto right) {
    const auto side = [](auto f) { return test::build([&](test::builder& b) { return b.returns(f(b, b.in({2, 3, 4}))); }); };
    check(side(left), side(right));
  };
  shapes([](auto& b, auto x) { return ebb::reshape_to(ebb::reshape_to(x, b.shape({6, 4})), b.shape({3, 8})); },
         [](auto& b, auto x) { return ebb::reshape_to(x, b.shape({3, 8})); });
  shapes([](auto& b, auto x) { return ebb::reshape_to(ebb::reshape_to(x, b.shape({24})), b.shape({2, 3, 4})); },
         [](auto&, auto x) { return x; });
  shapes([](auto& b, auto x) { return ebb::broadcast_to(ebb::broadcast_to(x, b.shape({2, 5, 3, 4}), 2), b.shape({2, 5, 6, 3, 7, 4}), 20); },
         [](auto& b, auto x) { return ebb::broadcast_to(x, b.shape({2, 5, 6, 3, 7, 4}), 22); });
  shapes([](auto& b, auto x) { return ebb::broadcast_to(ebb::literal_like(x, 2), b.shape({5, 2, 3, 4}), 1); },
         [](auto& b, auto x) { return ebb::literal_like(ebb::broadcast_to(x, b.shape({5, 2, 3, 4}), 1), 2); });
  shapes([](auto& b, auto x) { return ebb::reshape_to(ebb::literal_like(x, 2), b.shape({24})); },
         [](auto& b, auto x) { return ebb::literal_like(ebb::reshape_to(x, b.shape({24})), 2); });
  const auto permuted = [](auto x, std::initializer_list<int> axes) {
    return ebb::emit_on<ebb::op::permute>({ebb::pack_axes(axes.begin(), static_cast<int>(axes.size()))}, x);
  };
  shapes([&](auto&, auto x) { return permuted(permuted(x, {1, 2, 0}), {1, 0, 2}); }, [&](auto&, auto x) { return permuted(x, {2, 1, 0}); });
  shapes([&](auto&, auto x) { return permuted(permuted(x, {1, 2, 0}), {2, 0, 1}); }, [](auto&, auto x) { return x; });
  shapes([&](auto&, auto x) { return permuted(ebb::literal_like(x, 1), {1, 2, 0}); },
         [&](auto&, auto x) { return ebb::literal_like(permuted(x, {1, 2, 0}), 1); });
}

TEST_CASE("a product takes transposed operands as they are") {
  const auto product = [](auto f) {
    return test::build([&](test::builder& b) { return b.returns(f(b.in({5, 2, n}), b.in({5, n, 4}))); });
  };
  const auto times = [](auto x, auto y, std::int64_t flags) { return ebb::emit_on<ebb::op::matmul>({flags}, x, y); };
  const auto turned = [](auto x) {
    const int axes[] = {0, 2, 1};
    return ebb::emit_on<ebb::op::permute>({ebb::pack_axes(axes, 3)}, x);
  };
  const auto mixed = [](auto x) {
    const int axes[] = {1, 0, 2};
    return ebb::emit_on<ebb::op::permute>({ebb::pack_axes(axes, 3)}, x);
  };
  check(product([&](auto x, auto y) { return times(turned(x), y, 1); }), product([&](auto x, auto y) { return times(x, y, 0); }));
  check(product([&](auto x, auto y) { return times(x, turned(y), 2); }), product([&](auto x, auto y) { return times(x, y, 0); }));
  check(product([&](auto x, auto y) { return times(turned(y), turned(x), 0); }), product([&](auto x, auto y) { return times(y, x, 3); }));
  const auto other = product([&](auto x, auto y) { return times(mixed(x), mixed(x), ebb::right_transposed); (void)y; });
  check(other, other);
}

TEST_CASE("casts that lose nothing are removed") {
  const auto casts = [](auto left, auto right) {
    const auto side = [](auto f) {
      return test::build([&](test::builder& b) {
        return b.returns(f(b.in<float>({4}), b.in<double>({4}), b.in<std::int32_t>({4}), b.in<ebb::bfloat16>({4}), b.in<bool>({4})));
      });
    };
    check(side(left), side(right));
  };
  casts([](auto f, auto, auto, auto, auto) { return ebb::cast_to<float>(ebb::cast_to<double>(f)); },
        [](auto f, auto, auto, auto, auto) { return f; });
  casts([](auto, auto, auto i, auto, auto) { return ebb::cast_to<std::int32_t>(ebb::cast_to<double>(i)); },
        [](auto, auto, auto i, auto, auto) { return i; });
  casts([](auto, auto, auto, auto h, auto) { return ebb::cast_to<ebb::bfloat16>(ebb::cast_to<float>(h)); },
        [](auto, auto, auto, auto h, auto) { return h; });
  casts([](auto, auto, auto, auto, auto b) { return ebb::cast_to<bool>(ebb::cast_to<float>(b)); },
        [](auto, auto, auto, auto, auto b) { return b; });
  casts([](auto f, auto, auto, auto, auto) { return ebb::emit_on<ebb::op::cast<float>, float>({}, f); },
        [](auto f, auto, auto, auto, auto) { return f; });
  // A cast through a narrower dtype loses digits. A cast through a second dtype to a third is not shortened: there is no table of all
  // pairs.
  const auto narrow = [](auto, auto d, auto, auto, auto) { return ebb::cast_to<double>(ebb::cast_to<float>(d)); };
  casts(narrow, narrow);
  const auto integer = [](auto, auto, auto i, auto, auto) { return ebb::cast_to<std::int32_t>(ebb::cast_to<float>(i)); };
  casts(integer, integer);
}

TEST_CASE("literals are computed if no result is special") {
  using ebb::literal_like;
  rule(EBB_SIDE(literal_like(x, 2) + literal_like(x, 3)), EBB_SIDE(literal_like(x, 5)));
  rule(EBB_SIDE(literal_like(x, 2) - literal_like(x, 3)), EBB_SIDE(literal_like(x, -1)));
  rule(EBB_SIDE(literal_like(x, 0.1) * literal_like(x, 3)), EBB_SIDE(literal_like(x, 0.1f * 3.0f)));
  rule<double>(EBB_SIDE(literal_like(x, 1) / literal_like(x, 3)), EBB_SIDE(literal_like(x, 1.0 / 3.0)));
  rule(EBB_SIDE(-literal_like(x, 0)), EBB_SIDE(literal_like(x, -0.0)));
  rule(EBB_SIDE(ebb::abs(literal_like(x, -2))), EBB_SIDE(literal_like(x, 2)));
  rule(EBB_SIDE(ebb::maximum(literal_like(x, 2), literal_like(x, 3))), EBB_SIDE(literal_like(x, 3)));
  rule(EBB_SIDE(ebb::less(literal_like(x, 2), literal_like(x, 3))), EBB_SIDE(literal_like(c, 1)));
  rule(EBB_SIDE(ebb::where(ebb::less(literal_like(x, 2), literal_like(x, 3)), x, y)), EBB_SIDE(x));
  rule(EBB_SIDE(ebb::cast_to<double>(literal_like(x, 0.1))), EBB_SIDE(literal_like(ebb::cast_to<double>(x), static_cast<double>(0.1f))));
  rule<std::int32_t>(EBB_SIDE(literal_like(x, 2) * literal_like(x, 3)), EBB_SIDE(literal_like(x, 6)));

  // Not computed: a zero divisor, infinities and NaN, numbers whose product overflows, vector functions.
  no_rule(EBB_SIDE(literal_like(x, 1) / literal_like(x, 0)));
  no_rule(EBB_SIDE(literal_like(x, 0) / literal_like(x, -0.0)));
  no_rule(EBB_SIDE(literal_like(x, std::numeric_limits<float>::infinity()) - literal_like(x, std::numeric_limits<float>::infinity())));
  no_rule(EBB_SIDE(literal_like(x, 1e30) * literal_like(x, 1e30)));
  no_rule<std::int32_t>(EBB_SIDE(literal_like(x, 40000) + literal_like(x, 40000)));
  no_rule(EBB_SIDE(ebb::exp(literal_like(x, 2))));
}

TEST_CASE("a rewritten graph has the derivatives of the original") {
  const auto both = [](auto f) {
    return test::build([&](test::builder& b) {
      const auto x = b.in<double>({n}), y = b.in<double>({n});
      return b.returns(ebb::sum_over(f(x, y), 1));
    });
  };
  const auto derivative = [&](auto f) {
    const graph g = both(f);
    CAPTURE(ebb::to_string(g));
    const graph first = ebb::value_and_gradient(g, {0, 1}), second = ebb::value_and_gradient(ebb::prune(ebb::simplify(g)), {0, 1});
    CHECK(test::error_text(first) == "");
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      const auto c = test::random_call(g, seed, 5, false);
      const auto a = ebb::evaluate(first, c.arguments, c.symbols), b = ebb::evaluate(second, c.arguments, c.symbols);
      for (int i = 0; i < a.size(); ++i)
        for (int j = 0; j < a[i].size(); ++j) CHECK(ebb::from_cell<double>(a[i][j]) == ebb::from_cell<double>(b[i][j]));
    }
  };
  derivative([](auto x, auto y) { return ebb::abs(-x) * (y - -x) * 1; });
  derivative([](auto x, auto y) { return ebb::maximum(x, x) * y; });
  derivative([](auto x, auto y) { return -x / -y + -(-x) * (y / 1); });
  derivative([](auto x, auto y) { return ebb::where(negated(ebb::less(x, y)), x * x, y * -1); });
  derivative([](auto x, auto y) { return ebb::cast_to<float>(ebb::cast_to<double>(ebb::cast_to<float>(x * y))); });
}

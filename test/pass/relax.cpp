// test/pass/relax.cpp — each relaxed rule: the equations before and after; values against long double; what happens to special values.
// SPDX-License-Identifier: BSL-1.0
// covers: relax.hpp factor.hpp
#include "random_graph.hpp"
#include "random_loop.hpp"

#include "../catch.hpp"
#include "../watched.hpp"

#include <ebb/pass/relax.hpp>

#include <cmath>
#include <string>
#include <vector>

namespace {

using test::graph;
using test::n;

/// f(builder, x, y, u, s, t): arrays [n, 3], a row [3] and two numbers.
template <class T>
graph built(auto f) {
  return test::build([&](test::builder& b) {
    const auto x = b.in<T>({n, 3}), y = b.in<T>({n, 3}), u = b.in<T>({3}), s = b.in<T>({}), t = b.in<T>({});
    return f(b, x, y, u, s, t);
  });
}
/// The graph that relax makes, without the lines of arguments.
std::string relaxed_text(const graph& before) {
  const graph after = ebb::relax(before);
  CHECK(test::error_text(after) == "");
  CHECK(ebb::to_string(ebb::relax(after)) == ebb::to_string(after));
  std::string r;
  const std::string text = ebb::to_string(after);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    if (const std::string line = text.substr(at, end - at); line.find("input") == std::string::npos) r += line + '\n';
    at = end + 1;
  }
  return r;
}
std::string text_after(auto f) { return relaxed_text(built<float>(f)); }
/// Checks that a program stays as the exact rules leave it.
void stays_as_it_is(const graph& before) { CHECK(ebb::to_string(ebb::relax(before)) == ebb::to_string(ebb::prune(ebb::simplify(before)))); }
template <class T = float>
void stays(auto f) {
  stays_as_it_is(built<T>(f));
}

/// s in the shape of x, repeated along all axes that it has not.
auto over(auto s, auto x) { return ebb::broadcast_to(s, x.shape_number(), s.rank() == 0 ? 3 : 1); }
auto total(auto x) { return ebb::sum_over(x, 3); }
auto negative(auto x) { return -x; }
auto transposed_product(auto x, auto y) { return ebb::emit_on<ebb::op::matmul>({ebb::right_transposed}, x, y); }

/// The operands in this order: arguments of a function are evaluated in an order that the compiler chooses.
#define EBB_PROGRAMS(first, second) [](auto& b, auto x, auto y, auto u, auto s, auto t) { \
  (void)x, (void)y, (void)u, (void)s, (void)t; \
  const auto one = first; \
  const auto two = second; \
  return b.returns(one, two); \
}
#define EBB_PROGRAM(...) [](auto& b, auto x, auto y, auto u, auto s, auto t) { \
  (void)x, (void)y, (void)u, (void)s, (void)t; \
  return b.returns(__VA_ARGS__); \
}

}  // namespace

TEST_CASE("relaxed: a division by a repeated number is a product with its reciprocal") {
  CHECK(text_after(EBB_PROGRAM(x / over(s, x))) ==
        "f = div 1.0 d : f32\ng = broadcast f along 0 1 : f32[n, 3]\nh = mul a g : f32[n, 3]\nreturn h\n");
  CHECK(text_after(EBB_PROGRAMS(x / over(u, x), y / over(u, x))) ==
        "f = div 1.0 c : f32[3]\ng = broadcast f along 0 : f32[n, 3]\nh = mul a g : f32[n, 3]\ni = mul b g : f32[n, 3]\nreturn h i\n");
  CHECK(text_after(EBB_PROGRAM(x / ebb::literal_like(x, 8))) == "f = mul a 0.125 : f32[n, 3]\nreturn f\n");
  stays(EBB_PROGRAM(x / y));
  stays(EBB_PROGRAM(s / t));
  stays(EBB_PROGRAM(over(s, x) / x));
  stays(EBB_PROGRAM(x / ebb::literal_like(x, 1e-30)));
  stays(EBB_PROGRAM(x / ebb::literal_like(x, 0)));
  stays<ebb::bfloat16>(EBB_PROGRAM(x / over(s, x)));
  stays<ebb::float16>(EBB_PROGRAM(total(x * over(s, x))));
  stays<std::int32_t>(EBB_PROGRAM(total(x * over(s, x))));
}

TEST_CASE("relaxed: factors of one value become one factor") {
  CHECK(text_after(EBB_PROGRAM(x * over(s, x) * over(t, x))) ==
        "f = mul d e : f32\ng = broadcast f along 0 1 : f32[n, 3]\nh = mul a g : f32[n, 3]\nreturn h\n");
  CHECK(text_after(EBB_PROGRAM(3 * (x * 0.5f))) == "f = mul a 1.5 : f32[n, 3]\nreturn f\n");
  CHECK(text_after(EBB_PROGRAM((x * over(s, x)) * (y * 2))) ==
        "f = mul d 2.0 : f32\ng = mul a b : f32[n, 3]\nh = broadcast f along 0 1 : f32[n, 3]\ni = mul g h : f32[n, 3]\nreturn i\n");
  CHECK(text_after(EBB_PROGRAM(negative(x * over(s, x)))) ==
        "f = neg d : f32\ng = broadcast f along 0 1 : f32[n, 3]\nh = mul a g : f32[n, 3]\nreturn h\n");
  CHECK(text_after(EBB_PROGRAM(negative(x * 3))) == "f = mul a -3.0 : f32[n, 3]\nreturn f\n");
  CHECK(text_after(EBB_PROGRAM(negative(x) * over(s, x))) ==
        "f = neg d : f32\ng = broadcast f along 0 1 : f32[n, 3]\nh = mul a g : f32[n, 3]\nreturn h\n");
  stays(EBB_PROGRAM(x * over(s, x) * over(u, x)));  // repeated along other axes
  stays(EBB_PROGRAMS(x * over(s, x), one * over(t, x)));  // the value between is a result
  stays(EBB_PROGRAM(x * 0x1p-100f * 0x1p-100f));
}

TEST_CASE("relaxed: sums of multiples are multiples of sums") {
  CHECK(text_after(EBB_PROGRAM(x * over(s, x) + x * over(t, x))) ==
        "f = add d e : f32\ng = broadcast f along 0 1 : f32[n, 3]\nh = mul a g : f32[n, 3]\nreturn h\n");
  CHECK(text_after(EBB_PROGRAM(2 * x - x * over(t, x))) ==
        "f = sub 2.0 e : f32\ng = broadcast f along 0 1 : f32[n, 3]\nh = mul a g : f32[n, 3]\nreturn h\n");
  CHECK(text_after(EBB_PROGRAM(x + x * over(t, x))) ==
        "f = add 1.0 e : f32\ng = broadcast f along 0 1 : f32[n, 3]\nh = mul a g : f32[n, 3]\nreturn h\n");
  CHECK(text_after(EBB_PROGRAM(x * over(t, x) - x)) ==
        "f = sub e 1.0 : f32\ng = broadcast f along 0 1 : f32[n, 3]\nh = mul a g : f32[n, 3]\nreturn h\n");
  CHECK(text_after(EBB_PROGRAM(3 * x + 4 * x)) == "f = mul a 7.0 : f32[n, 3]\nreturn f\n");
  CHECK(text_after(EBB_PROGRAM(x * over(s, x) + y * over(s, x))) ==
        "f = broadcast d along 0 1 : f32[n, 3]\ng = add a b : f32[n, 3]\nh = mul g f : f32[n, 3]\nreturn h\n");
  CHECK(text_after(EBB_PROGRAM(x * y - x * x)) == "f = sub b a : f32[n, 3]\ng = mul f a : f32[n, 3]\nreturn g\n");
  CHECK(text_after(EBB_PROGRAMS(negative(x) - y, negative(x - y))) ==
        "f = add a b : f32[n, 3]\ng = neg f : f32[n, 3]\nh = sub b a : f32[n, 3]\nreturn g h\n");
  CHECK(text_after(EBB_PROGRAM((negative(x) - y) * 2)) == "f = add a b : f32[n, 3]\ng = mul f -2.0 : f32[n, 3]\nreturn g\n");
  stays(EBB_PROGRAM(3 * x - 3 * x));
  stays(EBB_PROGRAM(x + x));
  stays(EBB_PROGRAM(x * y + x));
}

TEST_CASE("relaxed: factors move out of sums") {
  CHECK(text_after(EBB_PROGRAM(total(x * over(s, x)))) == "f = sum a over 0 1 : f32\ng = mul f d : f32\nreturn g\n");
  CHECK(text_after(EBB_PROGRAM(total(x / over(s, x)))) == "f = sum a over 0 1 : f32\ng = div f d : f32\nreturn g\n");
  CHECK(text_after(EBB_PROGRAM(total(negative(x)))) == "f = sum a over 0 1 : f32\ng = neg f : f32\nreturn g\n");
  CHECK(text_after(EBB_PROGRAM(ebb::sum_over(x * over(u, x), 1))) == "f = sum a over 0 : f32[3]\ng = mul f c : f32[3]\nreturn g\n");
  CHECK(text_after(EBB_PROGRAM(total(ebb::emit_on<ebb::op::square>({}, x * over(s, x))))) ==
        "f = mul d d : f32\ng = square a : f32[n, 3]\nh = sum g over 0 1 : f32\ni = mul h f : f32\nreturn i\n");
  CHECK(text_after(EBB_PROGRAMS(total((x * over(s, x)) * y), total(negative(y) / x))) ==
        "f = mul a b : f32[n, 3]\ng = sum f over 0 1 : f32\nh = mul g d : f32\ni = div b a : f32[n, 3]\nj = sum i over 0 1 : f32\n"
        "l = neg j : f32\nreturn h l\n");
  CHECK(text_after(EBB_PROGRAM(total(x * over(s, x) + ebb::exp(y) * over(s, x)))) ==
        "f = exp b : f32[n, 3]\ng = add a f : f32[n, 3]\nh = sum g over 0 1 : f32\ni = mul h d : f32\nreturn i\n");
  stays(EBB_PROGRAM(ebb::sum_over(x * over(u, x), 2)));           // u differs along the axis that is summed
  stays(EBB_PROGRAMS(x * over(s, x), total(one)));      // the product is a result
  stays(EBB_PROGRAM(ebb::emit_on<ebb::op::max>({0, 2}, x * over(s, x))));
}

TEST_CASE("relaxed: factors move out of products of matrices, if those are smaller") {
  const auto product = [](int rows, int inner, int columns, std::int64_t flags, auto f) {
    const bool tx = flags & ebb::left_transposed, ty = flags & ebb::right_transposed;
    const graph g = test::build([&](test::builder& b) {
      const auto x = tx ? b.in({inner, rows}) : b.in({rows, inner}), y = ty ? b.in({columns, inner}) : b.in({inner, columns});
      const auto s = b.in({}), r = b.in({rows}), c = b.in({columns}), k = b.in({inner});
      const auto [p, q] = f(x, y, s, tx ? ebb::broadcast_to(r, x.shape_number(), 1) : ebb::broadcast_to(r, x.shape_number(), 2),
                            ty ? ebb::broadcast_to(c, y.shape_number(), 2) : ebb::broadcast_to(c, y.shape_number(), 1),
                            tx ? ebb::broadcast_to(k, x.shape_number(), 2) : ebb::broadcast_to(k, x.shape_number(), 1));
      return b.returns(ebb::emit_on<ebb::op::matmul>({flags}, p, q));
    });
    const graph after = ebb::relax(g);
    CHECK(test::error_text(after) == "");
    const std::string before = ebb::to_string(ebb::prune(ebb::simplify(g)));
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      const test::call c = test::random_call(g, seed, 3, false);
      const auto a = ebb::evaluate(g, c.arguments, c.symbols), z = ebb::evaluate(after, c.arguments, c.symbols);
      for (int i = 0; i < a[0].size(); ++i)
        CHECK(std::abs(ebb::from_cell<float>(a[0][i]) - ebb::from_cell<float>(z[0][i])) < 1e-4f);
    }
    return ebb::to_string(after) != before;
  };
  for (const std::int64_t flags : {0, 1, 2, 3}) {
    CAPTURE(flags);
    const auto scaled = [](auto x, auto y, auto s, auto, auto, auto) { return std::pair(x * over(s, x), y); };
    CHECK(product(2, 9, 4, flags, scaled));
    CHECK_FALSE(product(2, 3, 4, flags, scaled));  // 6 elements, but 8 of the result
    CHECK(product(2, 9, 4, flags, [](auto x, auto y, auto, auto r, auto, auto) { return std::pair(x * r, y); }));
    CHECK(product(2, 9, 4, flags, [](auto x, auto y, auto, auto, auto c, auto) { return std::pair(x, y * c); }));
    CHECK(product(2, 9, 4, flags, [](auto x, auto y, auto, auto r, auto c, auto) { return std::pair(-(x * r), y * c * 2); }));
    CHECK_FALSE(product(2, 9, 4, flags, [](auto x, auto y, auto, auto, auto, auto k) { return std::pair(x * k, y); }));
  }
}

namespace {

std::size_t offset_of(const ebb::shape& s, std::int64_t without, std::size_t flat) {
  std::size_t at = 0, stride = 1;
  std::size_t index[8] = {};
  for (int i = s.rank - 1; i >= 0; --i) index[i] = flat % static_cast<std::size_t>(s.e[i]), flat /= static_cast<std::size_t>(s.e[i]);
  for (int i = s.rank - 1; i >= 0; --i)
    if (!(without >> i & 1)) at += stride * index[i], stride *= static_cast<std::size_t>(s.e[i]);
  return at;
}

/// The sum over some axes of a product of matrices [2, 3, 4, 5] and [2, 3, 5, 6], each transposed or not.
template <class T>
graph sum_of_product(std::int64_t flags, std::int64_t axes, bool is_read = false) {
  return test::build([&](test::builder& b) {
    const bool tx = flags & ebb::left_transposed, ty = flags & ebb::right_transposed;
    const auto x = tx ? b.in<T>({2, 3, 5, 4}) : b.in<T>({2, 3, 4, 5}), y = ty ? b.in<T>({2, 3, 6, 5}) : b.in<T>({2, 3, 5, 6});
    const auto product = ebb::emit_on<ebb::op::matmul>({flags}, x, y), sum = ebb::sum_over(product, axes);
    return is_read ? b.returns(sum, product) : b.returns(sum);
  });
}
/// The multiplications of all products of matrices.
int multiplications(const graph& g) {
  int n = 0;
  for (int k = 0; k < g.size(); ++k)
    if (g.op(k).what == ebb::kind::contract) n += static_cast<int>(ebb::detail::operation_count(g).of(k));
  return n;
}
/// Checks a relaxed sum of a product against long double, and gives its multiplications.
template <class T>
int of_relaxed_sum(std::int64_t flags, std::int64_t axes) {
  const graph g = sum_of_product<T>(flags, axes), after = ebb::relax(g);
  CHECK(test::error_text(after) == "");
  CHECK(ebb::to_string(ebb::relax(after)) == ebb::to_string(after));
  const bool tx = flags & ebb::left_transposed, ty = flags & ebb::right_transposed;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const test::call c = test::random_call(g, seed, 3, false);
    const auto got = ebb::evaluate(after, c.arguments, c.symbols)[0];
    const auto at = [&](int j, int i) { return static_cast<long double>(ebb::from_cell<T>(c.arguments[j][i])); };
    std::vector<long double> want(static_cast<std::size_t>(got.size()), 0), terms = want;
    const ebb::shape& s = g.shape_of(g.operand(g.out[0], 0));
    for (int e = 0; e < 6 * 4 * 6; ++e) {
      const int batch = e / 24, i = e / 6 % 4, j = e % 6;
      const std::size_t to = offset_of(s, axes, static_cast<std::size_t>(e));
      for (int p = 0; p < 5; ++p) {
        const long double term = at(0, batch * 20 + (tx ? p * 4 + i : i * 5 + p)) * at(1, batch * 30 + (ty ? j * 5 + p : p * 6 + j));
        want[to] += term;
        terms[to] += std::fabs(term);
      }
    }
    // 5 terms, and as many as there are elements of the product for each result: the bound of the program as written.
    const long double written = 5 + 144.0L / static_cast<long double>(want.size()) - 1;
    for (std::size_t i = 0; i < want.size(); ++i) {
      const long double off = std::fabs(static_cast<long double>(ebb::from_cell<T>(got[static_cast<int>(i)])) - want[i]);
      CHECK(off <= 2 * written * terms[i] * std::numeric_limits<T>::epsilon() / 2);
    }
  }
  return multiplications(after);
}

}  // namespace

TEST_CASE("relaxed: a sum of a product is a product of sums") {
  CHECK(text_after(EBB_PROGRAM(ebb::sum_over(transposed_product(x, y), 1))) ==
        "f = matmul 1.0 a : f32[1, 3]\ng = matmul f b^T : f32[1, n]\nh = reshape g : f32[n]\nreturn h\n");
  CHECK(text_after(EBB_PROGRAM(ebb::sum_over(transposed_product(x, y), 2))) ==
        "f = matmul 1.0 b : f32[1, 3]\ng = matmul a f^T : f32[n, 1]\nh = reshape g : f32[n]\nreturn h\n");
  CHECK(text_after(EBB_PROGRAM(total(transposed_product(x, y)))) ==
        "f = matmul 1.0 a : f32[1, 3]\ng = matmul 1.0 b : f32[1, 3]\nh = matmul f g^T : f32[1, 1]\ni = reshape h : f32\nreturn i\n");
  // The product is read elsewhere; a sum of float16 overflows too soon; of integers it is not asked for.
  stays_as_it_is(sum_of_product<float>(0, 4, true));
  stays_as_it_is(sum_of_product<ebb::float16>(0, 4));
  stays_as_it_is(sum_of_product<ebb::bfloat16>(0, 12));
  stays_as_it_is(sum_of_product<std::int64_t>(0, 12));
  stays_as_it_is(sum_of_product<float>(0, 3));  // along the batch alone
  stays_as_it_is(test::build([](test::builder& b) {  // one small product takes less time than further steps
    return b.returns(total(ebb::emit_on<ebb::op::matmul>({}, b.in({4, 4}), b.in({4, 4}))));
  }));
  for (const std::int64_t flags : {0, 1, 2, 3}) {
    CAPTURE(flags);
    const int batch = 6, rows = batch * 4 * 5, columns = batch * 5 * 6;  // to add the rows of x, or the columns of y
    CHECK(of_relaxed_sum<float>(flags, 4) == rows + batch * 5 * 6);
    CHECK(of_relaxed_sum<float>(flags, 8) == columns + batch * 4 * 5);
    CHECK(of_relaxed_sum<float>(flags, 12) == rows + columns + batch * 5);
    CHECK(of_relaxed_sum<float>(flags, 15) == rows + columns + batch * 5);
    CHECK(of_relaxed_sum<float>(flags, 6) == rows + batch * 5 * 6);
    CHECK(of_relaxed_sum<double>(flags, 4) == rows + batch * 5 * 6);
    CHECK(of_relaxed_sum<double>(flags, 14) == rows + columns + batch * 5);
    CHECK(of_relaxed_sum<double>(flags, 15) == rows + columns + batch * 5);
  }
}

TEST_CASE("relaxed: a literal zero makes products zero") {
  CHECK(text_after(EBB_PROGRAM(x * 0)) == "f = 0.0 : f32[n, 3]\nreturn f\n");
  CHECK(text_after(EBB_PROGRAMS(x + y * -0.0f, 0 - y)) == "f = neg b : f32[n, 3]\nreturn a f\n");
  CHECK(text_after(EBB_PROGRAMS(total(x * 0), transposed_product(x * 0, y))) ==
        "f = 0.0 : f32\ng = 0.0 : f32[n, n]\nreturn f g\n");
  CHECK(text_after(EBB_PROGRAM(ebb::emit_on<ebb::op::concat>({1}, x * 0, y * 0))) == "f = 0.0 : f32[n, 6]\nreturn f\n");
  stays(EBB_PROGRAM(ebb::emit_on<ebb::op::concat>({1}, x, ebb::literal_like(y, 0))));
  stays(EBB_PROGRAM(ebb::literal_like(x, 0) / x));
}

TEST_CASE("relaxed: operations on repeated values come before they are repeated") {
  CHECK(text_after(EBB_PROGRAM(x + ebb::exp(over(s, x)) * 2)) ==
        "f = exp d : f32\ng = mul f 2.0 : f32\nh = broadcast g along 0 1 : f32[n, 3]\ni = add a h : f32[n, 3]\nreturn i\n");
  CHECK(text_after(EBB_PROGRAM(x + over(s, x) / over(t, x))) ==
        "f = div d e : f32\ng = broadcast f along 0 1 : f32[n, 3]\nh = add a g : f32[n, 3]\nreturn h\n");
  stays(EBB_PROGRAM(over(s, x) + over(u, x)));
}

namespace {

/// A program of one dtype whose operations have a first-order bound of their error; it divides by products of arguments alone.
template <class T>
class bounded_program {
 public:
  explicit bounded_program(std::uint64_t seed) : r_{seed * 104729 + 7} {
    for (const auto& extents : {std::initializer_list<int>{4, 5}, {4, 5}, {5, 4}, {5}, {4}, {}, {}}) {
      values_.push_back(b_.in<T>(extents).id);
      divisors_.push_back(values_.back());
    }
    for (int i = 0; i < 16; ++i) step();
    for (int i = 0; i < 3; ++i) b_.g.out.push(values_[values_.size() - 1 - static_cast<std::size_t>(i)]);
  }
  graph take() const { return ebb::canonical_shapes(b_.g); }

 private:
  using term = ebb::operand<T>;
  int any(const std::vector<int>& of) { return of[static_cast<std::size_t>(r_.below(static_cast<int>(of.size())))]; }
  term at(int k) { return {&b_.g, k}; }
  /// One of them, repeated to the shape of x where it has fewer axes; -1 if none fits.
  int like(term x, const std::vector<int>& of) {
    for (int i = 0; i < 12; ++i) {
      const term y = at(any(of));
      if (y.shape_number() == x.shape_number()) return y.id;
      if (x.rank() == 2 && y.rank() == 0) return ebb::broadcast_to(y, x.shape_number(), 3).id;
      if (x.rank() == 1 && y.rank() == 0) return ebb::broadcast_to(y, x.shape_number(), 1).id;
      if (x.rank() == 2 && y.rank() == 1 && y.extent(0) == x.extent(1)) return ebb::broadcast_to(y, x.shape_number(), 1).id;
      if (x.rank() == 2 && y.rank() == 1 && y.extent(0) == x.extent(0)) return ebb::broadcast_to(y, x.shape_number(), 2).id;
    }
    return -1;
  }
  void step() {
    const term x = at(any(values_));
    const int other = like(x, values_), divisor = like(x, divisors_);
    constexpr double literals[] = {0.1, 3, -7, 0.5, 1, 0};
    const double c = literals[r_.below(6)];
    int k = -1;
    switch (r_.below(13)) {
      case 0: case 1: k = other < 0 ? -1 : (x * at(other)).id; break;
      case 2: k = other < 0 ? -1 : (x + at(other)).id; break;
      case 3: k = other < 0 ? -1 : (x - at(other)).id; break;
      case 4: case 5: k = divisor < 0 ? -1 : (x / at(divisor)).id; break;
      case 6: k = (-x).id; break;
      case 7: k = ebb::emit_on<ebb::op::square>({}, x).id; break;
      case 8: k = (x * ebb::literal_like(x, c)).id; break;
      case 9: k = c == 0 ? -1 : (x / ebb::literal_like(x, c)).id; break;
      case 10: k = x.rank() == 0 ? -1 : ebb::sum_over(x, r_.chance(2) ? 1 : (1 << x.rank()) - 1).id; break;
      case 11: k = ebb::tanh(x).id; break;
      default: {
        const term y = at(any(values_));
        if (x.rank() == 2 && y.rank() == 2 && x.extent(1) == y.extent(0)) k = ebb::emit_on<ebb::op::matmul>({}, x, y).id;
      }
    }
    if (k < 0) return;
    values_.push_back(k);
  }

  test::builder b_;
  test::random r_;
  std::vector<int> values_, divisors_;
};

/// A value, the bound of the error of the program that computes it as written, in units of half an ulp of 1, and the sum of its absolute
/// terms: of a product those that it adds, else the value itself.
struct bounded {
  std::vector<long double> value, error, terms;
};

/// Evaluates the ops of bounded_program in long double. Sums are of at most 20 elements: chains are the worst order.
std::vector<bounded> evaluate_bounded(const graph& g, const std::vector<std::vector<long double>>& arguments) {
  std::vector<bounded> of;
  for (int k = 0; k < g.size(); ++k) {
    const ebb::equation& e = g.eq[k];
    const ebb::shape& s = g.shape_of(k);
    std::size_t count = 1;
    for (int i = 0; i < s.rank; ++i) count *= static_cast<std::size_t>(s.e[i]);
    bounded r{std::vector<long double>(count, 0), std::vector<long double>(count, 0), std::vector<long double>(count, 0)};
    const auto in = [&](int j) -> const bounded& { return of[static_cast<std::size_t>(g.operand(k, j))]; };
    const std::string name(e.op->name);
    if (name == "input") r.value = arguments[static_cast<std::size_t>(e.attr[0])];
    else if (name == "literal")
      r.value.assign(count, static_cast<long double>(ebb::rewriting::number_of(e.op->result, static_cast<ebb::cell>(e.attr[0]))));
    else if (name == "sum") {
      const ebb::shape& from = g.shape_of(g.operand(k, 0));
      std::int64_t axes = 0;
      for (auto i = e.attr[0]; i < e.attr[1]; ++i) axes |= std::int64_t{1} << i;
      const auto terms = static_cast<long double>(in(0).value.size() / count);
      for (std::size_t i = 0; i < in(0).value.size(); ++i) {
        const std::size_t to = offset_of(from, axes, i);
        r.value[to] += in(0).value[i];
        r.error[to] += in(0).error[i] + (terms - 1) * in(0).terms[i];
      }
    } else if (name == "matmul") {
      const auto inner = static_cast<std::size_t>(g.shape_of(g.operand(k, 0)).e[1]), columns = static_cast<std::size_t>(s.e[1]);
      for (std::size_t i = 0; i < count; ++i)
        for (std::size_t j = 0; j < inner; ++j) {
          const std::size_t a = i / columns * inner + j, b = j * columns + i % columns;
          const long double x = in(0).value[a], y = in(1).value[b];
          r.value[i] += x * y;
          r.terms[i] += std::fabs(x * y);
          r.error[i] += std::fabs(x) * in(1).error[b] + std::fabs(y) * in(0).error[a] + static_cast<long double>(inner) * std::fabs(x * y);
        }
    } else
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t at = name == "broadcast" ? offset_of(s, e.attr[0], i) : i;
        const long double x = in(0).value[at], ex = in(0).error[at];
        const long double y = e.count > 1 ? in(1).value[i] : 0, ey = e.count > 1 ? in(1).error[i] : 0;
        long double v = x, error = ex;
        if (name == "add") v = x + y, error = ex + ey + std::fabs(v);
        else if (name == "sub") v = x - y, error = ex + ey + std::fabs(v);
        else if (name == "mul") v = x * y, error = std::fabs(x) * ey + std::fabs(y) * ex + std::fabs(v);
        else if (name == "div") v = x / y, error = (ex + std::fabs(v) * ey) / std::fabs(y) + std::fabs(v);
        else if (name == "neg") v = -x;
        else if (name == "square") v = x * x, error = 2 * std::fabs(x) * ex + std::fabs(v);
        else if (name == "tanh") v = std::tanh(x), error = (1 - v * v) * ex + 4 * std::fabs(v);
        else REQUIRE(name == "broadcast");
        r.value[i] = v;
        r.error[i] = error;
      }
    if (name != "matmul")
      for (std::size_t i = 0; i < count; ++i) r.terms[i] = std::fabs(r.value[i]);
    of.push_back(std::move(r));
  }
  return of;
}

template <class T>
void check_bounds() {
  int changed = 0, checked = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const graph g = ebb::prune(bounded_program<T>(seed).take()), after = ebb::relax(g);
    INFO("seed " << seed << "\n" << ebb::to_string(g) << "relaxed\n" << ebb::to_string(after));
    REQUIRE(test::error_text(after) == "");
    changed += ebb::to_string(after) != ebb::to_string(ebb::prune(ebb::simplify(g)));
    test::random r{seed};
    std::vector<std::vector<long double>> arguments;
    ebb::vec<ebb::cell_array> cells(g.inputs, ebb::cell_array{});
    for (int i = 0; i < g.inputs; ++i) {
      const ebb::shape& s = g.shape_of(g.input(i));
      std::size_t count = 1;
      for (int a = 0; a < s.rank; ++a) count *= static_cast<std::size_t>(s.e[a]);
      arguments.emplace_back();
      for (std::size_t j = 0; j < count; ++j) {
        const T x = static_cast<T>(r.between(0.4, 2.5) * (r.chance(2) ? 1 : -1));
        arguments.back().push_back(x);
        cells[i].push(ebb::to_cell(x));
      }
    }
    const std::vector<bounded> want = evaluate_bounded(g, arguments);
    const auto written = ebb::evaluate(g, cells, {}), got = ebb::evaluate(after, cells, {});
    for (int o = 0; o < g.out.size(); ++o) {
      const bounded& w = want[static_cast<std::size_t>(g.out[o])];
      for (int i = 0; i < got[o].size(); ++i) {
        const auto at = static_cast<std::size_t>(i);
        const long double half_ulp = std::numeric_limits<T>::epsilon() / 2, unit = 1.001L * half_ulp * w.error[at];
        INFO("result " << o << " element " << i);
        REQUIRE(std::fabs(static_cast<long double>(ebb::from_cell<T>(written[o][i])) - w.value[at]) <= unit);
        REQUIRE(std::fabs(static_cast<long double>(ebb::from_cell<T>(got[o][i])) - w.value[at]) <= 2 * unit);
        ++checked;
      }
    }
  }
  CHECK(changed > 200);
  CHECK(checked > 4000);
}

}  // namespace

TEST_CASE("relaxed: random programs are within twice the bound of the program as written, float") { check_bounds<float>(); }
TEST_CASE("relaxed: random programs are within twice the bound of the program as written, double") { check_bounds<double>(); }

TEST_CASE("relaxed: random graphs are valid, and compute no more") {
  int changed = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const graph g = seed % 3 ? test::random_graph_of(seed, 40).take() : test::make_random_loop(seed, 4).g;
    const graph simple = ebb::prune(ebb::simplify(g)), after = ebb::relax(g);
    INFO("seed " << seed << "\n" << ebb::to_string(g));
    CHECK(test::error_text(after) == "");
    CHECK(after.simplified == after.size());
    CHECK(ebb::detail::operation_count(after).total() <= ebb::detail::operation_count(simple).total());
    REQUIRE(after.out.size() == g.out.size());
    for (int o = 0; o < g.out.size(); ++o) CHECK(after.op(after.out[o]).result == g.op(g.out[o]).result);
    changed += ebb::to_string(after) != ebb::to_string(simple);
  }
  CHECK(changed > 50);
}

TEST_CASE("relaxed: the pass runs where a graph brings it, after the exact rules") {
  graph g = test::build([](test::builder& b) {
    const auto x = b.in({n}), s = b.in({});
    return b.returns(ebb::sum_over(x / ebb::broadcast_to(s, x.shape_number(), 1), 1));
  });
  const auto stages_of = [](auto&& run) {
    const test::watched_stages seen;
    run();
    return seen.error.empty() ? seen.names : seen.error;
  };
  CHECK(stages_of([&] { ebb::lowered<ebb::watched>(ebb::exact<ebb::watched>(g)); }) == "simplified, lowered");
  g.brings = {true, &ebb::relax};
  CHECK(stages_of([&] { ebb::lowered<ebb::watched>(ebb::exact<ebb::watched>(g)); }) == "simplified, relaxed, lowered");
  CHECK(stages_of([&] { ebb::value_and_gradient<ebb::watched>(g, {0, 1}); }) == "differentiated, simplified, relaxed");
  CHECK_FALSE(ebb::lowered(ebb::exact(g)).brings.there);
}

namespace {

/// sum-free programs of x, s and a literal, at one point.
double relaxed_at(double x, double s, auto f) {
  const graph g = ebb::relax(test::build([&](test::builder& b) {
    const auto a = b.in<double>({2}), c = b.in<double>({});
    return b.returns(f(a, ebb::broadcast_to(c, a.shape_number(), 1)));
  }));
  const auto r = ebb::evaluate(g, {ebb::cell_array{ebb::to_cell(x), ebb::to_cell(x)}, ebb::cell_array{ebb::to_cell(s)}}, {});
  return ebb::from_cell<double>(r[0][0]);
}

}  // namespace

TEST_CASE("relaxed: special values are as documented") {
  constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const auto quotient = [](auto x, auto s) { return x / s; };
  for (const double x : {0.0, -0.0, 1.0, -2.5, inf, -inf, nan})
    for (const double s : {0.0, -0.0, 1.0, -2.0, inf, -inf, nan, 0x1p-1022, 0x1p1022}) {
      CAPTURE(x, s);
      const double got = relaxed_at(x, s, quotient), want = x / s;
      CHECK((got == want || (std::isnan(got) && std::isnan(want))));
      CHECK((std::isnan(want) || std::signbit(got) == std::signbit(want)));
    }
  // Reciprocals that overflow, and subnormal ones.
  CHECK(relaxed_at(0x1p-1030, 0x1p-1030, quotient) == inf);
  CHECK(std::isnan(relaxed_at(0, 0x1p-1030, quotient)));
  CHECK(relaxed_at(0x1.8p1023, 0x1.8p1023, quotient) != 1);
  CHECK(std::fabs(relaxed_at(0x1.8p1023, 0x1.8p1023, quotient) - 1) < 0x1p-48);
  // A NaN stays, unless a literal zero takes it away.
  const auto combination = [](auto x, auto s) { return (x * s + x * 2) / s; };
  CHECK(std::isnan(relaxed_at(nan, 1, combination)));
  CHECK(std::isnan(relaxed_at(1, nan, combination)));
  CHECK(relaxed_at(nan, 1, [](auto x, auto s) { return x * 0 + s; }) == 1);
  CHECK(relaxed_at(inf, 1, [](auto x, auto s) { return x * 0 + s; }) == 1);
  // As written NaN.
  CHECK(relaxed_at(inf, 1, [](auto x, auto s) { return x * 2 - x * s; }) == inf);
  // As written finite.
  CHECK(relaxed_at(0x1p-600, 0x1p600, [](auto x, auto s) { return (x * s) * s; }) == inf);
}

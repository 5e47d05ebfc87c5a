// test/autograd/function.cpp — custom functions: their operands, results and saved tensors, and refused uses.
// SPDX-License-Identifier: BSL-1.0
// covers: function.hpp function_node.hpp function_types.hpp any_tensor.hpp
#include "../catch.hpp"

#include <ebb/ebb.hpp>

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace {

using test::raised;

using array = ebb::tensor<double, ebb::dyn>;
using var = ebb::variable<double, ebb::dyn>;
using scalar = ebb::variable<double>;

constexpr auto product = ebb::compile([](auto x, auto y) { return x * y; });
constexpr auto total = ebb::compile([](auto x) { return ebb::sum(x); });

array each(const array& a, auto f) {
  array r = a;
  for (double* p = r.mutable_data(); p != r.mutable_data() + r.size(); ++p) *p = f(*p);
  return r;
}
array each(const array& a, const array& b, auto f) {
  array r = a;
  for (std::size_t i = 0; i < r.size(); ++i) r.mutable_data()[i] = f(a(i), b(i));
  return r;
}
array filled(std::size_t n, double value) {
  array a(ebb::layout<ebb::dyn>{n});
  return each(a, [&](double) { return value; });
}

/// sin: saves its operand and counts its calls.
struct counted_sine {
  struct counts {
    int forward = 0, backward = 0, alive = 0;
  };
  explicit counted_sine(counts& c) : at(std::shared_ptr<counts>(&c, [](counts* p) { --p->alive; })) { ++c.alive; }

  array forward(const array& x) {
    ++at->forward;
    kept = x;
    return each(x, [](double v) { return std::sin(v); });
  }
  array backward(const array& g) {
    ++at->backward;
    return each(g, kept, [](double a, double x) { return a * std::cos(x); });
  }

  std::shared_ptr<counts> at;
  array kept;
};

}  // namespace

TEST_CASE("CA-70, CA-80, CA-81: a function saves one array of any size, and frees it after its backward") {
  for (std::size_t n : {10u, 100u, 10u, 15u, 20u, 25u}) {
    counted_sine::counts c;
    const var x(filled(n, 0.5));
    {
      const var y = ebb::apply(counted_sine(c), x);
      CHECK(y.name() == "counted_sine");
      CHECK_FALSE(y.is_leaf());
      CHECK(c.alive == 1);
      const scalar out = total(y);
      ebb::backward(out, {.retain_graph = true});
      CHECK(c.alive == 1);
      out.backward();
      CHECK(c.alive == 0);
      CHECK(raised([&] { out.backward(); }).find("counted_sine saved is gone") != std::string::npos);
    }
    CHECK(ebb::all_equal(x.grad().value(), filled(n, 2 * std::cos(0.5))));
    CHECK(c.forward == 1);
    CHECK(c.backward == 2);
  }
  counted_sine::counts c;
  const var x(filled(3, 0.5));
  static_cast<void>(ebb::apply(counted_sine(c), x));
  CHECK(c.alive == 0);
  const ebb::no_grad off;
  const var y = ebb::apply(counted_sine(c), x);
  CHECK_FALSE(y.requires_grad());
  CHECK(c.alive == 0);
}

namespace {

/// x y, with both saved: arrays are shared, so one array used twice is stored once.
struct product_of_two {
  static constexpr const char* name = "user.product";
  array x, y;
  array forward(const array& a, const array& b) {
    x = a;
    y = b;
    return each(a, b, [](double u, double v) { return u * v; });
  }
  std::tuple<array, array> backward(const array& g) const {
    const auto by = [&](const array& v) { return each(g, v, [](double a, double b) { return a * b; }); };
    return {by(y), by(x)};
  }
};

/// g n, where n is the size of a saved array or an attribute.
struct scaled_by_size {
  bool from_attribute;
  array kept;
  std::size_t size = 0;
  double forward(const array& x) {
    if (from_attribute) size = x.size();
    else kept = x;
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += x(i);
    return sum;
  }
  array backward(double g) {
    const std::size_t n = from_attribute ? size : kept.size();
    return filled(n, g * static_cast<double>(n));
  }
};

}  // namespace

TEST_CASE("CA-71, CA-72, CA-73: a function saves several arrays, one array twice, sizes and attributes") {
  const var x(filled(4, 3)), y(filled(4, 5));
  const var z = ebb::apply(product_of_two{}, x, y);
  CHECK(z.name() == "user.product");
  total(z).backward();
  CHECK(ebb::all_equal(x.grad().value(), filled(4, 5)));
  CHECK(ebb::all_equal(y.grad().value(), filled(4, 3)));
}

TEST_CASE("CA-72, CA-73: a backward takes a size from a saved array or from an attribute") {
  for (std::size_t n : {3u, 7u})
    for (bool from_attribute : {false, true}) {
      const var x(filled(n, 2));
      const scalar y = ebb::apply(scaled_by_size{from_attribute, {}}, x);
      CHECK(y.item() == 2. * static_cast<double>(n));
      y.backward();
      CHECK(ebb::all_equal(x.grad().value(), filled(n, static_cast<double>(n))));
    }
}

namespace {

/// Returns an operand, an integer and a product; gradients that did not arrive are undefined.
struct several_results {
  std::vector<std::string>* log;
  int power;
  array a;
  std::tuple<array, int, array> forward(const array& x, int p, const array& y) {
    power = p;
    a = y;
    return {x, p + 1, each(x, y, [](double u, double v) { return u * v; })};
  }
  std::tuple<array, ebb::no_gradient> backward(const std::optional<array>& passed, const std::optional<array>& g) {
    log->push_back(std::string(passed ? "1" : "0") + (g ? "1" : "0"));
    array sum = filled(a.size(), 0);
    if (passed) sum = each(sum, *passed, [](double u, double v) { return u + v; });
    if (g) sum = each(sum, each(*g, a, [](double u, double v) { return u * v; }), [](double u, double v) { return u + v; });
    return {sum, ebb::nothing};
  }
};

}  // namespace

TEST_CASE("CA-74, CA-75: a function takes numbers, returns several results, one an operand, and gets undefined gradients") {
  std::vector<std::string> log;
  const var x(filled(2, 3)), y(filled(2, 5));
  for (int uses : {1, 2, 3}) {
    var(x).zero_grad();
    const auto [same, next, z] = ebb::apply(several_results{&log, 0, {}}, x, 7, y);
    STATIC_REQUIRE(std::is_same_v<decltype(next), const int>);
    CHECK(next == 8);
    CHECK(same.data() == x.data());
    CHECK(same.requires_grad());
    if (uses == 1) total(same).backward();
    if (uses == 2) total(z).backward();
    if (uses == 3) total(product(same, z)).backward();  // x x y
    CHECK(ebb::all_equal(x.grad().value(), filled(2, uses == 1 ? 1 : uses == 2 ? 5 : 2 * 3 * 5)));
    CHECK_FALSE(y.grad().defined());
  }
  CHECK(log == std::vector<std::string>{"10", "01", "11"});
}

TEST_CASE("golden: a gradient that a backward does not give stays undefined") {
  struct twice_first {
    array forward(const array& u, const array&) const {
      return each(u, [](double v) { return 2 * v; });
    }
    std::tuple<array, ebb::no_gradient> backward(const array& g) const {
      return {each(g, [](double v) { return 2 * v; }), {}};
    }
  };
  const var x(array{1, -2, 0.5}), w(array{2, 0.25, -1});
  int calls = 0;
  w.register_hook([&](const array&) { ++calls; });
  total(ebb::apply(twice_first{}, x, w)).backward();
  CHECK(ebb::all_equal(x.grad().value(), array{2, 2, 2}));
  CHECK_FALSE(w.grad().defined());
  CHECK(calls == 0);  // PyTorch calls it with None; a hook on values only gets values
}

namespace {

struct narrow_double {
  using narrow = ebb::tensor<ebb::bfloat16, ebb::dyn>;
  static narrow twice(narrow x) {
    for (auto* p = x.mutable_data(); p != x.mutable_data() + x.size(); ++p) *p = static_cast<ebb::bfloat16>(2 * static_cast<float>(*p));
    return x;
  }
  narrow forward(const narrow& x) const { return twice(x); }
  narrow backward(const narrow& g) const { return twice(g); }
};
template <int>
struct scaled_by {
  double c;
  array forward(const array& x) const {
    return each(x, [&](double v) { return v * c; });
  }
  array backward(const array& g) const {
    return each(g, [&](double v) { return v * c; });
  }
};

}  // namespace

TEST_CASE("CA-76: gradients keep their dtype") {
  const ebb::variable x(narrow_double::narrow{ebb::bfloat16(1.f), ebb::bfloat16(3.f)});
  const auto y = ebb::apply(narrow_double{}, x);
  y.backward(narrow_double::narrow{ebb::bfloat16(1.f), ebb::bfloat16(0.5f)});
  CHECK(static_cast<float>(x.grad().value()(0)) == 2);
  CHECK(static_cast<float>(x.grad().value()(1)) == 1);
}

TEST_CASE("CA-77, CA-78, CA-82, CA-85: a type is one program, and the object holds the state of each call") {
  const var x(filled(2, 1));
  for (double c : {10., 20., 30., 1.1}) {
    var(x).zero_grad();
    const var y = ebb::apply(scaled_by<0>{c}, x), z = ebb::apply(scaled_by<1>{c}, x);
    const auto program = [](const var& v) { return static_cast<const ebb::node*>(v.history())->program; };
    static const auto first = program(y);
    CHECK(program(y) == first);
    CHECK(program(z) != first);
    total(product(y, z)).backward();
    CHECK(ebb::all_equal(x.grad().value(), filled(2, c * c + c * c)));
  }
}

TEST_CASE("CA-79, CA-83, CA-84, CA-86: a function may save anything, and its backward may do anything") {
  struct collector {
    std::map<std::string, int>* seen;
    std::map<std::string, int> kept;
    std::vector<std::string> names;
    bool extra = false;
    std::optional<array> more;
    array forward(const array& x, int i, bool with_extra, std::vector<std::string> list) {
      kept["i"] = i;
      names = std::move(list);
      if ((extra = with_extra)) more = x;
      return each(x, [&](double v) { return v * i; });
    }
    array backward(const array& g) {
      for (const std::string& n : names) ++(*seen)[n];
      (*seen)["sum"] += kept["i"];
      return each(g, [&](double v) { return v * kept["i"] + (more ? 1 : 0); });
    }
  };
  std::map<std::string, int> seen;
  for (int i : {1, 2, 3, 1}) {
    const var x(filled(2, 1));
    total(ebb::apply(collector{&seen, {}, {}, false, {}}, x, i, i == 2, std::vector<std::string>{"a", "b"})).backward();
    CHECK(ebb::all_equal(x.grad().value(), filled(2, i + (i == 2))));
  }
  CHECK(seen == std::map<std::string, int>{{"a", 4}, {"b", 4}, {"sum", 7}});
}

TEST_CASE("CA-87: a hook replays random numbers from a saved generator state") {
  const auto draw = [](unsigned& state) { return static_cast<double>((state = state * 1664525u + 1013904223u) >> 8); };
  const var x(array{1, 2});
  unsigned state = 7, plain = 7;
  for (int pass = 0; pass < 2; ++pass) {
    const unsigned kept = state;
    const var y = product(x, x);
    y.register_hook([&, kept](const array& g) {
      state = kept;
      const double r = draw(state);
      return each(g, [&](double v) { return v * r; });
    });
    var(x).zero_grad();
    draw(state);
    total(y).backward();
    const double r = draw(plain);
    CHECK(ebb::all_equal(x.grad().value(), array{2 * r, 4 * r}));
    CHECK(state == plain);
  }
}

TEST_CASE("CA-89: a backward draws its random numbers also if they are unused") {
  struct drawing {
    unsigned* state;
    array forward(const array& x) const { return x; }
    array backward(const array& g) const {
      *state = *state * 1664525u + 1013904223u;
      return g;
    }
  };
  unsigned state = 1, plain = 1;
  const var x(filled(2, 1));
  total(ebb::apply(drawing{&state}, x)).backward();
  CHECK(state == plain * 1664525u + 1013904223u);
  CHECK(ebb::all_equal(x.grad().value(), filled(2, 1)));
}

TEST_CASE("CA-90: a callback that a backward queues runs once, after all gradients") {
  struct queuing {
    int* calls;
    const var* x;
    array forward(const array& v) const { return v; }
    array backward(const array& g) const {
      ebb::queue_callback([c = calls, v = x] { *c += v->grad().defined() ? 1 : 100; });
      return g;
    }
  };
  int calls = 0;
  const var x(filled(2, 1));
  total(ebb::apply(queuing{&calls, &x}, x)).backward();
  CHECK(calls == 1);
}

TEST_CASE("forward and backward know which operands need a gradient") {
  struct asking {
    std::vector<std::string>* log;
    std::array<bool, 2> needs_input_grad;
    void note() const { log->push_back(std::string(needs_input_grad[0] ? "1" : "0") + (needs_input_grad[1] ? "1" : "0")); }
    array forward(const array& x, const array& y) const {
      note();
      return each(x, y, [](double u, double v) { return u + v; });
    }
    std::tuple<array, std::optional<array>> backward(const array& g) const {
      note();
      return {g, needs_input_grad[1] ? std::optional(g) : std::nullopt};
    }
  };
  std::vector<std::string> log;
  const var x(filled(2, 1)), y(filled(2, 1));
  const var constant = [&] {
    const ebb::no_grad off;
    return product(x, x);
  }();
  total(ebb::apply(asking{&log, {}}, x, constant)).backward();
  const scalar out = total(ebb::apply(asking{&log, {}}, x, y));
  ebb::backward(out, {.retain_graph = true, .inputs = {y}});
  ebb::backward(out, {.inputs = {x, y}});
  CHECK(log == std::vector<std::string>{"10", "10", "11", "01", "11"});
  CHECK(ebb::all_equal(x.grad().value(), filled(2, 2)));
  CHECK(ebb::all_equal(y.grad().value(), filled(2, 2)));
}

namespace {

/// x^3, with a backward for arrays and for variables.
struct cube {
  array forward(const array& x) const {
    return each(x, [](double v) { return v * v * v; });
  }
  auto backward(const auto& g, const auto& x) const { return product(g, product(x, x)) * 3.; }
};
/// As cube; for values it uses the saved tensor, and it records from the operand.
struct cube_that_keeps {
  array squares;
  array forward(const array& x) {
    squares = each(x, [](double v) { return v * v; });
    return each(squares, x, [](double u, double v) { return u * v; });
  }
  array backward(const array& g) {
    return each(g, squares, [](double u, double v) { return 3 * u * v; });
  }
  var backward(const var& g, const var& x) { return product(g, product(x, x)) * 3.; }
};

}  // namespace

TEST_CASE("a backward on variables is differentiated, with the values that its leaves had in the forward") {
  const auto check = [](auto f) {
    var x(array{1, 2});
    const var y = ebb::apply(f, x);
    x.assign(array{100, 100});
    const var g = ebb::grad(total(y), ebb::wrt(x), {.create_graph = true});
    CHECK(ebb::all_equal(g.value(), array{3, 12}));
    const var h = ebb::grad(total(g), ebb::wrt(x), {.create_graph = true});
    CHECK(ebb::all_equal(h.value(), array{6, 12}));
    CHECK(ebb::all_equal(ebb::grad(total(h), ebb::wrt(x)).value(), array{6, 6}));
  };
  check(cube{});
  check(cube_that_keeps{});
  const var x(array{1, 2});
  total(ebb::apply(cube{}, product(x, x))).backward();
  CHECK(ebb::all_equal(x.grad().value(), array{6, 6 * 32}));

#if EBB_EXCEPTIONS
  counted_sine::counts c;
  const scalar y = total(ebb::apply(counted_sine(c), x));
  CHECK(raised([&] { ebb::grad(y, ebb::wrt(x), {.create_graph = true}); }) ==
        "ebb::grad: counted_sine cannot be differentiated twice: its backward is opaque; write it on variables, or leave create_graph out");
  CHECK(c.backward == 0);
#endif
}

TEST_CASE("saved_tensors_hooks see the operands that a backward saves") {
  int packed = 0, unpacked = 0;
  const var x(array{1, 2});
  const var y = [&] {
    const ebb::saved_tensors_hooks scope([&](const ebb::any_tensor& t) { return ++packed, t; },
                                         [&](const ebb::any_tensor& t) { return ++unpacked, t; });
    return ebb::apply(cube{}, x);
  }();
  CHECK(packed == 1);
  CHECK(unpacked == 0);
  total(y).backward();
  CHECK(unpacked == 1);
  CHECK(ebb::all_equal(x.grad().value(), array{3, 12}));
}

#if EBB_EXCEPTIONS
TEST_CASE("gradients of other extents are refused: larger ones are not summed, smaller ones not broadcast") {
  struct of_size {
    std::size_t n;
    array forward(const array& x, const array&) const { return x; }
    std::tuple<array, array> backward(const array& g) const { return {g, filled(n, 1)}; }
  };
  for (std::size_t n : {1u, 3u}) {
    const var x(filled(2, 1)), y(filled(2, 1));
    const scalar out = total(ebb::apply(of_size{n}, x, y));
    CHECK(raised([&] { out.backward(); }) == "ebb::apply: gradient 1 from of_size is f64[" + std::to_string(n) +
                                                  "], its operand is f64[2]; nothing is summed or spread to fit: do that in backward");
    CHECK_FALSE(x.grad().defined());
    CHECK_FALSE(y.grad().defined());
    CHECK(raised([&] { out.backward(); }).find("of_size is f64") != std::string::npos);  // the node has not run and keeps its saved values
  }
  CHECK(raised([&] { ebb::apply(of_size{2}, var(), var()); }).find("undefined") != std::string::npos);
}
#endif

TEST_CASE("a function without variables calls forward") {
  const array y = ebb::apply(cube{}, array{1, 2});
  CHECK(ebb::all_equal(y, array{1, 8}));
}

TEST_CASE("calls inside forward are not recorded, and operands may be expressions") {
  struct inner {
    bool* recorded;
    const var* w;
    array forward(const array& x) const {
      *recorded = product(*w, *w).requires_grad();
      return x;
    }
    array backward(const array& g) const { return g; }
  };
  bool is_recorded = true;
  const var x(array{1, 2});
  const var y = ebb::apply(inner{&is_recorded, &x}, product(x, x) * 2.);
  CHECK_FALSE(is_recorded);
  total(y).backward();
  CHECK(ebb::all_equal(x.grad().value(), array{4, 8}));
}

namespace {

/// A pair of arrays that regions take as one argument.
template <template <class, std::size_t...> class Array>
struct two_arrays {
  using vector = Array<double, ebb::dyn>;
  BOOST_HANA_DEFINE_STRUCT(two_arrays, (vector, a), (vector, b));
};

}  // namespace

TEST_CASE("CA-91: a type that wraps two arrays is an argument and a result, and each array has its gradient") {
  constexpr auto doubled = ebb::compile([](auto p) {
    p.a = p.a * 2;
    p.b = p.b * 2;
    return p;
  });
  const two_arrays<ebb::variable> p{var(array{1, 2}), var(array{3, 4})};
  const two_arrays<ebb::variable> q = doubled(p);
  ebb::backward(std::tuple(total(product(q.a, p.a)), total(product(q.b, p.b))));  // 2 a a + 2 b b
  CHECK(ebb::all_equal(p.a.grad().value(), array{4, 8}));
  CHECK(ebb::all_equal(p.b.grad().value(), array{12, 16}));
}

namespace {

/// exp: saves the result that it returns, and writes to it in its backward.
struct writing_exponential {
  array forward(const array& x) {
    kept = each(x, [](double v) { return std::exp(v); });
    return kept;
  }
  array backward(const array& g) {
    for (std::size_t i = 0; i < kept.size(); ++i) kept.at(i) *= g(i);
    return kept;
  }

  array kept;
};

}  // namespace

TEST_CASE("SW-24: a backward that writes to a saved result does not change other users of it") {
  for (const bool captured : {false, true})
    for (int run = 0; run < 3; ++run) {
      const var x(array{0.5, -1, 2});
      const var y = ebb::apply(writing_exponential{}, x);
      const array before = y.value();
      ebb::backward(total(product(y, y)), {.compiled_autograd = captured});  // this product reads y too
      for (std::size_t i = 0; i < 3; ++i) {
        const double e = std::exp(x.value()(i));
        CHECK(y.value()(i) == e);
        CHECK(before(i) == e);
        CHECK(x.grad().value()(i) == Approx(2 * e * e));
      }
    }
}

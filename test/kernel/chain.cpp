// test/kernel/chain.cpp — a chain gives the bits of its programs run one after another, and touches no other memory.
// SPDX-License-Identifier: BSL-1.0
// covers: chain.hpp chain_link.hpp
#include <ebb/functional.hpp>

#include <ebb/kernel/chain_link.hpp>

#include "../catch.hpp"
#include "values.hpp"

#include <memory>
#include <optional>
#include <tuple>

namespace {

using all_types = std::tuple<float, double>;
using ebb::chain_use, ebb::dyn, ebb::term;

template <class F, class... T>
using program_of = ebb::executable<ebb::frozen<ebb::detail::forward_program<F, T...>>>;

/// n elements, padded to a multiple of 64 bytes. A page without access follows the padding; the elements before the array must not change.
/// The padding of a writable array is zeros and must be zeros again afterwards.
template <class T>
struct array {
  static constexpr std::size_t line = 64 / sizeof(T), before = 3 * line;
  std::size_t padding;
  test::guarded<T> memory;
  std::vector<T> model;  // the expected elements
  T padding_value;

  array(std::size_t n, std::mt19937_64& next, T pad = T(54321))
      : padding((line - n % line) % line), memory(before + n + padding), model(n), padding_value(pad) {
    std::normal_distribution<T> normal;
    for (std::size_t i = 0; i < before; ++i) memory.at_end()[i] = T(12345);
    for (std::size_t i = 0; i < n; ++i) data()[i] = model[i] = next() % 50 == 0 ? T(0) : normal(next);
    for (std::size_t i = 0; i < padding; ++i) data()[n + i] = padding_value;
  }
  T* data() { return memory.at_end() + before; }
};

/// A number of elements, and whether only narrow steps are used.
struct way {
  std::size_t n;
  bool is_narrow;
};

/// Builds a chain and computes, at each link, what the programs give one after another.
template <class T>
class session {
  using wide = ebb::wide_links<T>;
  using narrow = ebb::narrow_links<T>;

 public:
  explicit session(const way& w) : n_(w.n), is_narrow_(w.is_narrow), next_(n_ + 1), registers_(n_) {}

  int read() { return add_array(chain_use::read); }
  int written() { return add_array(chain_use::written); }
  int element() {
    arrays_.push_back(std::make_unique<array<T>>(1, next_));
    return add_place(arrays_.back()->data(), std::nullopt);
  }
  int block() {
    arrays_.push_back(std::make_unique<array<T>>(0, next_));
    return add_place(nullptr, chain_use::block);
  }

  /// A mask whose padding ends at a page without access.
  int mask() {
    const std::size_t padded = (n_ + 63) / 64 * 64;
    masks_.push_back(std::make_unique<test::guarded<bool>>(padded));
    bool* const m = masks_.back()->at_end();
    for (std::size_t i = 0; i < padded; ++i) m[i] = i < n_ && next_() % 2 == 0;
    arrays_.push_back(std::make_unique<array<T>>(0, next_));
    return add_place(m, chain_use::mask);
  }

  void load(int p) { built_in(ebb::chain_word::of(wide::load, narrow::load), p, [](T, T y) { return y; }); }
  void add(int p) { built_in(ebb::chain_word::of(wide::add, narrow::add), p, [](T x, T y) { return y + x; }); }
  void store(int p) {
    built_in(ebb::chain_word::of(wide::store, narrow::store), p, [](T x, T) { return x; });
    model(p) = registers_;
  }
  void add_store(int p, int to) {
    built_in(ebb::chain_word::of(wide::add_store, narrow::add_store), p, [](T x, T y) { return y + x; });
    push_place(to);
    model(to) = registers_;
  }
  /// Places: of all arguments but Primary, then of all results but Result.
  template <class P, int Primary, int Result>
  void link(std::vector<int> places) {
    using the_link = ebb::chain_link<P, Primary, Result>;
    STATIC_REQUIRE(the_link::fits);
    STATIC_REQUIRE(std::is_same_v<typename the_link::element, T>);
    REQUIRE(static_cast<int>(places.size()) == the_link::places);
    push_link(the_link::first_word());
    for (int p : places) push_place(p);
    REQUIRE((code_.end() - the_link::words)->wide != nullptr);

    ebb::vec<ebb::extent_list> extents;
    std::vector<void*> in, out;
    std::vector<std::vector<T>> results(P::results, std::vector<T>(n_));
    for (int a = 0, k = 0; a < P::arguments; ++a) {
      if (a == Primary) in.push_back(registers_.data());
      else if (const auto p = static_cast<std::size_t>(places[static_cast<std::size_t>(k++)]); use_[p] == chain_use::mask)
        in.push_back(places_[p]);
      else in.push_back(arrays_[p]->model.data());
      extents.push(P::argument_shape(a).rank == 0 ? ebb::extent_list{} : ebb::extent_list{1, {n_}});
    }
    for (auto& r : results) out.push_back(r.data());
    ebb::run_program<P>(in.data(), out.data(), ebb::symbol_values(P::g.thaw(), extents).data());
    for (int r = 0, k = P::arguments - (Primary >= 0); r < P::results; ++r)
      (r == Result ? registers_ : model(places[static_cast<std::size_t>(k++)])) = results[static_cast<std::size_t>(r)];
  }

  void run() {
    push_link(ebb::chain_word::of(wide::end, narrow::end));
    std::vector<ebb::chain_place> named;
    const auto name_those = [&](auto... uses) {
      const std::size_t before = named.size();
      for (std::size_t w = 0; w < code_.size(); ++w)
        if (const int p = place_of_[w]; p >= 0)
          if (const auto use = use_[static_cast<std::size_t>(p)]; use && ((*use == uses) || ...))
            named.push_back({static_cast<int>(w), p, *use});
      return static_cast<int>(named.size() - before);
    };
    const int written = name_those(chain_use::written), read = name_those(chain_use::read, chain_use::mask);
    const int blocks = name_those(chain_use::block);
    const std::size_t arena_bytes = ebb::chain_arena_bytes(static_cast<int>(places_.size()), static_cast<int>(named.size()));
    std::vector<char> memory(arena_bytes + 64 + 8, 'c');
    char* arena = memory.data();
    while (reinterpret_cast<std::uintptr_t>(arena) % 64 != 0) ++arena;
    const std::vector<ebb::chain_word> before = code_;
    const ebb::chain_places places{named.data(), written, read, blocks, static_cast<int>(places_.size())};
    ebb::run_chain<T>(code_.data(), places, n_ * sizeof(T), arena, is_narrow_);
    const auto same = [&](const ebb::chain_word& x, const ebb::chain_word& y) {
      const int p = place_of_[static_cast<std::size_t>(&x - code_.data())];
      const bool is_block = p >= 0 && use_[static_cast<std::size_t>(p)] == chain_use::block;
      return x.wide == y.wide && x.narrow == y.narrow && (is_block || x.base == y.base);
    };
    CHECK(std::equal(code_.begin(), code_.end(), before.begin(), same));
    CHECK(arena[arena_bytes] == 'c');
    CAPTURE(n_);
    for (const auto& a : arrays_) {
      for (std::size_t i = 0; i < array<T>::before; ++i) REQUIRE(a->memory.at_end()[i] == T(12345));
      if (is_block(a)) continue;
      for (std::size_t i = 0; i < a->model.size(); ++i) {
        CAPTURE(i);
        REQUIRE(test::same_bits(a->data()[i], a->model[i]));
      }
      for (std::size_t i = 0; i < a->padding; ++i) REQUIRE(a->data()[a->model.size() + i] == a->padding_value);
    }
  }
  const std::vector<T>& model_of(int p) { return model(p); }

 private:
  bool is_block(const std::unique_ptr<array<T>>& a) const {
    return use_[static_cast<std::size_t>(&a - arrays_.data())] == chain_use::block;
  }
  int add_array(chain_use use) {
    arrays_.push_back(std::make_unique<array<T>>(n_, next_, use == chain_use::written ? T(0) : T(54321)));
    return add_place(arrays_.back()->data(), use);
  }
  int add_place(void* p, std::optional<chain_use> use) {
    places_.push_back(p);
    use_.push_back(use);
    return static_cast<int>(places_.size()) - 1;
  }
  void push_link(const ebb::chain_word& w) {
    code_.push_back(w);
    place_of_.push_back(-1);
  }
  /// Adds the next place of the last link.
  void push_place(int p) {
    if (place_of_.back() >= 0) {
      code_.push_back({});
      place_of_.push_back(-1);
    }
    code_.back().stand_at(places_[static_cast<std::size_t>(p)]);
    place_of_.back() = p;
  }
  std::vector<T>& model(int p) { return arrays_[static_cast<std::size_t>(p)]->model; }
  void built_in(const ebb::chain_word& w, int p, T (*value)(T, T)) {
    push_link(w);
    push_place(p);
    const std::vector<T>& y = model(p);
    for (std::size_t i = 0; i < n_; ++i) registers_[i] = value(registers_[i], y.size() == n_ ? y[i] : y.empty() ? T(0) : y[0]);
  }

  std::size_t n_;
  bool is_narrow_;
  std::mt19937_64 next_;
  std::vector<T> registers_;
  std::vector<std::unique_ptr<array<T>>> arrays_;
  std::vector<std::unique_ptr<test::guarded<bool>>> masks_;
  std::vector<void*> places_;
  std::vector<std::optional<chain_use>> use_;  // of places that are no single elements
  std::vector<ebb::chain_word> code_;
  std::vector<int> place_of_;  // the place of each word, or -1
};

template <class T>
struct tanh_backward { constexpr auto operator()(auto g, auto y) const { return g * (T(1) - y * y); } };
template <class T>
struct times { constexpr auto operator()(auto g, auto a) const { return g * a; } };
template <class T>
struct product_backward { constexpr auto operator()(auto g, auto a, auto b) const { return std::tuple{g * b, g * a}; } };
template <class T>
struct step_of_relu { constexpr auto operator()(auto y, auto g) const { return ebb::where(y > T(0), g, T(0)); } };
template <class T>
struct soft { constexpr auto operator()(auto g, auto y) const { return std::tuple{g * ebb::exp(-y) + T(1), ebb::tanh(g)}; } };
template <class T>
struct masked {
  constexpr auto operator()(auto m, auto g, auto a) const { return std::tuple{ebb::where(m, g * T(2), T(0)), ebb::where(m, a, g)}; }
};
template <class T>
struct plus_ten { constexpr auto operator()(auto g) const { return g + T(10); } };

template <template <class> class F, class T, int Arguments>
struct on_arrays;
template <template <class> class F, class T>
struct on_arrays<F, T, 1> { using type = program_of<F<T>, term<T, dyn>>; };
template <template <class> class F, class T>
struct on_arrays<F, T, 2> { using type = program_of<F<T>, term<T, dyn>, term<T, dyn>>; };
template <template <class> class F, class T>
struct on_arrays<F, T, 3> { using type = program_of<F<T>, term<T, dyn>, term<T, dyn>, term<T, dyn>>; };
template <template <class> class F, class T, int Arguments>
using arrays_to = typename on_arrays<F, T, Arguments>::type;

/// Lengths around whole steps with every remainder; wide steps need an array of at least one step.
template <class T>
std::vector<way> all_ways() {
  std::vector<std::size_t> sizes{0, 1, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 128, 129, 1000, 4096 + 3};
  for (std::size_t n = 130; n < 400; n += 13) sizes.push_back(n);
  std::vector<way> ways;
  for (const std::size_t n : sizes)
    for (const bool is_narrow : {true, false})
      if (is_narrow || n * sizeof(T) >= ebb::chain_bytes) ways.push_back({n, is_narrow});
  return ways;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("a chain of one program gives the program's bits", "", all_types) {
  for (const way& w : all_ways<TestType>()) {
    session<TestType> s(w);
    s.load(s.read());
    s.template link<arrays_to<tanh_backward, TestType, 2>, 0, 0>({s.read()});
    s.store(s.written());
    s.run();
  }
}

TEMPLATE_LIST_TEST_CASE("a chain needs no incoming value and no outgoing one", "", all_types) {
  for (const way& w : all_ways<TestType>()) {
    session<TestType> s(w);
    const int y = s.written();
    s.template link<arrays_to<times, TestType, 2>, -1, 0>({s.read(), s.read()});
    s.template link<arrays_to<times, TestType, 2>, 1, -1>({s.read(), y});  // the registers keep their values
    s.store(s.written());
    s.template link<arrays_to<times, TestType, 2>, -1, -1>({y, y, s.written()});
    s.run();
  }
}

TEMPLATE_LIST_TEST_CASE("a chain that adds a backward to an existing gradient gives the bits of a plain loop", "", all_types) {
  using T = TestType;
  for (const way& w : all_ways<TestType>())
    for (const bool hook : {false, true}) {
      session<TestType> s(w);
      const int seed = s.read(), outer = s.read(), factor = s.read(), inner = s.read(), grad = s.written();
      std::vector<T> expected = s.model_of(grad);
      for (std::size_t i = 0; i < w.n; ++i) {
        const T y = s.model_of(outer)[i], x = s.model_of(inner)[i];
        T g = s.model_of(seed)[i] * (T(1) - y * y) * s.model_of(factor)[i];
        if (hook) g = g + T(10);
        expected[i] = expected[i] + g * (T(1) - x * x);
      }
      s.load(seed);
      s.template link<arrays_to<tanh_backward, T, 2>, 0, 0>({outer});
      s.template link<arrays_to<times, T, 2>, 0, 0>({factor});
      if (hook) s.template link<arrays_to<plus_ten, T, 1>, 0, 0>({});
      s.template link<arrays_to<tanh_backward, T, 2>, 0, 0>({inner});
      s.add_store(grad, grad);
      s.run();
      for (std::size_t i = 0; i < w.n; ++i) REQUIRE(test::same_bits(expected[i], s.model_of(grad)[i]));
    }
}

TEMPLATE_LIST_TEST_CASE("a chain takes second results, blocks and gradients that meet", "", all_types) {
  using T = TestType;
  for (const way& w : all_ways<TestType>()) {
    session<TestType> s(w);
    const int left = s.block(), right = s.block(), grad = s.written();
    s.load(s.read());
    s.store(left);
    s.template link<arrays_to<product_backward, T, 3>, 0, 0>({s.read(), s.read(), right});
    s.template link<arrays_to<step_of_relu, T, 2>, 1, 0>({s.read()});
    s.add(left);
    s.store(left);
    s.load(right);
    s.add(left);
    s.template link<arrays_to<product_backward, T, 3>, 0, 1>({s.read(), left, s.written()});
    s.add_store(grad, grad);
    s.add_store(grad, s.written());
    s.template link<arrays_to<times, T, 2>, 0, -1>({grad, grad});  // in place
    s.run();
  }
}

TEMPLATE_LIST_TEST_CASE("a chain takes one element for all, and programs too large to be unrolled", "", all_types) {
  using T = TestType;
  using scaled = program_of<times<T>, term<T, dyn>, term<T>>;
  for (const way& w : all_ways<TestType>()) {
    session<TestType> s(w);
    s.load(s.read());
    s.template link<scaled, 0, 0>({s.element()});
    s.template link<arrays_to<soft, T, 2>, 0, 1>({s.read(), s.written()});
    s.template link<arrays_to<soft, T, 2>, 1, 0>({s.read(), s.written()});
    s.store(s.written());
    s.run();
  }
}

TEMPLATE_LIST_TEST_CASE("a chain takes masks of one byte for each element", "", all_types) {
  using T = TestType;
  using selected = program_of<masked<T>, term<bool, dyn>, term<T, dyn>, term<T, dyn>>;
  for (const way& w : all_ways<TestType>()) {
    session<TestType> s(w);
    s.load(s.read());
    const int m = s.mask();
    s.template link<selected, 1, 0>({m, s.read(), s.written()});
    s.template link<selected, -1, 1>({s.mask(), s.read(), s.read(), s.written()});
    s.template link<selected, 1, 0>({m, s.read(), s.written()});
    s.store(s.written());
    s.run();
  }
}

TEST_CASE("elementwise programs of one shape and dtype fit a chain, others do not") {
  using ebb::chain_link;
  using vectors = term<float, dyn>;
  constexpr auto sum = [](auto x) { return ebb::sum(x); };
  constexpr auto row = [](auto x, auto y) { return x * y; };
  constexpr auto same = [](auto x) { return std::tuple{x, x + 1.f}; };
  constexpr auto index = [](auto x) { return ebb::argmax(x); };
  STATIC_REQUIRE(chain_link<program_of<decltype(row), vectors, vectors>, 1, 0>::fits);
  STATIC_REQUIRE(chain_link<program_of<decltype(row), term<float, dyn, dyn>, term<float, dyn, dyn>>, 0, 0>::fits);
  STATIC_REQUIRE(chain_link<program_of<decltype(row), term<double, 3>, term<double, 3>>, 0, -1>::fits);
  STATIC_REQUIRE(chain_link<program_of<decltype(row), vectors, term<float>>, 0, 0>::fits);
  STATIC_REQUIRE(!chain_link<program_of<decltype(row), vectors, term<float>>, 1, 0>::fits);  // one incoming element for each lane
  STATIC_REQUIRE(!chain_link<program_of<decltype(row), vectors, vectors>, 2, 0>::fits);
  STATIC_REQUIRE(!chain_link<program_of<decltype(row), vectors, vectors>, 0, 1>::fits);
  STATIC_REQUIRE(!chain_link<program_of<decltype(row), vectors, term<double, dyn>>, 0, 0>::fits);
  STATIC_REQUIRE(!chain_link<program_of<decltype(row), term<ebb::bfloat16, dyn>, term<ebb::bfloat16, dyn>>, 0, 0>::fits);
  STATIC_REQUIRE(!chain_link<program_of<decltype(row), term<float, dyn, dyn>, vectors>, 0, 0>::fits);
  constexpr auto select = [](auto m, auto x) { return ebb::where(m, x, 0); };
  STATIC_REQUIRE(chain_link<program_of<decltype(select), term<bool, dyn>, vectors>, 1, 0>::fits);
  STATIC_REQUIRE(!chain_link<program_of<decltype(select), term<bool>, vectors>, 1, 0>::fits);
  STATIC_REQUIRE(!chain_link<program_of<decltype(select), term<bool, dyn>, vectors>, 0, 0>::fits);
  STATIC_REQUIRE(!chain_link<program_of<decltype(sum), vectors>, 0, 0>::fits);
  STATIC_REQUIRE(!chain_link<program_of<decltype(same), vectors>, 0, 1>::fits);
  STATIC_REQUIRE(!chain_link<program_of<decltype(index), vectors>, 0, 0>::fits);
}

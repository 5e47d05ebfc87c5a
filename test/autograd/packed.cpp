// test/autograd/packed.cpp — hooks on saved values: the number and time of their calls, storage elsewhere, and failing hooks.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"

#include <ebb/ebb.hpp>

#include <cstdio>
#include <string>
#include <vector>

namespace {

using test::raised;

using array = ebb::tensor<double, ebb::dyn>;
using var = ebb::variable<double, ebb::dyn>;
using scalar = ebb::variable<double>;

constexpr auto product = ebb::compile([](auto x, auto y) { return x * y; });
constexpr auto total = ebb::compile([](auto x) { return ebb::sum(x); });
constexpr auto squash = ebb::compile([](auto x) { return ebb::tanh(x); });

/// Counts the calls of each side, and makes one fail on request.
struct counter {
  int packed = 0, unpacked = 0;
  bool pack_fails = false, unpack_fails = false;

  auto pack() {
    return [this](const ebb::any_tensor& t) {
#if EBB_EXCEPTIONS
      if (pack_fails) throw 1;
#endif
      ++packed;
      return t;
    };
  }
  auto unpack() {
    return [this](const ebb::any_tensor& t) {
#if EBB_EXCEPTIONS
      if (unpack_fails) throw 2;
#endif
      ++unpacked;
      return t;
    };
  }
};

/// Arrays in files: a file lives as long as handles to its number.
class file_store {
 public:
  std::string save(const ebb::any_tensor& t) {
    const std::string name = "/tmp/ebb.test." + std::to_string(reinterpret_cast<std::uintptr_t>(this)) + "." + std::to_string(next_++);
    std::FILE* const f = std::fopen(name.c_str(), "wb");
    REQUIRE(f);
    const array a = t.as<double, ebb::dyn>();
    REQUIRE(std::fwrite(a.data(), sizeof(double), a.size(), f) == a.size());
    std::fclose(f);
    names_.push_back(name);
    return name;
  }
  array load(const std::string& name) const {
    std::FILE* const f = std::fopen(name.c_str(), "rb");
    REQUIRE(f);
    std::fseek(f, 0, SEEK_END);
    array a(ebb::layout<ebb::dyn>(static_cast<std::size_t>(std::ftell(f)) / sizeof(double)));
    std::rewind(f);
    REQUIRE(std::fread(a.mutable_data(), sizeof(double), a.size(), f) == a.size());
    std::fclose(f);
    return a;
  }
  ~file_store() {
    for (const std::string& n : names_) std::remove(n.c_str());
  }
  std::size_t files() const { return names_.size(); }

 private:
  int next_ = 0;
  std::vector<std::string> names_;
};

}  // namespace

TEST_CASE("CA-112: a value is packed once when it is saved, and unpacked once, after the hook of the loss") {
  counter c;
  const var x(array{1, 2});
  const scalar loss = [&] {
    const ebb::saved_tensors_hooks scope(c.pack(), c.unpack());
    return total(squash(x));
  }();
  CHECK(c.packed == 1);
  CHECK(c.unpacked == 0);
  int hooks = 0;
  loss.register_hook([&](const ebb::tensor<double>&) {
    CHECK(c.unpacked == hooks++);  // the call of this pass is still to come
  });
  ebb::backward(loss, {.retain_graph = true});
  CHECK(hooks == 1);
  CHECK(c.packed == 1);
  CHECK(c.unpacked == 1);
  loss.backward();
  CHECK(c.unpacked == 2);  // once for each read
}

TEST_CASE("an expression is packed by the hooks it was written under, and expressions under others stay apart") {
  counter c;
  const var x(array{1, 2});
  const auto packed = [&] {
    const ebb::saved_tensors_hooks scope(c.pack(), c.unpack());
    return ebb::tanh(x);
  };
  const auto named = packed();  // the scope ends here
  const scalar loss = ebb::sum(named * x);
  CHECK(c.packed == 1);
  loss.backward();
  CHECK(c.unpacked == 1);
#if EBB_EXCEPTIONS
  const char* const said = "an expression holds one that was written in another scope of saved_tensors_hooks: return that as a variable";
  CHECK(test::says(test::raised([&] { scalar(ebb::sum(packed() * x)); }), {said}));
  CHECK(test::says(test::raised([&] {
    auto plain = ebb::tanh(x);
    const ebb::saved_tensors_hooks scope(c.pack(), c.unpack());
    scalar(ebb::sum(std::move(plain) * x));
  }), {said}));
  CHECK(c.packed == 1);
  {
    const ebb::saved_tensors_hooks scope(c.pack(), c.unpack());
    scalar(ebb::sum(ebb::tanh(x) * x)).backward();
  }
  CHECK(c.packed > 1);
  const ebb::no_grad scope;  // nothing is saved
  CHECK_FALSE(scalar(ebb::sum(packed() * x)).requires_grad());
#endif
}

TEST_CASE("CA-123: saved values of several sizes go to files") {
  for (std::size_t n : {10u, 100u, 10u, 20u, 30u}) {
    file_store store;
    array start(ebb::layout<ebb::dyn>{n});
    for (std::size_t i = 0; i < n; ++i) start.mutable_data()[i] = static_cast<double>(i) / 7;
    const var x(start), u(start);
    const auto run = [](const var& v) { return scalar(total(product(squash(v), v))); };
    run(x).backward();
    const scalar out = [&] {
      const ebb::saved_tensors_hooks scope([&](const ebb::any_tensor& t) { return store.save(t); },
                                           [&](const std::string& name) { return store.load(name); });
      return run(u);
    }();
    CHECK(store.files() == 3);
    out.backward();
    CHECK(ebb::all_equal(u.grad().value(), x.grad().value()));
  }
}

TEST_CASE("a node hook registered while its node is unpacked runs, and sees no incoming gradients") {
  for (const bool has_hooks : {false, true}) {
    const var x(array{1, 2});
    var y;
    int calls = 0;
    {
      const ebb::saved_tensors_hooks scope([](const ebb::any_tensor& t) { return t; }, [&](const ebb::any_tensor& t) {
        if (calls == 0)
          y.grad_fn().register_hook([&](ebb::gradients& out, const ebb::gradients& in) {
            CHECK(in.size() == 1);
            CHECK(in.defined(0) == (calls++ > 0));
            out.set(0, array{out.get<double, ebb::dyn>(0)(0) / 2, 7});
          });
        return t;
      });
      y = squash(x);
    }
    if (has_hooks) y.set_name("y");
    const array g = ebb::grad(total(y), ebb::wrt(x), {.retain_graph = true}).value();
    CHECK(calls == 1);
    CHECK(g(1) == 7);
    CHECK(ebb::all_equal(ebb::grad(total(y), ebb::wrt(x)).value(), g));
    CHECK(calls == 2);
  }
}

TEST_CASE("the innermost scope packs the saved values, and the packed objects die with the node") {
  counter outer, inner;
  const var x(array{1, 2});
  auto alive = std::make_shared<int>(0);
  const std::weak_ptr<int> watch = alive;
  var y, z;
  {
    const ebb::saved_tensors_hooks a(outer.pack(), outer.unpack());
    y = squash(x);
    {
      const ebb::saved_tensors_hooks b([&, kept = std::move(alive)](const ebb::any_tensor& t) { return inner.pack()(t); }, inner.unpack());
      y = squash(y);
    }
    z = squash(y);
  }
  z = squash(z);
  CHECK(outer.packed == 2);
  CHECK(inner.packed == 1);
  CHECK_FALSE(watch.expired());
  total(z).backward();
  CHECK(outer.unpacked == 2);
  CHECK(inner.unpacked == 1);
  CHECK(watch.expired());
}

#if EBB_EXCEPTIONS
TEST_CASE("a pack hook that throws leaves no node, and an unpack hook that throws leaves the nodes that have not run") {
  counter c;
  const var x(array{1, 2}), w(array{3, 4});
  {
    const ebb::saved_tensors_hooks scope(c.pack(), c.unpack());
    c.pack_fails = true;
    CHECK_THROWS_AS(product(x, w), int);
    c.pack_fails = false;
    const var y = product(x, w);
    const scalar out = total(y);
    c.unpack_fails = true;
    CHECK_THROWS_AS(out.backward(), int);
    CHECK_FALSE(x.grad().defined());
    CHECK_FALSE(w.grad().defined());
    c.unpack_fails = false;
    out.backward();
    CHECK(ebb::all_equal(x.grad().value(), w.value()));
    CHECK(ebb::all_equal(w.grad().value(), x.value()));
  }
  CHECK(ebb::all_equal(product(x, w).value(), array{3, 8}));
  CHECK(c.packed == 2);
}

TEST_CASE("an unpack hook must return the dtype and extents of the saved value") {
  const var x(array{1, 2});
  const auto run = [&](auto unpack) {
    const ebb::saved_tensors_hooks scope([](const ebb::any_tensor& t) { return t; }, unpack);
    const scalar out = total(squash(x));
    return raised([&] { out.backward(); });
  };
  using any = ebb::any_tensor;
  CHECK(run([](const any&) { return any(ebb::tensor<float, 2>{1, 2}); }) ==
        "ebb::saved_tensors_hooks: the unpack hook returned f32[2] for a saved f64[2] of tanh");
  CHECK(run([](const any&) { return any(array{1, 2, 3}); }).find("returned f64[3] for a saved f64[2]") != std::string::npos);
  CHECK(run([](const any&) { return any(); }).find("returned undefined") != std::string::npos);
  CHECK_FALSE(x.grad().defined());
}
#endif

// test/exec/compiled_11.cpp — random products of parts of arrays, compiled: in any order, joined, and their gradients.
// SPDX-License-Identifier: BSL-1.0
// covers: run.hpp buffers.hpp plan/view.hpp op/whole.hpp
#include "compiled.hpp"
#include "random_product.hpp"

namespace {

template <std::uint64_t Seed>
constexpr test::random_program make_products() {
  return test::random_product_maker(Seed).take();
}
template <std::uint64_t Seed>
struct products {
  static constexpr ebb::graph make() { return ebb::simplify(make_products<Seed>().g); }
};
/// Of a seed whose products are of floats.
template <std::uint64_t Seed>
constexpr test::random_program make_sum() {
  return test::random_product_maker(Seed).take_sum();
}
template <std::uint64_t Seed>
struct gradients {
  static constexpr ebb::graph make() {
    const test::random_program p = make_sum<Seed>();
    ebb::vec<int> wrt;
    for (int i = 0; i < p.types.size(); ++i) wrt.push(i);
    return ebb::value_and_gradient(p.g, wrt);
  }
};

template <std::uint64_t... Seed>
void check_products(test::seeds<Seed...>) {
  for (const std::string& said : {test::compiled_against_scalar<products<Seed>>(
           Seed, test::sample_arguments<Seed, &make_products<Seed>>::thaw())...}) {
    INFO(said);
    CHECK(said.empty());
  }
}
template <std::uint64_t... Seed>
void check_gradients(test::seeds<Seed...>) {
  for (const std::string& said : {test::compiled_against_scalar<gradients<Seed>>(
           Seed, test::sample_arguments<Seed, &make_sum<Seed>>::thaw())...}) {
    INFO(said);
    CHECK(said.empty());
  }
}

}  // namespace

TEST_CASE("compiled: random products of parts of arrays have the bits of scalar runs") {
  check_products(test::seeds<2, 11, 14, 15, 25, 53, 61, 76>{});
}

TEST_CASE("compiled: their gradients have the bits of scalar runs") {
  check_gradients(test::seeds<28, 34, 42, 59>{});
}

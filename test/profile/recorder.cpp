// test/profile/recorder.cpp — calls of functions: programs and steps with their bytes and operations, profiles in profiles and in threads.
// SPDX-License-Identifier: BSL-1.0
// covers: recorder.hpp base/probe.hpp exec/probed.hpp plan/work.hpp
#if !defined(EBB_PROFILE)
#define EBB_PROFILE
#endif
#include "../catch.hpp"
#include "rows.hpp"

#include <ebb/functional.hpp>

#include <thread>

namespace {

using ebb::probed;
using test::rows_of;
using test::the_row;
using row_vector = ebb::tensor<float, ebb::dyn>;
using rows_of_four = ebb::tensor<float, ebb::dyn, 4>;

constexpr auto profiled_sum = ebb::compile([](auto x) { return ebb::sum(ebb::tanh(x) * x); });

}  // namespace

TEST_CASE("a call of a function is a program with steps, whose bytes and operations are counted") {
  const row_vector x = row_vector::ones(1000);
  const ebb::profile p;
  float total = 0;
  for (int i = 0; i < 3; ++i) total += profiled_sum(x);
  CHECK(total > 0);
  const auto program = the_row(p, probed::program);
  CHECK(program.of == "ebb::compile");
  CHECK(program.calls == 3);
  const auto step = the_row(p, probed::step);
  CHECK(step.calls == 3);
  CHECK(step.of == program.name);
  CHECK(step.name == "step 0: a loop over [n]: tanh+mul+sum");
  CHECK(step.work.read == 3 * 4000.0);
  CHECK(step.work.written == 3 * 4.0);
  CHECK(step.work.operations == 3 * (ebb::operations_of_heavy + 2) * 1000);
  CHECK(program.work.read == step.work.read);
  CHECK(program.nanoseconds >= step.nanoseconds);
  CHECK(program.fastest > 0);
  CHECK(3 * program.fastest <= program.nanoseconds);
  CHECK(program.self == program.nanoseconds - step.nanoseconds);
  CHECK(p.spans().size() == 6);
  CHECK(p.dropped() == 0);
}

TEST_CASE("short rows run as one step: the program has the work of all its steps") {
  const ebb::tensor<float, 4> x{1, 2, 3, 4};
  const ebb::profile p;
  static_cast<void>(ebb::compile([](auto v) { return v / ebb::sum(v); })(x));
  const auto program = the_row(p, probed::program);
  CHECK(rows_of(p, probed::step).empty());
  CHECK(program.work.operations == 4 + 4);
  CHECK(program.work.written == 4 + 16);
}

TEST_CASE("a product of matrices reads both, and is 2 m n k operations") {
  const rows_of_four x(100);
  const ebb::tensor<float, 4, 3> w;
  const ebb::profile p;
  static_cast<void>(ebb::compile([](auto a, auto b) { return ebb::matmul(a, b); })(x, w));
  static_cast<void>(
      ebb::compile([](auto a, auto b) { return ebb::matmul(ebb::transpose(a), b); })(x, ebb::tensor<float, ebb::dyn, 2>(100)));
  const auto steps = rows_of(p, probed::step, "matmul");
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].work.operations == 2 * 100 * 3 * 4);
  CHECK(steps[0].work.read == 4 * (100 * 4 + 4 * 3));
  CHECK(steps[0].work.written == 4 * 100 * 3);
  CHECK(steps[1].work.operations == 2 * 4 * 2 * 100);
}

TEST_CASE("a loop's step has the work of its bodies") {
  const rows_of_four xs(50);
  const ebb::profile p;
  static_cast<void>(ebb::compile([](auto h, auto rows) {
    return ebb::scan([](auto carry, auto x) { return std::tuple(carry + x, x * carry); }, h, rows);
  })(ebb::tensor<float, 4>(), xs));
  const auto step = the_row(p, probed::step, "step 0: loop");
  CHECK(step.calls == 1);
  CHECK(step.work.operations == 50 * 2 * 4);
  std::uint64_t bodies = 0;
  for (const auto& r : rows_of(p, probed::program))
    if (r.calls == 50) bodies += r.calls;
  CHECK(bodies == 50);
}

TEST_CASE("a profile in a profile gives what it has recorded to the outer one, whichever stops first") {
  const row_vector x = row_vector::ones(100);
  ebb::profile outer;
  static_cast<void>(profiled_sum(x));
  {
    const ebb::profile inner;
    static_cast<void>(profiled_sum(x));
    CHECK(the_row(inner, probed::program).calls == 1);
    CHECK(the_row(outer, probed::program).calls == 1);
  }
  CHECK(the_row(outer, probed::program).calls == 2);
  {
    const ebb::profile inner;
    outer.stop();
    static_cast<void>(profiled_sum(x));
    CHECK(the_row(inner, probed::program).calls == 1);
  }
  static_cast<void>(profiled_sum(x));
  CHECK(the_row(outer, probed::program).calls == 2);
}

TEST_CASE("each thread has its own profile, and they are added") {
  const row_vector x = row_vector::ones(100);
  ebb::profile here;
  static_cast<void>(profiled_sum(x));
  std::uint64_t there = 0;
  std::thread([&] {
    const ebb::profile p;
    for (int i = 0; i < 2; ++i) static_cast<void>(profiled_sum(x));
    there = the_row(p, probed::program).calls;
    here.stop();  // not of this thread: no effect
  }).join();
  CHECK(there == 2);
  static_cast<void>(profiled_sum(x));
  CHECK(the_row(here, probed::program).calls == 2);
  ebb::profile other;
  static_cast<void>(profiled_sum(x));
  other.stop();
  here.stop();
  const std::size_t before = here.spans().size();
  here.add(other);
  CHECK(the_row(here, probed::program).calls == 4);
  CHECK(here.spans().size() == before + 2);
  CHECK(here.spans().back().thread == 1);
}

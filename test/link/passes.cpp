// test/link/passes.cpp — includes the floor pass and the floors below it, and differentiates at run time.
// SPDX-License-Identifier: BSL-1.0
#include "report.hpp"

#include <ebb/op/arithmetic.hpp>
#include <ebb/op/exponential.hpp>
#include <ebb/op/kit.hpp>
#include <ebb/op/operators.hpp>
#include <ebb/op/trigonometric.hpp>
#include <ebb/pass/pipeline.hpp>

int passes_alone() {
  ebb::graph g;
  g.inputs = 1;
  const ebb::operand<double> x{&g, ebb::emit_as<ebb::op::input, double>(g, g.intern({}), {}, {0})};
  g.out.push((ebb::tanh(x) * x).id);
  return ebb::joint(ebb::joint(g, {0}), {0}, ebb::context_of<ebb::off>, 1).size();
}

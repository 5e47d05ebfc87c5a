// bench/peers/gradbench/program.hpp — makes a program for bench.gradbench of two of GradBench's functions.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../../gradbench/peer.hpp"

#include <utility>

using gradbench::peer::given;
using gradbench::peer::results;

/// `read` makes results of the input and the two outputs.
template <class Primal, class Derivative, class Read>
class program_of final : public gradbench::peer::program {
 public:
  program_of(typename Primal::Input input, Read read) : input_(std::move(input)), primal_(input_), derivative_(input_), read_(read) {}
  void primal() override { primal_.compute(value_); }
  void derivative() override { derivative_.compute(by_); }
  results read() const override { return read_(input_, value_, by_); }

 private:
  typename Primal::Input input_;
  Primal primal_;
  Derivative derivative_;
  typename Primal::Output value_{};
  typename Derivative::Output by_{};
  Read read_;
};
/// The primal of a search.
template <class Of>
struct no_primal {
  using Input = Of;
  using Output = double;
  explicit no_primal(Input&) {}
  void compute(Output&) {}
};
template <class Primal, class Derivative, class Read>
gradbench::peer::program* make(typename Primal::Input input, Read read) {
  return new program_of<Primal, Derivative, Read>(std::move(input), read);
}

extern "C" gradbench::peer::program* gradbench_program(const given& g);

#define main main_of_gradbench  // the source of a program follows

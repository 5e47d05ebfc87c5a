// test/special/contexts.static.cpp — the autocast class of each function of special.hpp.
// SPDX-License-Identifier: BSL-1.0
// covers: activation.hpp bessel.hpp elementary.hpp gamma.hpp incomplete.hpp logarithmic.hpp quantile.hpp scaled_error.hpp
#include <ebb/special.hpp>

#include "../trace/context_class.hpp"

namespace {

using test::has_class, test::have_class;
using enum test::context_class;

static_assert(have_class<own, 1>(ebb::softsign, ebb::tanhshrink, ebb::squareplus, ebb::quick_gelu));
static_assert(has_class<own>([](auto x) { return ebb::softshrink(x); }));
static_assert(has_class<own>([](auto x) { return ebb::hardshrink(x); }));
static_assert(has_class<own>([](auto x) { return ebb::threshold(x, 0.5, 2); }));
static_assert(have_class<own, 1>(ebb::i0, ebb::i1, ebb::i0e, ebb::i1e));
static_assert(have_class<own, 1>(ebb::cbrt, ebb::exp10, ebb::sinpi, ebb::cospi, ebb::tanpi, ebb::sinc));
static_assert(have_class<own, 2>(ebb::lbeta, ebb::beta, ebb::lchoose, ebb::gammainc, ebb::gammaincc));
static_assert(have_class<own, 1>(ebb::tgamma, ebb::logit, ebb::logcosh, ebb::erfinv, ebb::erfcinv, ebb::ndtri, ebb::erfcx));
static_assert(have_class<own, 2>(ebb::logaddexp2, ebb::logsubexp));
static_assert(have_class<own, 3>(ebb::betainc));
static_assert(has_class<own>([](auto x) { return ebb::mvlgamma<2>(x); }));

}  // namespace

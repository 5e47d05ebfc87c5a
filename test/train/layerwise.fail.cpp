// test/train/layerwise.fail.cpp — parameters that muon refuses.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 2
#include <ebb/hooks/register.hpp>
#include <ebb/train/layerwise.hpp>

#if EBB_CASE == 1  // a vector
// EXPECT: E0454 ebb::muon is for matrices: give parameters of other ranks another optimizer
using vector = ebb::term<float, 3>;
using number = ebb::term<float>;
constexpr auto refused = ebb::trace_of<ebb::rule::muon, vector, vector, vector, number, number, number, number, number, number>::make();  // LINE
#endif

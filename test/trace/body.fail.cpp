// test/trace/body.fail.cpp — errors of the language in the body of a traced function: clang's own error, then E0127, and no others.
// SPDX-License-Identifier: BSL-1.0
// covers: trace.hpp
// ONLY: clang
// ERRORS: 2
#include <ebb/functional.hpp>

const ebb::tensor<float, 3> x;

#if EBB_CASE == 1  // in the head of a loop
// LINES: 30
// EXPECT: E0127 or it has the error above
const auto y = ebb::compile([](auto v) { for (int i = 0; i < v.length; ++i) v = v + v(i); return v; })(x);  // LINE
#endif

#if EBB_CASE == 2  // a loop over the elements
// LINES: 30
// EXPECT: E0127 or it has the error above
const auto y = ebb::grad([](auto v) { auto s = v(0); for (auto e : v) s = s + e; return s; })(x);  // LINE
#endif

#if EBB_CASE == 3  // in the result
// LINES: 30
// EXPECT: E0127 or it has the error above
const auto y = ebb::compile([](auto v) { return v.total(); })(x);  // LINE
#endif

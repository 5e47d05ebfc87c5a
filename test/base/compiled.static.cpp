// test/base/compiled.static.cpp — a file that links ebb::compiled compiles without a warning when it includes the headers with -I.
// SPDX-License-Identifier: BSL-1.0
// covers: compiled.hpp
#define EBB_COMPILED
#include <ebb/ebb.hpp>

static_assert(ebb::grad([](auto x) { return ebb::square(x); })(3.0) == 6.0);

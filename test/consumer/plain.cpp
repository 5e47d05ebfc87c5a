// test/consumer/plain.cpp — a file that has ebb without the target ebb::lapack, in a program that links it.
// SPDX-License-Identifier: BSL-1.0
#include "cholesky.hpp"

static_assert(!ebb::kernel::lapack::linked);

std::vector<double> by_ebb(std::size_t n) { return factor_of(n); }

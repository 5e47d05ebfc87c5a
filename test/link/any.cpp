// test/link/any.cpp — compiled for any machine of the architecture.
// SPDX-License-Identifier: BSL-1.0
#include "work.hpp"

report work_any() { return work(); }

// test/link/native.cpp — the translation unit compiled with -march=native.
// SPDX-License-Identifier: BSL-1.0
#include "work.hpp"

report work_native() { return work(); }

// test/catch.cpp — owns the precompiled catch.hpp that all tests share.
// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

// test/base/hash.static.cpp — the published values of 64-bit FNV-1a; they name programs in logs and may never change.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/base/hash.hpp>

// Test vectors of draft-eastlake-fnv, section 8.1.
static_assert(ebb::hash_text("") == 0xcbf29ce484222325u);
static_assert(ebb::hash_text("a") == 0xaf63dc4c8601ec8cu);
static_assert(ebb::hash_text("foobar") == 0x85944171f73967e8u);

static_assert(ebb::hash_text("bar", ebb::hash_text("foo")) == ebb::hash_text("foobar"));  // goes on where a hash ended
static_assert(ebb::hash_text("\xff") == (0xcbf29ce484222325u ^ 0xffu) * 1099511628211u);  // bytes have no sign

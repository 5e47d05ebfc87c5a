// bench/tape/chain.shared.cpp — the same chain inside a shared object, where access to thread-local variables costs a call.
// SPDX-License-Identifier: BSL-1.0
#include "chain.hpp"

#include "shared.hpp"

shared_cost measure_in_shared_object(int length, int rounds) {
  const chain_cost c = measure_chain(scale, length, rounds);
  return {c.record, c.backward, c.destroy};
}

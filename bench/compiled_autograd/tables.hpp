// bench/compiled_autograd/tables.hpp — the tables of this benchmark.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "session.hpp"

namespace bench {

void look_up(session&);   // finding a captured backward again, for each node
void tutorial(session&);  // three segments that only add, n = 10 to 1e7: fixed costs
void work(session&);      // three segments with real work against one loop by hand
void recorded(session&);  // the same with a graph of the backward
void chains(session&);    // recorded, run by the plain engine, run captured, for each node
void network(session&);   // a training step as one program, and as two regions with hooks
void capture(session&);   // a miss, for each node

}  // namespace bench

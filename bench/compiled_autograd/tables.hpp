// bench/compiled_autograd/tables.hpp — what is measured.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "session.hpp"

namespace bench {

void look_up(session&);   // finding a captured backward again, a node
void tutorial(session&);  // three segments that only add, n = 10 to 1e7: fixed costs
void work(session&);      // three segments with real work against one loop by hand
void recorded(session&);  // the same with a graph of the backward
void chains(session&);    // recorded, run by the plain engine, run captured, a node
void network(session&);   // a step of training in one program, and in two regions with hooks
void capture(session&);   // a miss, a node

}  // namespace bench

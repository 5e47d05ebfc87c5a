// bench/tape/shared.hpp — what the shared object offers.
// SPDX-License-Identifier: BSL-1.0
#pragma once

struct shared_cost {
  double record, backward, destroy;
};
shared_cost measure_in_shared_object(int length, int rounds);

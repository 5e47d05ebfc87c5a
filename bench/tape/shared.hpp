// bench/tape/shared.hpp — the functions of the shared object.
// SPDX-License-Identifier: BSL-1.0
#pragma once

struct shared_cost {
  double record, backward, destroy;
};
shared_cost measure_in_shared_object(int length, int rounds);

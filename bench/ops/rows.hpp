// bench/ops/rows.hpp — rows with shapes of their own, one file each.
// SPDX-License-Identifier: BSL-1.0
#pragma once

namespace ops {

class session;

void linalg(session&);
void equations(session&);
void systems(session&);
void spectra(session&);
void factors(session&);
void convolution(session&);

}  // namespace ops

// ebb/sparse.hpp — Jacobians and Hessians that are mostly zeros, by a few derivatives along directions. Optional: ebb.hpp leaves it out.
// SPDX-License-Identifier: BSL-1.0
//
// In reading order: of its own folder, a header includes only those above it in this list.
#pragma once

#include "functional.hpp"

#include "sparse/pattern.hpp"
#include "sparse/element_sets.hpp"
#include "sparse/known.hpp"
#include "sparse/boxes.hpp"
#include "sparse/dependence.hpp"
#include "sparse/steps.hpp"
#include "sparse/constant_pattern.hpp"
#include "sparse/block_rows.hpp"
#include "sparse/columns.hpp"
#include "sparse/jacobian.hpp"

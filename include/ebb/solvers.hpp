// ebb/solvers.hpp — equations and minima: derivatives of their solutions. Optional: ebb.hpp does not include it.
// SPDX-License-Identifier: BSL-1.0
//
// In reading order: of its own folder, a header includes only those above it in this list.
#pragma once

#include "functional.hpp"

#include "solvers/implicit.hpp"
#include "solvers/constrained.hpp"
#include "solvers/quadrature.hpp"
#include "solvers/conjugate_gradient.hpp"
#include "solvers/gmres.hpp"
#include "solvers/root.hpp"
#include "solvers/least_squares.hpp"
#include "solvers/lbfgs.hpp"
#include "solvers/dopri5.hpp"
#include "solvers/integrate.hpp"

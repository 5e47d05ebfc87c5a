// ebb/linalg.hpp — products, determinants, factors, eigenvalues and singular values of matrices. Optional: ebb.hpp does not include it.
// SPDX-License-Identifier: BSL-1.0
//
// In reading order: of its own folder, a header includes only those above it in this list.
#pragma once

#include "functional.hpp"

#include "linalg/diagonal.hpp"
#include "linalg/chain_order.hpp"
#include "linalg/products.hpp"
#include "linalg/matrix.hpp"
#include "linalg/band.hpp"
#include "linalg/banded.hpp"
#include "linalg/toeplitz.hpp"
#include "linalg/reflection.hpp"
#include "linalg/rotations.hpp"
#include "linalg/bisection.hpp"
#include "linalg/tridiagonal.hpp"
#include "linalg/bidiagonal_values.hpp"
#include "linalg/bidiagonal.hpp"
#include "linalg/cofactors.hpp"
#include "linalg/determinant.hpp"
#include "linalg/qr.hpp"
#include "linalg/lu.hpp"
#include "linalg/eigen.hpp"
#include "linalg/root.hpp"
#include "linalg/logarithm.hpp"
#include "linalg/one_sided_jacobi.hpp"
#include "linalg/svd.hpp"
#include "linalg/singular.hpp"
#include "linalg/exponential.hpp"
#include "linalg/sylvester.hpp"
#include "linalg/riccati.hpp"

// ebb/mpi.hpp — training on several machines by MPI. Optional: ebb.hpp does not include it, and it needs an MPI library.
// SPDX-License-Identifier: BSL-1.0
//
// In reading order: of its own folder, a header includes only those above it in this list. See [note: MPI is optional].
#pragma once

#include "mpi/communicator.hpp"
#include "mpi/broadcast.hpp"
#include "mpi/summation.hpp"
#include "mpi/all_reduce.hpp"
#include "mpi/exchange.hpp"
#include "mpi/data_parallel.hpp"

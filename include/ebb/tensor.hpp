// ebb/tensor.hpp — arrays and views, extents, the orders of summation.
// SPDX-License-Identifier: BSL-1.0
//
// In reading order: of its own folder, a header includes only those above it in this list.
#pragma once

#include "tensor/reduction_tree.hpp"
#include "tensor/bfloat16_order.hpp"
#include "tensor/extents.hpp"
#include "tensor/layout.hpp"
#include "tensor/storage.hpp"
#include "tensor/cells.hpp"
#include "tensor/literal.hpp"
#include "tensor/view.hpp"
#include "tensor/tensor.hpp"
#include "tensor/borrow.hpp"
#include "tensor/shape.hpp"
#include "tensor/broadcast.hpp"
#include "tensor/equal.hpp"
#include "tensor/foreign.hpp"
#include "tensor/nest.hpp"
#include "tensor/print.hpp"
#include "tensor/product_order.hpp"
#include "tensor/solve_order.hpp"
#include "tensor/strided.hpp"
#include "tensor/triangle_order.hpp"

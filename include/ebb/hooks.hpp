// ebb/hooks.hpp — hooks on variables and nodes: traced hooks, opaque hooks, update rules.
// SPDX-License-Identifier: BSL-1.0
//
// In reading order: of its own folder, a header includes only those above it in this list.
#pragma once

#include "hooks/hook_function.hpp"
#include "hooks/hook_program.hpp"
#include "hooks/traced_hook.hpp"
#include "hooks/rule.hpp"
#include "hooks/update.hpp"
#include "hooks/register.hpp"
#include "hooks/node_handle.hpp"
#include "hooks/creation_hook.hpp"
#include "hooks/multi_grad.hpp"

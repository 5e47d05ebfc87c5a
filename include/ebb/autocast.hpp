// ebb/autocast.hpp — autocast contexts: functions inside one, scopes, the policies of a backward.
// SPDX-License-Identifier: BSL-1.0
//
// In reading order: of its own folder, a header includes only those above it in this list.
#pragma once

#include "autocast/questions.hpp"
#include "autocast/scope.hpp"
#include "autocast/log.hpp"
#include "autocast/under.hpp"
#include "autocast/policy.hpp"

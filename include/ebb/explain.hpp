// ebb/explain.hpp — explanations: the plan of a function in plain words. Optional: ebb.hpp does not include it.
// SPDX-License-Identifier: BSL-1.0
//
// In reading order: of its own folder, a header includes only those above it in this list.
#pragma once

#include "functional.hpp"

#include "explain/formula.hpp"
#include "explain/plan_words.hpp"
#include "explain/window_words.hpp"
#include "explain/advice.hpp"
#include "explain/explanation.hpp"
#include "explain/explain.hpp"

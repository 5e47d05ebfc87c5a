// ebb/base.hpp — configuration, errors, logs, hashes, small containers.
// SPDX-License-Identifier: BSL-1.0
//
// In reading order: of its own folder, a header includes only those above it in this list.
#pragma once

#include "base/config.hpp"
#include "base/probe.hpp"
#include "base/record.hpp"
#include "base/target.hpp"
#include "base/instruction.hpp"
#include "base/compiled.hpp"
#include "base/look_up.hpp"
#include "base/pool.hpp"
#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/hash.hpp"
#include "base/vec.hpp"
#include "base/hash_index.hpp"
#include "base/log.hpp"
#include "base/numbering.hpp"
#include "base/objects.hpp"
#include "base/owned.hpp"
#include "base/repeat.hpp"
#include "base/settings.hpp"
#include "base/text.hpp"
#include "base/tuple.hpp"
#include "base/utf8.hpp"

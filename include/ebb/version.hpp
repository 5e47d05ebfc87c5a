// ebb/version.hpp — the version, read by CMake too.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#define EBB_VERSION_MAJOR 0
#define EBB_VERSION_MINOR 1
#define EBB_VERSION_PATCH 0

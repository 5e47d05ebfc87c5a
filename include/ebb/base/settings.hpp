// ebb/base/settings.hpp — what a process may choose, in one object.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "config.hpp"

#include <atomic>
#include <cstdint>

namespace ebb::inline EBB_ABI {

/// What happens where a backward is called in an autocast context that its regions were not compiled for, and that matters.
enum class on_mismatch : std::uint8_t { error, warn, ignore };

struct settings {
  std::atomic<on_mismatch> autocast_mismatch = on_mismatch::error;
};

/// One object a process: ebb::config().autocast_mismatch = ebb::on_mismatch::warn;
inline settings& config() {
  static settings s;
  return s;
}

}  // namespace ebb::inline EBB_ABI

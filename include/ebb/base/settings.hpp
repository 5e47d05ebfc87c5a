// ebb/base/settings.hpp — what a process may choose, in one object.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "config.hpp"

#include <atomic>
#include <cstdint>

namespace ebb::inline EBB_ABI {

/// What happens where a backward is called in an autocast context that its regions were not compiled for, and that matters. A warning is
/// given once for each of them.
enum class on_mismatch : std::uint8_t { error, warn, ignore };

struct backward_engine;

/// What runs backwards where no scope says it: config().compiled_autograd = true;
class engine_setting {
 public:
  /// Defined where the engine is, in capture/switch.hpp.
  engine_setting& operator=(bool captures);
  operator bool() const { return engine() != nullptr; }
  const backward_engine* engine() const { return engine_.load(std::memory_order_acquire); }

 private:
  std::atomic<const backward_engine*> engine_ = nullptr;
};

struct settings {
  std::atomic<on_mismatch> autocast_mismatch = on_mismatch::error;
  engine_setting compiled_autograd;
};

namespace detail {
inline constinit settings process_settings{};
}
/// One object a process: ebb::config().autocast_mismatch = ebb::on_mismatch::warn;
inline settings& config() { return detail::process_settings; }

}  // namespace ebb::inline EBB_ABI

// ebb/base/settings.hpp — process-wide settings, in one object.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "config.hpp"

#include <atomic>
#include <cstdint>

namespace ebb::inline EBB_ABI {

/// The reaction to a backward that is called in an autocast context for which its regions were not compiled, if the context matters. There
/// is one warning for each region.
enum class on_mismatch : std::uint8_t { error, warn, ignore };

struct backward_engine;

/// The engine that runs a backward outside of scopes that choose one: config().compiled_autograd = true;
class engine_setting {
 public:
  /// Defined with the engine, in capture/switch.hpp.
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
/// The settings of the process: ebb::config().autocast_mismatch = ebb::on_mismatch::warn;
inline settings& config() { return detail::process_settings; }

}  // namespace ebb::inline EBB_ABI

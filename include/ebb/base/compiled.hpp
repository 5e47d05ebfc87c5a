// ebb/base/compiled.hpp — the library ebb::compiled has to be compiled for the instruction set of its users: the linker says if it is not.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "config.hpp"

namespace ebb::inline EBB_ABI {

#if defined(EBB_COMPILED_SOURCE)
[[gnu::used]] inline void ebb_compiled_was_built_with_another_march_or_without_exceptions() {}
#elif defined(EBB_COMPILED)
// Its name, with that of the instruction set before it, is what the linker prints if no library has it.
void ebb_compiled_was_built_with_another_march_or_without_exceptions();
namespace detail {
[[gnu::used]] static void (*const fits_compiled_library)() = ebb_compiled_was_built_with_another_march_or_without_exceptions;
}
#endif

}  // namespace ebb::inline EBB_ABI

// ebb/base/compiled.hpp — a link-time check that ebb::compiled was compiled with the instruction set and the options of its users.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "config.hpp"

namespace ebb::inline EBB_ABI {

#if defined(EBB_COMPILED_SOURCE)
[[gnu::used]] inline void ebb_compiled_was_built_with_another_march_or_without_exceptions_or_profile_or_lapack() {}
#elif defined(EBB_COMPILED)
// The linker prints this name, after that of the instruction set, if no library defines it.
void ebb_compiled_was_built_with_another_march_or_without_exceptions_or_profile_or_lapack();
namespace detail {
[[gnu::used]] static void (*const fits_compiled_library)() =
    ebb_compiled_was_built_with_another_march_or_without_exceptions_or_profile_or_lapack;
}
#endif

}  // namespace ebb::inline EBB_ABI

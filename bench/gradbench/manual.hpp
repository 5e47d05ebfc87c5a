// bench/gradbench/manual.hpp — plain functions between its two macros are compiled with -O3 by g++, whatever the flags of the file.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__)
#define GRADBENCH_MANUAL_BEGIN _Pragma("GCC push_options") _Pragma("GCC optimize(\"O3\")")
#define GRADBENCH_MANUAL_END _Pragma("GCC pop_options")
#else
#define GRADBENCH_MANUAL_BEGIN
#define GRADBENCH_MANUAL_END
#endif

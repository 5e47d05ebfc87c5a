// ebb/base/config.hpp — the few macros, and what the compiler must offer; no other header defines a macro.
// SPDX-License-Identifier: BSL-1.0
//
// [note: compiled where used]
// A function that is no template is compiled wherever it is seen, and with it all that it calls, though nobody calls it. What is not
// in every program is a template therefore: of an element type, of a graph, or of whatever else it is called with.
#pragma once

#if defined(__FAST_MATH__) && !defined(EBB_ALLOW_FAST_MATH)
#error "ebb: fast math breaks NaN, signed zero and the order of sums: compile without its flag, or define EBB_ALLOW_FAST_MATH and lose them"
#endif

#if defined(_MSC_VER) && !defined(__clang__)
#error "ebb: MSVC's compiler has no vector extensions, which the kernels are written with: use clang-cl, or g++ from MinGW-w64"
#endif
#if defined(__wasm__) && !defined(__wasm_simd128__)
#error "ebb: WebAssembly without SIMD is not supported: add -msimd128"
#endif

// EBB_ABI names the inline namespace that holds everything: version, instruction set and options. Two translation units that are
// compiled with different flags then share no function, so that the linker cannot hand AVX-512 code to the one that asked for SSE2.
// [note: one namespace per instruction set]
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512BF16__)
#define EBB_ISA avx512_bf16
#elif defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__)
#define EBB_ISA avx512
#elif defined(__AVX2__) && defined(__FMA__)
#define EBB_ISA avx2_fma
#elif defined(__AVX2__)
#define EBB_ISA avx2
#elif defined(__AVX__)
#define EBB_ISA avx
#elif defined(__SSE4_1__)
#define EBB_ISA sse4
#elif defined(__SSE2__)
#define EBB_ISA sse2
#elif defined(__aarch64__)
#define EBB_ISA neon64
#elif defined(__wasm_simd128__)
#define EBB_ISA wasm_simd128
#else
#define EBB_ISA generic
#endif

#if defined(__cpp_exceptions)
#define EBB_EXCEPTIONS 1
#define EBB_ABI_OPTIONS
#else
#define EBB_EXCEPTIONS 0
#define EBB_ABI_OPTIONS _noexcept
#endif

#define EBB_JOIN_(a, b, c) a##b##c
#define EBB_JOIN(a, b, c) EBB_JOIN_(a, b, c)
#define EBB_ABI EBB_JOIN(v0_, EBB_ISA, EBB_ABI_OPTIONS)

// EBB_FORCE_INLINE: whether kernels insist on inlining. It is worth a factor of 1.6 on g++ -O2 and up to 1.16 on clang 19, and multiplies
// code (and compile time) where nothing is optimized and under sanitizers: there it is 0. What is inlined so has no debug information of
// its own in clang, where a debugger shows the call: with it -O2 -g takes twice as long as -O2, and objects are four times as large.
#if !defined(EBB_FORCE_INLINE)
#if !defined(__OPTIMIZE__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define EBB_FORCE_INLINE 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(undefined_behavior_sanitizer)
#define EBB_FORCE_INLINE 0
#else
#define EBB_FORCE_INLINE 1
#endif
#else
#define EBB_FORCE_INLINE 1
#endif
#endif

#if EBB_FORCE_INLINE
#if defined(__clang__)
#define EBB_LAMBDA __attribute__((always_inline, nodebug))
#else
#define EBB_LAMBDA __attribute__((always_inline))
#endif
#define EBB_INLINE inline EBB_LAMBDA
#define EBB_FLATTEN [[gnu::flatten]]
#else
#define EBB_INLINE inline
#define EBB_FLATTEN
#define EBB_LAMBDA
#endif

// EBB_PART and EBB_PART_LAMBDA: what is only called inside of an EBB_FLATTEN function. g++ flattens all levels, and does better if they
// insist on nothing: it inlines no ordinary function into one that must be inlined itself, so that values would stay in memory through
// all levels, and be looked for there at each. clang flattens one level.
#if EBB_FORCE_INLINE && !defined(__clang__)
#define EBB_PART inline
#define EBB_PART_LAMBDA
#else
#define EBB_PART EBB_INLINE
#define EBB_PART_LAMBDA EBB_LAMBDA
#endif

// EBB_ONCE, EBB_ONCE_APART and EBB_COLD: functions that are no templates, of more than a line or two. A file that is compiled with
// EBB_COMPILED, as the target ebb::compiled says, only declares them: they are in a library, which is include/ebb/compiled.cpp, compiled
// with EBB_COMPILED_SOURCE. Otherwise they are inline.
// EBB_ONCE_APART: never inlined.   EBB_COLD: nor in a hurry, but to be short: what explains, prints, plans or refuses runs once, if at all.
// EBB_ONCE_FOR_ALL(void f<float>(int)): an instantiation that the library has. A template is no inline function to be left out elsewhere:
// EBB_TEMPLATE is `inline` without the library, and nothing with it.
// [note: declared only]
// A gnu_inline function is there to be inlined and never emitted. Where it cannot be inlined either, it is not compiled at all: for clang
// noinline says so, for g++ that it is not to be optimized. Without that, compilers spend half of their time on what they throw away.
#if defined(EBB_COMPILED_SOURCE)
#define EBB_ONCE [[gnu::used]] inline
#define EBB_ONCE_APART [[gnu::used, gnu::noinline]] inline
#elif !defined(EBB_COMPILED)
#define EBB_ONCE inline
#define EBB_ONCE_APART [[gnu::noinline]] inline
#elif defined(__clang__)
#define EBB_ONCE [[gnu::gnu_inline, gnu::noinline]] inline
#define EBB_ONCE_APART EBB_ONCE
#pragma clang diagnostic ignored "-Wgnu-inline-cpp-without-extern"  // members cannot be extern
#else
#define EBB_ONCE [[gnu::gnu_inline, gnu::optimize("O0")]] inline
#define EBB_ONCE_APART EBB_ONCE
#endif
#if defined(EBB_COMPILED_SOURCE)
#define EBB_TEMPLATE
#define EBB_ONCE_FOR_ALL(...) template __VA_ARGS__;
#elif defined(EBB_COMPILED)
#define EBB_TEMPLATE
#define EBB_ONCE_FOR_ALL(...) extern template __VA_ARGS__;
#else
#define EBB_TEMPLATE inline
#define EBB_ONCE_FOR_ALL(...)
#endif
#if defined(EBB_COMPILED) && !defined(EBB_COMPILED_SOURCE)
#define EBB_COLD [[gnu::cold]] EBB_ONCE
#elif !defined(__OPTIMIZE__)
#define EBB_COLD EBB_ONCE
#elif defined(__clang__)
#define EBB_COLD [[gnu::cold, clang::minsize]] EBB_ONCE_APART
#else
#define EBB_COLD [[gnu::cold, gnu::optimize("Os")]] EBB_ONCE_APART
#endif

// EBB_NO_CONDITION: a conversion to bool that may not be used. That is said where it is chosen, and only there: !x has an operator, though
// the built-in one is looked at, too.
#define EBB_NO_CONDITION \
  __attribute__((unavailable("[ebb E0107] a term has no value while it is traced: choose with ebb::where, not with if")))

// EBB_NO_NUMBER: the same of a conversion to a number. It is there for functions that are not ours: std::exp(x) finds it, and says so.
#define EBB_NO_NUMBER \
  __attribute__((unavailable("[ebb E0213] a term has no value while it is traced: call ebb::exp, not std::exp; its type is auto")))

// EBB_LIFETIMEBOUND: the result refers to this argument, or, behind a member function, to the object. Clang warns where that is a temporary
// and the result gets a name.
#if defined(__clang__)
#define EBB_LIFETIMEBOUND [[clang::lifetimebound]]
#else
#define EBB_LIFETIMEBOUND
#endif

// EBB_SCOPE: a constructor of what acts while it lives. Without a name it would end at once, and silently have done nothing. It stands at
// constructors since g++ 12 does not see it at a class.
#define EBB_SCOPE [[nodiscard("[ebb E0200] a scope without a name ends at once")]]

// EBB_TAIL_CALL return f(...): a jump. g++ makes one of it by itself, from -O2 on.
#if defined(__clang__) && __has_cpp_attribute(clang::musttail) && (!defined(__wasm__) || defined(__wasm_tail_call__))
#define EBB_TAIL_CALL [[clang::musttail]]
#else
#define EBB_TAIL_CALL
#endif

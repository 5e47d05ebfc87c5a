// ebb/base/config.hpp — the library's macros, and its requirements on the compiler; no other header defines a macro.
// SPDX-License-Identifier: BSL-1.0
//
// [note: compiled where used]
// A non-template function is compiled in every file that includes it, together with everything it calls, even if it is never called.
// So code that not every program needs is a template: on an element type, on a graph, or on the type of some argument.
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

// EBB_ABI names the inline namespace that holds everything: version, instruction set and options. Translation units that are
// compiled with different flags then share no function: the linker cannot give AVX-512 code to one that was compiled for SSE2.
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

// AMD's processors divide quickly, so plans for them are others: see target_has::division.
#if defined(__znver1__) || defined(__znver2__) || defined(__znver3__) || defined(__znver4__) || defined(__znver5__)
#define EBB_DIVIDES_QUICKLY 1
#define EBB_ABI_DIVISION _zen
#else
#define EBB_DIVIDES_QUICKLY 0
#define EBB_ABI_DIVISION
#endif

#if defined(__cpp_exceptions)
#define EBB_EXCEPTIONS 1
#define EBB_ABI_EXCEPTIONS
#else
#define EBB_EXCEPTIONS 0
#define EBB_ABI_EXCEPTIONS _noexcept
#endif

// EBB_PROFILE is defined by those who want to profile: -DEBB_PROFILE. EBB_PROBE(...) is code that exists only then: see [note: probes].
#if defined(EBB_PROFILE)
#define EBB_PROBE(...) __VA_ARGS__
#define EBB_ABI_PROFILE _profile
#else
#define EBB_PROBE(...)
#define EBB_ABI_PROFILE
#endif

// EBB_LAPACK is defined by the target ebb::lapack: see [note: large matrices by LAPACK].
#if defined(EBB_LAPACK)
#define EBB_ABI_LAPACK _lapack
#else
#define EBB_ABI_LAPACK
#endif

#define EBB_JOIN_(a, b, c, d, e, f) a##b##c##d##e##f
#define EBB_JOIN(a, b, c, d, e, f) EBB_JOIN_(a, b, c, d, e, f)
#define EBB_ABI EBB_JOIN(v0_, EBB_ISA, EBB_ABI_DIVISION, EBB_ABI_EXCEPTIONS, EBB_ABI_PROFILE, EBB_ABI_LAPACK)

// EBB_FORCE_INLINE: whether kernels force inlining. That gives a factor of 1.6 on g++ -O2 and up to 1.16 on clang 19. Without optimization
// and under sanitizers it only multiplies code and compile time: there it is 0. In clang force-inlined functions have no debug information,
// and a debugger shows the call: with it -O2 -g would take twice as long as -O2, and objects would be four times as large.
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

// EBB_PART and EBB_PART_LAMBDA: for functions that are only called inside an EBB_FLATTEN function. g++'s `flatten` already inlines every
// level. Marking the inner functions always_inline as well stops it from inlining ordinary functions into them, and values are then spilled
// to the stack at each level. clang's `flatten` inlines one level, so there they are always_inline.
#if EBB_FORCE_INLINE && !defined(__clang__)
#define EBB_PART inline
#define EBB_PART_LAMBDA
#else
#define EBB_PART EBB_INLINE
#define EBB_PART_LAMBDA EBB_LAMBDA
#endif

// EBB_APART: never inlined: for templates that are called in many places and take their time anyway, as those that allocate.
#define EBB_APART [[gnu::noinline]]

// EBB_ONCE, EBB_ONCE_APART and EBB_COLD mark non-template functions of more than a line or two. A file that is compiled with EBB_COMPILED,
// as the target ebb::compiled demands, only declares them. Their definitions are in a library: include/ebb/compiled.cpp, compiled with
// EBB_COMPILED_SOURCE. Otherwise they are inline.
// EBB_ONCE_CTOR, EBB_COLD_CTOR: the same for constructors and destructors. Clang emits one symbol of each in the library, for base classes,
// and files that are not optimized call the other one: for clang they are inline.
// EBB_ONCE_APART: never inlined.   EBB_COLD: optimized for size too: functions that explain, print, plan or refuse run once, if at all.
// EBB_ONCE_FOR_ALL(void f<float>(int)): an instantiation that the library has. Inline functions are compiled in spite of `extern template`,
// so EBB_TEMPLATE is `inline` without the library and empty with it.
// [note: declared only]
// A gnu_inline function exists for inlining only and is never emitted. If it cannot be inlined either, it is not compiled at all. Clang
// needs noinline for that, g++ needs optimize("O0"). Without these, compilers spend half of their time on code that they discard.
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
#if defined(EBB_COMPILED) && defined(__clang__)
#define EBB_ONCE_CTOR inline
#define EBB_COLD_CTOR inline
#else
#define EBB_ONCE_CTOR EBB_ONCE
#define EBB_COLD_CTOR EBB_COLD
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

// EBB_NO_CONDITION: a conversion to bool that must not be used. It is an error only if overload resolution chooses it: !x chooses
// ebb's operator, although it considers the built-in one too.
#define EBB_NO_CONDITION \
  __attribute__((unavailable("[ebb E0107] a term has no value while it is traced: choose with ebb::where, not with if")))

// EBB_NO_NUMBER: the same for a conversion to a number. It exists for functions outside ebb: std::exp(x) chooses it and gets the error.
#define EBB_NO_NUMBER \
  __attribute__((unavailable("[ebb E0213] a term has no value while it is traced: call ebb::exp, not std::exp; its type is auto")))

// EBB_LIFETIMEBOUND: the result refers to this argument or, at the end of a member function's declaration, to the object. Clang warns if
// that is a temporary and the result gets a name.
#if defined(__clang__)
#define EBB_LIFETIMEBOUND [[clang::lifetimebound]]
#else
#define EBB_LIFETIMEBOUND
#endif

// EBB_SCOPE: marks a constructor of an object that acts while it lives. Without a name it would end at once and silently do nothing.
// The macro marks constructors because g++ 12 ignores it on a class.
#define EBB_SCOPE [[nodiscard("[ebb E0200] a scope without a name ends at once")]]

// EBB_TAIL_CALL return f(...): a jump instead of a call. g++ makes it one without an attribute, from -O2 on.
#if defined(__clang__) && __has_cpp_attribute(clang::musttail) && (!defined(__wasm__) || defined(__wasm_tail_call__))
#define EBB_TAIL_CALL [[clang::musttail]]
#else
#define EBB_TAIL_CALL
#endif

// EBB_HAS_MMAP: whether the system has POSIX files, which can be mapped into memory.
#if __has_include(<sys/mman.h>) && __has_include(<unistd.h>) && !defined(_WIN32) && !defined(__wasm__)
#define EBB_HAS_MMAP 1
#else
#define EBB_HAS_MMAP 0
#endif

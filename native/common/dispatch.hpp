// Run-time dispatch: a function marked GRAPHREG_DISPATCHED is compiled for several instruction sets, and the best one
// is chosen at run time; every function it calls must be inlined into it. All versions return the same bits (no fused
// multiply-add, see CMakeLists.txt).
#pragma once

#if defined(_MSC_VER) && !defined(__clang__)
#error "graphreg needs GCC or Clang"
#endif

// Not for ThreadSanitizer: the choice is made while the library is loaded, before its functions can be called.
#if defined(__x86_64__) && defined(__linux__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define GRAPHREG_DISPATCHED __attribute__((target_clones("avx2", "default")))
#else
#define GRAPHREG_DISPATCHED
#endif

#define GRAPHREG_INLINE inline __attribute__((always_inline))

// One build for every processor: a function marked GRAPHREG_DISPATCHED is compiled for several instruction sets, and the
// best is picked at run time; what it calls must be inlined into it. All of them give the same bits (no fused
// multiply-add, see CMakeLists.txt).
#pragma once

#include <cstdint>

#if defined(_MSC_VER) && !defined(__clang__)
#error "graphreg needs GCC or Clang"
#endif

#if defined(__x86_64__) && defined(__linux__) && !defined(__clang__)
#define GRAPHREG_DISPATCHED __attribute__((target_clones("avx2", "default")))
#else
#define GRAPHREG_DISPATCHED
#endif

#define GRAPHREG_INLINE inline __attribute__((always_inline))

namespace graphreg {

// Four numbers that are worked on at once, on any processor. Their alignment is spelt out: by default it is another one in
// code for another instruction set.
typedef double Four __attribute__((vector_size(32), aligned(32)));
typedef std::int64_t FourIntegers __attribute__((vector_size(32), aligned(32)));

}  // namespace graphreg

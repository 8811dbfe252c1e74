// hd.h: defines the macros that mark functions for the host and, under nvcc, for GPUs as well.
#pragma once

#ifdef __CUDACC__
#define GS_HD __host__ __device__
#else
#define GS_HD
#endif

// For small functions that kernels of several instruction set levels share. They are always inlined: of out-of-line
// copies the linker would keep one, compiled for one level, for the whole program.
#define GS_INLINE GS_HD inline __attribute__((always_inline))

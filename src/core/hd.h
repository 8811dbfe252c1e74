// hd.h: marks the functions that compile for the host and, under nvcc, for the device too.
#pragma once

#ifdef __CUDACC__
#define GS_HD __host__ __device__
#else
#define GS_HD
#endif

// The same for small functions that kernels of several instruction set levels share: no copy of them may reach the
// linker, which would pick one level's for everybody.
#define GS_INLINE GS_HD inline __attribute__((always_inline))

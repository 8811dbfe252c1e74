// unroll.h: marks a loop that nvcc has to unroll, so that its arrays stay in registers.
#pragma once

#ifdef __CUDA_ARCH__
#define GS_UNROLL _Pragma("unroll")
#else
#define GS_UNROLL
#endif

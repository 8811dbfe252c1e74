// hd.h: marks the functions that compile for the host and, under nvcc, for the device too.
#pragma once

#ifdef __CUDACC__
#define GS_HD __host__ __device__
#else
#define GS_HD
#endif

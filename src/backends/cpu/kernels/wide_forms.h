// wide_forms.h: the forms that only levels with wide registers have kernels for. Included by kernel_blocks.cpp only.
#pragma once

#include "backends/cpu/kernels/simd.h"

#if defined(GS_WIDE_FORMS)
// GCC 12 warns about undefined operands inside of its own intrinsics as if they were ours (GCC bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#include "backends/cpu/kernels/kernel_bytes_table.h"
#include "backends/cpu/kernels/kernel_vector.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#else
namespace gs::cpu::GS_ISA {
namespace {

// Other levels move their points block by block, which is right for every job.
bool run_blocks(const Job& job, int64_t first, int64_t last);
bool run_vectors(const Job& job, int64_t first, int64_t last) {
  return run_blocks(job, first, last);
}
bool run_byte_table(const Job& job, int64_t first, int64_t last) {
  return run_blocks(job, first, last);
}

}  // namespace
}  // namespace gs::cpu::GS_ISA
#endif

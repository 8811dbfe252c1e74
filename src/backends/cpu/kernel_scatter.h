// kernel_scatter.h: stage 2 of a kernel that writes to indexed addresses: picks the points of a block that belong to
// this thread, then copies or combines their units. Included by kernels.cpp only, once for every instruction set level.
//
// Every thread looks at all points, and writes only to its own range of addresses. So the points of one target are met
// by one thread, in ascending order: the last duplicate wins and sums do not depend on the number of threads.
#pragma once

#include "backends/cpu/kernel_move.h"

namespace gs::cpu::GS_ISA {
namespace {

inline constexpr int kValuesAhead = 12;  // units whose values are asked for before they are needed
inline constexpr int kLanes = 8;

// The own points of a block, in order. Room for a whole vector behind the last one.
struct Share {
  int n = 0;
  alignas(64) Address target[kMaxBlock + kLanes];
  alignas(64) Address value[kMaxBlock + kLanes];
};

#if defined(__AVX512F__)
// Lanes behind the end of the block hold address 0, which nobody owns.
void pick(const Job& job, Block& block, Share& share) {
  const __m512i low = _mm512_set1_epi64(static_cast<long long>(job.own_low));
  const __m512i span = _mm512_set1_epi64(static_cast<long long>(job.own_high - job.own_low));
  const __m512i step = _mm512_set1_epi64(static_cast<long long>(job.unit) * kLanes);
  const __m512i lane = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
  const __m512i base = _mm512_set1_epi64(static_cast<long long>(block.dense));
  __m512i packed = _mm512_add_epi64(base, _mm512_mullo_epi64(lane, _mm512_set1_epi64(job.unit)));
  for (int k = block.n; k % kLanes != 0; ++k) block.address[k] = 0;
  int n = 0;
  for (int k = 0; k < block.n; k += kLanes) {
    const __m512i target = _mm512_load_si512(block.address + k);
    const __mmask8 own = _mm512_cmplt_epu64_mask(_mm512_sub_epi64(target, low), span);
    __m512i value = packed;
    if (!job.packed) value = _mm512_add_epi64(base, _mm512_load_si512(block.dense_offset + k));
    packed = _mm512_add_epi64(packed, step);
    _mm512_storeu_si512(share.target + n, _mm512_maskz_compress_epi64(own, target));
    _mm512_storeu_si512(share.value + n, _mm512_maskz_compress_epi64(own, value));
    n += __builtin_popcount(own);
  }
  share.n = n;
}
#else
void pick(const Job& job, const Block& block, Share& share) {
  const uint64_t span = job.own_high - job.own_low;
  int n = 0;
  for (int k = 0; k < block.n; ++k) {
    share.target[n] = block.address[k];
    share.value[n] = dense_at(job, block, k);
    n += block.address[k] - job.own_low < span;  // no branch: which points are own is as good as random
  }
  share.n = n;
}
#endif

template <class Copy>
void scatter_units(const Share& share, int64_t unit, Copy copy) {
  const bool far = unit >= kLine && unit <= kAheadBytes;
  for (int j = 0; j < share.n; ++j) {
    if (far && j + kValuesAhead < share.n) prefetch_unit(share.value[j + kValuesAhead], unit);
    copy(pointer_to(share.target[j]), pointer_to(share.value[j]));
  }
}

bool owns_all(const Job& job, const Block& block) {
  const auto bytes = static_cast<uint64_t>(block.n) * static_cast<uint64_t>(job.unit);
  return block.address[0] >= job.own_low && block.address[0] + bytes <= job.own_high;
}

void scatter(const Job& job, Block& block) {
  if (block.run && job.apply == nullptr && owns_all(job, block)) {
    return copy_bytes(pointer_to(block.address[0]), pointer_to(block.dense), block.n * job.unit);
  }
  Share share;
  pick(job, block, share);
  if (job.apply != nullptr) return job.apply(job, share.target, share.value, share.n);
  if (job.stream) return with_lines(job.unit, [&](auto copy) { scatter_units(share, job.unit, copy); });
  with_copy(job.unit, [&](auto copy) { scatter_units(share, job.unit, copy); });
}

}  // namespace
}  // namespace gs::cpu::GS_ISA

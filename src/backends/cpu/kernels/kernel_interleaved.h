// kernel_interleaved.h: places points whose indices lie side by side in one array, such as the coordinates of a
// gather_nd: they are read, checked and multiplied in the order of memory. Included by kernel_place.h
// only, once for every instruction set level.
#pragma once

#include "backends/cpu/kernels/kernel_walk.h"

namespace gs::cpu::GS_ISA {
namespace {

inline constexpr int kMaxInterleaved = 4;      // indices of a point
inline constexpr int kInterleavedPoints = 64;  // points that are placed at once
inline constexpr int kMaxLanes = kMaxInterleaved * kInterleavedPoints;

// The extent and the step that belong to each index of the points that are placed at once: those of the index arrays in
// turn. The arrays have no element for a point but one for an index, so that vectors need no other order than memory's.
struct InterleavedLanes {
  int indices = 0;  // of a point; 0: not yet known whether the job has this form, -1: it does not
  alignas(64) int64_t extent[kMaxLanes];
  alignas(64) uint64_t step[kMaxLanes];
};

// Whether the points step through two index arrays in the same way.
inline bool have_equal_strides(const Job& job, int a, int b) {
  for (int axis = 0; axis < job.rank; ++axis) {
    if (stride_of(job, kIndex + a, axis) != stride_of(job, kIndex + b, axis)) return false;
  }
  return true;
}

// Whether the index arrays are the columns of one array whose last axis is contiguous, and products of positions and
// steps have factors of 32 bits.
inline bool is_interleaved(const Job& job) {
  const bool raises = job.rule.bounds == Bounds::raise || job.rule.bounds == Bounds::deferred;
  if (job.indices < 2 || job.indices > kMaxInterleaved || job.masked || job.folds > 0 || job.general || !raises)
    return false;
  const int64_t size = index_size(job.index[0].type);
  for (int a = 0; a < job.indices; ++a) {
    const JobIndex& index = job.index[a];
    if (index.type != job.index[0].type || index.data != job.index[0].data + a * size) return false;
    if (!is_linear(job, kIndex + a) || stride_of(job, kIndex + a, job.rank - 1) != job.indices * size) return false;
    if (!have_equal_strides(job, 0, a)) return false;
    if (index.step <= 0 || index.step > UINT32_MAX || index.extent > UINT32_MAX) return false;
  }
  return true;
}

inline void prepare_lanes(const Job& job, InterleavedLanes& lanes) {
  lanes.indices = is_interleaved(job) ? job.indices : -1;
  for (int j = 0; j < lanes.indices * kInterleavedPoints; ++j) {
    lanes.extent[j] = job.index[j % lanes.indices].extent;
    lanes.step[j] = static_cast<uint64_t>(job.index[j % lanes.indices].step);
  }
}

// The offset of each index by its position. The result is negative if an index lies outside.
template <bool kFromEnd>
int64_t resolve_lanes(const InterleavedLanes& lanes, const int64_t* __restrict value, int count,
                      int64_t* __restrict offset) {
  const int64_t* __restrict extent = lanes.extent;
  const uint64_t* __restrict step = lanes.step;
  int64_t outside = 0;
  for (int j = 0; j < count; ++j) {
    const Lane lane = resolve_lane<Bounds::raise>(value[j], extent[j], kFromEnd ? extent[j] : 0);
    outside |= lane.outside;
    offset[j] = static_cast<int64_t>(uint64_t{static_cast<uint32_t>(lane.position)} * static_cast<uint32_t>(step[j]));
  }
  return outside;
}

template <int kIndices>
void add_lanes(const int64_t* __restrict offset, int n, Address base, Address* __restrict address) {
  for (int k = 0; k < n; ++k) {
    Address sum = base;
    for (int a = 0; a < kIndices; ++a) sum += static_cast<uint64_t>(offset[k * kIndices + a]);
    address[k] = sum;
  }
}

// Places up to kInterleavedPoints points from their indices, which are widened in `value`; `offset` is memory for as
// many numbers.
inline bool place_interleaved(const Job& job, const InterleavedLanes& lanes, const int64_t* value, int n, Address base,
                              int64_t* offset, Address* address) {
  const int count = n * lanes.indices;
  const int64_t outside = job.rule.negative == Negative::from_end ? resolve_lanes<true>(lanes, value, count, offset)
                                                                  : resolve_lanes<false>(lanes, value, count, offset);
  if (outside < 0) return false;
  switch (lanes.indices) {
    case 2: add_lanes<2>(offset, n, base, address); break;
    case 3: add_lanes<3>(offset, n, base, address); break;
    default: add_lanes<4>(offset, n, base, address);
  }
  return true;
}

}  // namespace
}  // namespace gs::cpu::GS_ISA

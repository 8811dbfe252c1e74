// kernel_walk.h: tracks the coordinates that a kernel has reached, and computes byte offsets of a block of points.
// Included by kernel_blocks.cpp only, once for every instruction set level.
#pragma once

#include "backends/cpu/kernels/kernel_bytes.h"

namespace gs::cpu::GS_ISA {
namespace {

inline int64_t multiply(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
inline int64_t add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

inline int64_t stride_of(const Job& job, int operand, int axis) {
  return job.stride[axis * job.operands + operand];
}

// The coordinates of the next point.
struct Walk {
  int64_t at[kMaxRank];
};

void seek(const Job& job, Walk& walk, int64_t flat) {
  for (int d = job.rank - 1; d >= 0; --d) {
    walk.at[d] = flat == 0 ? 0 : flat % job.extent[d];  // small calls begin at 0, and a division would be slow for them
    flat = flat == 0 ? 0 : flat / job.extent[d];
  }
}

void advance(const Job& job, Walk& walk, int64_t points) {
  int64_t carry = points;
  for (int d = job.rank - 1; d >= 0 && carry > 0; --d) {
    walk.at[d] += carry;
    if (walk.at[d] < job.extent[d]) return;
    if (walk.at[d] == job.extent[d]) {  // the usual case: the points end exactly with a run
      walk.at[d] = 0;
      carry = 1;
      continue;
    }
    carry = walk.at[d] / job.extent[d];
    walk.at[d] %= job.extent[d];
  }
}

int64_t offset_at(const Job& job, const Walk& walk, int operand) {
  int64_t offset = 0;
  for (int d = 0; d < job.rank; ++d) offset = add(offset, multiply(walk.at[d], stride_of(job, operand, d)));
  return offset;
}

// The number of points of the next block.
inline int next_size(const Job& job, const Walk& walk, int64_t left) {
  int64_t n = left < job.block ? left : job.block;
  if (!job.short_runs) {
    const int last = job.rank - 1;
    const int64_t in_run = job.extent[last] - walk.at[last];
    n = n < in_run ? n : in_run;
  }
  return static_cast<int>(n);
}

// Returns true if the operand's offsets in every block are base + k * (its stride along the innermost axis).
inline bool is_linear(const Job& job, int operand) {
  return !job.general && (!job.short_runs || job.flat[operand]);
}

// Computes the offsets of n points from `from` on for any strides, by an odometer over the outer axes.
void spread(const Job& job, const Walk& from, int operand, int n, int64_t* __restrict offset) {
  const int last = job.rank - 1;
  const int64_t step = stride_of(job, operand, last);
  Walk walk;
  for (int d = 0; d < last; ++d) walk.at[d] = from.at[d];
  int64_t base = offset_at(job, from, operand);
  int64_t left = job.extent[last] - from.at[last];
  for (int k = 0; k < n;) {
    const int run = left < n - k ? static_cast<int>(left) : n - k;
    for (int i = 0; i < run; ++i) offset[k + i] = add(base, multiply(i, step));
    k += run;
    if (k == n) return;
    // The first run may have begun in the middle of the axis; all others begin at its start.
    base = add(base, multiply(left - job.extent[last], step));
    left = job.extent[last];
    for (int d = last - 1; d >= 0; --d) {
      const int64_t stride = stride_of(job, operand, d);
      base = add(base, stride);
      if (++walk.at[d] < job.extent[d]) break;
      base = add(base, -multiply(stride, job.extent[d]));
      walk.at[d] = 0;
    }
  }
}

}  // namespace
}  // namespace gs::cpu::GS_ISA

// prefetch_distances.h: how far ahead kernels prefetch, and the lengths from which they do.
#pragma once

#include <cstdint>

namespace gs::cpu {

inline constexpr int64_t kLineBytes = 64;

// ---- indices and contiguous units, in bytes
inline constexpr int64_t kIndexAhead = 8192;   // indices and values, into L2
inline constexpr int64_t kIndexNear = 1024;    // the same, into L1
inline constexpr int64_t kCheckAhead = 2048;   // indices of a check, into L1
inline constexpr int64_t kSourceAhead = 2048;  // values that lie in order
inline constexpr int64_t kTableAhead = 4096;   // contiguous units of the source array

// ---- index runs that are not contiguous
inline constexpr int64_t kShortRunBytes = 512;  // shorter ones ..
inline constexpr int64_t kRunsAhead = 4;        // .. are prefetched so many runs ahead

// ---- points that ascend by less than so many bytes on average, which the processor prefetches by itself (Zen 5)
inline constexpr int64_t kCloseSources = 48;
inline constexpr int64_t kNearTargets = 24;
inline constexpr int64_t kCloseTargets = 48;  // closer ones are scattered one by one

// ---- values and targets of scatters, in units
inline constexpr int kValuesAhead = 12;
inline constexpr int kTargetsAhead = 16;
inline constexpr int kRowTargetsAhead = 8;  // far targets of sums of rows, and their flags or counts (Xeon)
inline constexpr int64_t kPutsAhead = 64;   // items of columns of tables

// ---- rows
inline constexpr int64_t kAheadBytes = 16384;   // rows are prefetched this many bytes ahead
inline constexpr int64_t kPackAhead = 16;       // rows between the prefetch of a packed row and its copy
inline constexpr int64_t kLongestAhead = 4096;  // bytes of such a row of a sum
inline constexpr int64_t kLongRow = 2048;       // longer rows are prefetched as they are copied, in steps of kStep ..
inline constexpr int64_t kStep = 512;
inline constexpr int64_t kLongAhead = 4096;  // .. so many bytes ahead, in the same row or at the beginning of the next

}  // namespace gs::cpu

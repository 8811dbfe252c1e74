// box_copy.cpp: copies boxes plane by plane, and prefetches the cache lines of later rows of a plane.
#include "backends/cpu/box_copy.h"

#include <cstring>

#include "backends/cpu/kernels/job.h"
#include "backends/cpu/kernels/prefetch_distances.h"

namespace gs::cpu {
namespace {

// Prefetches the lines of a row that is read or written some rows later. The address may lie outside of the array.
template <int kWrites>
inline void prefetch_row(Address row, int64_t bytes) {
  for (int64_t byte = 0; byte < bytes; byte += kLineBytes) {
    __builtin_prefetch(reinterpret_cast<const void*>(row + static_cast<Address>(byte)), kWrites, 2);
  }
}

inline constexpr int64_t kGathered = 8;  // items that are written at a time

// Writes items that lie apart behind each other.
template <int kBytes>
inline void copy_apart(const std::byte* from, int64_t stride, std::byte* to) {
  std::byte items[kGathered * kBytes];
  for (int64_t i = 0; i < kGathered; ++i) std::memcpy(items + i * kBytes, from + i * stride, kBytes);
  std::memcpy(to, items, sizeof(items));
}

// The axes are copies: stores to the target could change others, so that they would be read again.
template <int kBytes>
void copy_items(BoxAxis axis, const std::byte* from, std::byte* to) {
  int64_t i = 0;
  if (axis.to == kBytes) {
    for (; i + kGathered <= axis.extent; i += kGathered) {
      copy_apart<kBytes>(from + i * axis.from, axis.from, to + i * kBytes);
    }
  }
  for (; i < axis.extent; ++i) std::memcpy(to + i * axis.to, from + i * axis.from, kBytes);
}

template <int kBytes>
void copy_plane(BoxAxis rows, BoxAxis row, const std::byte* from, std::byte* to) {
  const int64_t bytes = row.extent * kBytes;
  const bool reads_rows = row.from == kBytes && rows.from != bytes;
  const bool writes_rows = row.to == kBytes && rows.to != bytes;
  const auto prefetch_later = [&](int64_t i) {
    const auto later = static_cast<Address>(i + kPackAhead);
    if (reads_rows) prefetch_row<0>(reinterpret_cast<Address>(from) + later * static_cast<Address>(rows.from), bytes);
    if (writes_rows) prefetch_row<1>(reinterpret_cast<Address>(to) + later * static_cast<Address>(rows.to), bytes);
  };
  int64_t i = 0;
  for (; rows.to == kBytes && row.to != kBytes && i + kGathered <= rows.extent; i += kGathered) {
    for (int64_t k = 0; k < kGathered; ++k) prefetch_later(i + k);
    for (int64_t k = 0; k < row.extent; ++k) {
      copy_apart<kBytes>(from + i * rows.from + k * row.from, rows.from, to + i * kBytes + k * row.to);
    }
  }
  for (; i < rows.extent; ++i) {
    if (rows.extent > 1) prefetch_later(i);
    const std::byte* const source = from + i * rows.from;
    std::byte* const target = to + i * rows.to;
    if (row.from == kBytes && row.to == kBytes) {
      std::memcpy(target, source, static_cast<std::size_t>(bytes));
    } else {
      copy_items<kBytes>(row, source, target);
    }
  }
}

template <int kBytes>
void copy_planes(const Box& box, int axis, const std::byte* from, std::byte* to) {
  const int left = box.size() - axis;
  if (left == 0) return copy_plane<kBytes>({}, {}, from, to);
  if (left == 1) return copy_plane<kBytes>({}, box[axis], from, to);
  if (left == 2) return copy_plane<kBytes>(box[axis], box[axis + 1], from, to);
  for (int64_t i = 0; i < box[axis].extent; ++i) {
    copy_planes<kBytes>(box, axis + 1, from + i * box[axis].from, to + i * box[axis].to);
  }
}

}  // namespace

void copy_box(const Box& box, const std::byte* from, std::byte* to, int64_t bytes) {
  switch (bytes) {
    case 1: return copy_planes<1>(box, 0, from, to);
    case 2: return copy_planes<2>(box, 0, from, to);
    case 4: return copy_planes<4>(box, 0, from, to);
    case 8: return copy_planes<8>(box, 0, from, to);
    default: return copy_planes<16>(box, 0, from, to);
  }
}

}  // namespace gs::cpu

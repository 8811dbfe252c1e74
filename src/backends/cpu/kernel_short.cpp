// kernel_short.cpp: takes of a few units from one contiguous axis, without a job to read. Compiled once for every
// instruction set level, in a namespace of its own, under the rules of kernels.cpp.
#include "backends/cpu/kernel_bytes.h"

namespace gs::cpu::GS_ISA {
namespace {

inline constexpr int kTurn = 16;  // two or four vectors of positions

// The number of points, as a constant where the turn is full.
struct Full {
  constexpr operator int() const { return kTurn; }
};

// Negative if an index lies outside.
template <class Index, class Count>
inline int64_t place_turn(const std::byte* index, int64_t extent, Count n, int64_t* __restrict position) {
  alignas(64) int64_t value[kTurn];
  for (int k = 0; k < n; ++k) value[k] = widen(read<Index>(index + k * static_cast<int64_t>(sizeof(Index))));
  settle_reads(value);
  int64_t outside = 0;
  for (int k = 0; k < n; ++k) {
    position[k] = from_end(value[k], extent);
    outside |= outside_mark(position[k], extent);
  }
  return outside;
}

template <class Index, int kUnit, class Count>
inline bool take_turn(std::byte* dense, const std::byte* indexed, const std::byte* index, int64_t extent, Count n) {
  alignas(64) int64_t position[kTurn];
  if (place_turn<Index>(index, extent, n, position) < 0) return false;
  for (int k = 0; k < n; ++k) __builtin_memcpy(dense + k * kUnit, indexed + position[k] * kUnit, kUnit);
  return true;
}

template <class Index, int kUnit>
bool take_short(std::byte* __restrict dense, const std::byte* __restrict indexed, const std::byte* index, int64_t count,
                int64_t extent) {
  constexpr int64_t kIndex = sizeof(Index);
  int64_t k = 0;
  for (; k + kTurn <= count; k += kTurn) {
    if (!take_turn<Index, kUnit>(dense + k * kUnit, indexed, index + k * kIndex, extent, Full{})) return false;
  }
  return k == count || take_turn<Index, kUnit>(dense + k * kUnit, indexed, index + k * kIndex, extent,
                                               static_cast<int>(count - k));
}

template <class Index>
bool allows_short(const std::byte* index, int64_t count, int64_t extent) {
  int64_t outside = 0;
  for (int64_t k = 0; k < count; ++k) {
    const int64_t value = widen(read<Index>(index + k * static_cast<int64_t>(sizeof(Index))));
    outside |= outside_mark(from_end(value, extent), extent);
  }
  return outside >= 0;
}

template <class Index>
ShortGather short_for(int64_t unit) {
  switch (unit) {
    case 1: return {take_short<Index, 1>, allows_short<Index>};
    case 2: return {take_short<Index, 2>, allows_short<Index>};
    case 4: return {take_short<Index, 4>, allows_short<Index>};
    case 8: return {take_short<Index, 8>, allows_short<Index>};
    case 16: return {take_short<Index, 16>, allows_short<Index>};
    default: return {nullptr, nullptr};
  }
}

}  // namespace

ShortGather short_gather(IndexType type, int64_t unit) {
  if (type == IndexType::i64) return short_for<int64_t>(unit);
  if (type == IndexType::i32) return short_for<int32_t>(unit);
  return {nullptr, nullptr};
}

}  // namespace gs::cpu::GS_ISA

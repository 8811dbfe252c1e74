// kernel_short.cpp: gathers a few units from one contiguous axis, without a Job. Compiled once for every instruction
// set level, in a namespace of its own, under the rules that kernel_blocks.cpp states.
#include "backends/cpu/kernels/kernel_bytes.h"

namespace gs::cpu::GS_ISA {
namespace {

// One branch per point, which is never taken for valid indices. From a source array in L1 this is faster than groups
// that are checked as vectors (0.42 against 0.95 ns for int64 on Zen 4), because their positions go through memory.
template <class Index, int kUnit>
inline bool take_point(std::byte* dense, const std::byte* indexed, const std::byte* index, int64_t extent) {
  int64_t position = from_end(widen(read<Index>(index)), extent);
  asm volatile("" : "+r"(position));  // pinned: another thread may write to the array between check and use
  if (!is_inside(position, extent)) return false;
  __builtin_memcpy(dense, indexed + position * kUnit, kUnit);
  return true;
}

template <class Index, int kUnit>
[[gnu::hot]] bool take_short(std::byte* __restrict dense, const std::byte* __restrict indexed, const std::byte* index,
                             int64_t count, int64_t extent) {
  constexpr int64_t kIndex = sizeof(Index);
  constexpr int kTurn = 8;
  int64_t k = 0;
  for (; k + kTurn <= count; k += kTurn) {
#pragma GCC unroll 8
    for (int64_t j = k; j < k + kTurn; ++j) {
      if (!take_point<Index, kUnit>(dense + j * kUnit, indexed, index + j * kIndex, extent)) return false;
    }
  }
  for (; k < count; ++k) {
    if (!take_point<Index, kUnit>(dense + k * kUnit, indexed, index + k * kIndex, extent)) return false;
  }
  return true;
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

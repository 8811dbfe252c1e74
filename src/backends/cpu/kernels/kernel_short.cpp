// kernel_short.cpp: moves a few units along one contiguous axis, without a Job. Compiled once for every instruction
// set level, in a namespace of its own, under the rules that kernel_blocks.cpp states.
#include <type_traits>

#include "backends/cpu/kernels/kernel_bytes.h"
#include "backends/cpu/kernels/level.h"

namespace gs::cpu::GS_ISA {
namespace {

// One branch per point, which is never taken for valid indices. In gathers from L1 this is faster than groups that
// are checked as vectors (0.42 against 0.95 ns for int64 on Zen 4), because their positions go through memory.
template <class Index, int kUnit, bool kScatters>
inline bool move_point(std::byte* dense, std::byte* indexed, const std::byte* index, int64_t extent) {
  auto value = read<Index>(index);
  asm volatile("" : "+r"(value));  // pinned: another thread may write to the array between check and use
  const int64_t position = resolve(value, extent, Rule{});
  if (position == kNowhere) return false;
  std::byte* const unit = indexed + position * kUnit;
  __builtin_memcpy(kScatters ? unit : dense, kScatters ? dense : unit, kUnit);
  return true;
}

template <class Index, int kUnit, bool kScatters>
[[gnu::hot]] bool move_short(std::byte* __restrict dense, std::byte* __restrict indexed, const std::byte* index,
                             int64_t count, int64_t extent) {
  constexpr int64_t kIndex = sizeof(Index);
  constexpr int kTurn = 8;
  int64_t k = 0;
  for (; k + kTurn <= count; k += kTurn) {
#pragma GCC unroll 8
    for (int64_t j = k; j < k + kTurn; ++j) {
      if (!move_point<Index, kUnit, kScatters>(dense + j * kUnit, indexed, index + j * kIndex, extent)) return false;
    }
  }
  for (; k < count; ++k) {
    if (!move_point<Index, kUnit, kScatters>(dense + k * kUnit, indexed, index + k * kIndex, extent)) return false;
  }
  return true;
}

template <class Index>
bool allows_short(const std::byte* index, int64_t count, int64_t extent) {
  int64_t outside = 0;
  for (int64_t k = 0; k < count; ++k) {
    const int64_t value = widen(read<Index>(index + k * static_cast<int64_t>(sizeof(Index))));
    outside |= resolve_lane<Bounds::raise>(value, extent, extent).outside;
  }
  return outside >= 0;
}

template <class Index>
ShortMove short_for(int64_t unit) {
  const auto of = []<int kUnit>(std::integral_constant<int, kUnit>) {
    return ShortMove{move_short<Index, kUnit, false>, move_short<Index, kUnit, true>, allows_short<Index>};
  };
  switch (unit) {
    case 1: return of(std::integral_constant<int, 1>{});
    case 2: return of(std::integral_constant<int, 2>{});
    case 4: return of(std::integral_constant<int, 4>{});
    case 8: return of(std::integral_constant<int, 8>{});
    case 16: return of(std::integral_constant<int, 16>{});
    default: return {};
  }
}

}  // namespace

ShortMove short_move(IndexType type, int64_t unit) {
  if (type == IndexType::i64) return short_for<int64_t>(unit);
  if (type == IndexType::i32) return short_for<int32_t>(unit);
  return {};
}

}  // namespace gs::cpu::GS_ISA

// divider.h: divides by a number that is known before a launch, with a multiplication and a shift.
#pragma once

#include <bit>
#include <cstdint>

#include "core/hd.h"

namespace gs::device {

// Exact for every dividend in [0, 2^63). Dividends below 2^31 take a shorter way, in 32 bits.
struct Divider {
  uint64_t magic = 1;
  uint32_t short_magic = 1;
  uint16_t shift = 0;
  uint16_t short_shift = 0;

  Divider() = default;
  explicit Divider(int64_t divisor) {
    using Uint128 = unsigned __int128;
    const auto by = static_cast<uint64_t>(divisor);
    shift = static_cast<uint16_t>(std::bit_width(by - 1));
    magic = static_cast<uint64_t>((((Uint128{1} << shift) - by) << 64) / by) + 1;
    if (by < uint64_t{1} << 31) {
      short_shift = shift;
      short_magic = static_cast<uint32_t>((((uint64_t{1} << shift) - by) << 32) / by) + 1;
    } else {  // every quotient of the shorter way is 0
      short_shift = 31;
      short_magic = 0;
    }
  }

  GS_HD int64_t divide(int64_t dividend) const {
    const auto n = static_cast<uint64_t>(dividend);
    if (n < uint64_t{1} << 31) return divide_short(static_cast<uint32_t>(n));
#ifdef __CUDA_ARCH__
    const uint64_t high = __umul64hi(n, magic);
#else
    const auto high = static_cast<uint64_t>((static_cast<unsigned __int128>(n) * magic) >> 64);
#endif
    return static_cast<int64_t>((high + n) >> shift);
  }

  // As `divide`, for a dividend below 2^31.
  GS_HD uint32_t divide_short(uint32_t n) const {
    return (static_cast<uint32_t>((uint64_t{n} * short_magic) >> 32) + n) >> short_shift;
  }
};
static_assert(sizeof(Divider) == 16);

}  // namespace gs::device

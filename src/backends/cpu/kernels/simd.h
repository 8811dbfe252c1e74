// simd.h: what differs between instruction set levels. `Simd` is the struct of the level that is compiled: it hides
// those functions of the level below it that it does better. Portable has all of them, for any processor. Included by
// the sources that are compiled once for every level. A level for other processors is a header as simd_x86.h, and its
// name at the end of this file.
#pragma once

#include "backends/cpu/kernels/kernel_bytes.h"
#include "core/column_point.h"
#include "core/combine.h"

namespace gs::cpu::GS_ISA {
namespace {

inline constexpr int kVectorStep = 16;  // points in a register of 32-bit positions

// How an index becomes a position of 32 bits. 32-bit lanes use the upper half of `lowest` and the lower half of
// `highest`.
struct PositionLimits {
  int64_t extent;    // at most INT32_MAX
  int64_t from_end;  // the extent, or 0 where negative indices are outside
  int64_t lowest;    // every position is limited to [lowest, highest]: to the ends of the axis, or not at all
  int64_t highest;

  PositionLimits(int64_t length, int64_t added, bool clips)
      : extent(length), from_end(added), lowest(clips ? 0 : INT64_MIN), highest(clips ? length - 1 : -1) {}
};

// The addresses of values in order: base + k * step, or base + offset[k] unless `offset` is null.
struct ValueAddresses {
  Address base;
  uint64_t step;
  const int64_t* offset;
  GS_INLINE Address operator()(int k) const {
    return offset == nullptr ? base + static_cast<uint64_t>(k) * step : base + static_cast<uint64_t>(offset[k]);
  }
};

struct Portable {
  // The level has registers of sixteen positions with masks, and so the forms of kernel_vector.h; it selects without a
  // loop over points.
  static constexpr bool kHasVectors = false;
  // Values of this type become floats several at a time.
  template <class T>
  static constexpr bool kHasFloats = false;

  // Writes a line past the caches. `target` is aligned to it.
  static void stream_line(std::byte* target, const std::byte* source) { copy_line(target, source); }
  // Makes the lines that were streamed visible before later stores are.
  static void finish_streaming() {}

  // Moves the lowest bits of `bits` to the places of the bits that are set in `places`.
  static uint64_t deposit(uint64_t bits, uint64_t places) {
    uint64_t word = 0;
    for (; places != 0; places &= places - 1, bits >>= 1) word |= (places & -places) & (0 - (bits & 1));
    return word;
  }

  // ---- selections: what lies in [low, low + span), in order; they write, and may read, a whole vector after the last

  // Lists those of n positions, and their places first, first + 1, ... Returns their number.
  static int select(const uint32_t* from, int n, uint32_t low, uint32_t span, int first, uint32_t* position,
                    uint32_t* place) {
    int m = 0;
    for (int k = 0; k < n; ++k) {
      position[m] = from[k];
      place[m] = static_cast<uint32_t>(first + k);
      m += from[k] - low < span;  // without a branch, which would be unpredictable
    }
    return m;
  }
  // Lists those of n targets, and the addresses of their values. The level may change what follows the last target.
  static int select(Address* from, int n, Address low, uint64_t span, const ValueAddresses& value_at, Address* target,
                    Address* value) {
    int m = 0;
    for (int k = 0; k < n; ++k) {
      target[m] = from[k];
      value[m] = value_at(k);
      m += from[k] - low < span;
    }
    return m;
  }
  // With kHasVectors. Lists those of n slots, and their values.
  template <int kUnit>
  static uint32_t select_values(const uint32_t* from, const std::byte* values, int n, uint32_t low, uint32_t span,
                                uint32_t* slot, std::byte* value) = delete;

  // ---- positions

  // With kHasVectors. Resolves the indices of n points, of which those whose `keep` is 0 are nowhere (null: none), and
  // writes their positions in whole vectors. Returns false if an index that is kept lies outside. A position that is
  // nowhere, or with kFill outside, becomes UINT32_MAX.
  template <class Index, bool kFill, class Count>
  static bool positions(const PositionLimits& limits, const std::byte* source, const int8_t* keep, Count n,
                        uint32_t* position) = delete;
  // Writes the positions of indices of 8 bytes to an aligned target, if it does so for as many of them as the result
  // says; finds the highest of these positions, and with kSpans the lowest. An index outside stays at least as large as
  // the extent, as an unsigned number.
  template <class Position, bool kSpans>
  static int64_t write_positions(const std::byte*, int64_t, int64_t, std::byte*, bool, uint64_t&, uint64_t&) {
    return 0;
  }

  // ---- bits

  // The bits of 64 rows of a piece of at least four bytes.
  static uint64_t read_bits(const BitSource& bits, const uint32_t* row) {
    uint64_t word = 0;
    for (int k = 0; k < 64; ++k) word |= bits.at(row[k]) << k;
    return word;
  }

  // ---- narrow floats and their totals

  // A value as a float. Unlike that of to_float, a NaN need not be canonical; it is never a signalling one.
  template <class T>
  static GS_INLINE float addend(T value) {
    return decoded(value);
  }
  static GS_INLINE float addend(BF16 value) { return bits_as<float>(uint32_t{value.bits} << 16); }
  // With kHasFloats: of n values.
  template <class T>
  static void addends(const std::byte* values, int n, float* found) = delete;
  // The following begin or finish as many of n totals as the result says (kernel_totals.h).
  template <class T, uint32_t kUntouched>
  static int64_t begin_totals(float*, const std::byte*, std::byte*, int64_t, bool) {
    return 0;
  }
  template <class T, uint32_t kUntouched>
  static int64_t finish_totals(const float*, std::byte*, const std::byte*, int64_t) {
    return 0;
  }
};

}  // namespace
}  // namespace gs::cpu::GS_ISA

#if defined(__SSE2__)
#include "backends/cpu/kernels/simd_x86.h"
#endif

namespace gs::cpu::GS_ISA {
namespace {

#if defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
using Simd = Avx512;
#elif defined(__AVX2__) && defined(__BMI2__) && defined(__F16C__)
using Simd = Avx2;
#elif defined(__SSE2__)
using Simd = Sse2;
#else
using Simd = Portable;
#endif

}  // namespace
}  // namespace gs::cpu::GS_ISA

// kernel_columns.cpp: picks rows of columns. Compiled once for every instruction set level, in a namespace of its own,
// under the rules that kernel_blocks.cpp states.
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "backends/column_kernels.h"
#include "backends/cpu/kernels/kernel_bytes.h"
#include "backends/cpu/tuning.h"

namespace gs::cpu::GS_ISA {
namespace {

inline constexpr int kGroup = 64;  // rows that are prefetched while the group before them is copied

// ---- items

// The addresses of the items of a group of rows.
struct RowGroup {
  alignas(64) Address address[kGroup];
};

template <bool kChunked, class Count>
inline void place(const std::byte* const* items, int64_t width, RowNumbers rows, int64_t i, Count n, RowGroup& group) {
  const auto scale = static_cast<uint32_t>(width);  // both factors have 32 bits, which every instruction set multiplies
  for (int k = 0; k < n; ++k) {
    const std::byte* const base = kChunked ? items[rows.chunk[i + k]] : items[0];
    group.address[k] = address_of(base) + uint64_t{rows.row[i + k]} * scale;
  }
}

struct FullRowGroup {
  constexpr operator int() const { return kGroup; }
};

template <bool kChunked>
inline int place_next(const std::byte* const* items, int64_t width, RowNumbers rows, int64_t i, int64_t end,
                      RowGroup& group) {
  if (end - i >= kGroup) {
    place<kChunked>(items, width, rows, i, FullRowGroup{}, group);
    return kGroup;
  }
  const int n = end > i ? static_cast<int>(end - i) : 0;
  place<kChunked>(items, width, rows, i, n, group);
  return n;
}

// Copies items group by group, and prefetches the items of the next group meanwhile.
template <bool kChunked, class Copy>
void copy_ahead(const std::byte* const* items, int64_t width, RowNumbers rows, int64_t begin, int64_t end,
                std::byte* target, Copy copy) {
  RowGroup groups[2];
  int n = place_next<kChunked>(items, width, rows, begin, end, groups[0]);
  int turn = 0;
  for (int64_t i = begin; i < end; turn ^= 1) {
    const RowGroup& group = groups[turn];
    RowGroup& next = groups[turn ^ 1];
    const int ahead = place_next<kChunked>(items, width, rows, i + n, end, next);
    int k = 0;
    for (; k < ahead; ++k) {
      copy.fetch(next.address[k]);
      copy(target + (i + k) * width, pointer_to(group.address[k]));
    }
    for (; k < n; ++k) copy(target + (i + k) * width, pointer_to(group.address[k]));
    i += n;
    n = ahead;
  }
}

template <bool kChunked, class Copy>
void copy_near(const std::byte* const* items, int64_t width, RowNumbers rows, int64_t begin, int64_t end,
               std::byte* __restrict target, Copy copy) {
  for (int64_t i = begin; i < end; ++i) {
    const std::byte* const base = kChunked ? items[rows.chunk[i]] : items[0];
    copy(target + i * width, base + int64_t{rows.row[i]} * width);
  }
}

template <int64_t kWidth>
struct Item {
  void operator()(std::byte* __restrict target, const std::byte* __restrict source) const {
    __builtin_memcpy(target, source, kWidth);
  }
  void fetch(Address address) const { prefetch(address); }
};

struct LongItem {
  int64_t width;
  void operator()(std::byte* target, const std::byte* source) const { copy_bytes(target, source, width); }
  void fetch(Address address) const { prefetch_unit(address, width); }
};

template <bool kChunked, int64_t kWidth>
void copy_small(const std::byte* const* items, RowNumbers rows, int64_t begin, int64_t end, bool far,
                std::byte* target) {
  if (far) return copy_ahead<kChunked>(items, kWidth, rows, begin, end, target, Item<kWidth>{});
  copy_near<kChunked>(items, kWidth, rows, begin, end, target, Item<kWidth>{});
}

template <bool kChunked>
void pick_items(const std::byte* const* items, int64_t width, RowNumbers rows, int64_t begin, int64_t end, bool far,
                std::byte* target) {
  switch (width) {
    case 1: return copy_small<kChunked, 1>(items, rows, begin, end, far, target);
    case 2: return copy_small<kChunked, 2>(items, rows, begin, end, far, target);
    case 4: return copy_small<kChunked, 4>(items, rows, begin, end, far, target);
    case 8: return copy_small<kChunked, 8>(items, rows, begin, end, far, target);
    case 16: return copy_small<kChunked, 16>(items, rows, begin, end, far, target);
    default: break;
  }
  if (far) return copy_ahead<kChunked>(items, width, rows, begin, end, target, LongItem{width});
  copy_near<kChunked>(items, width, rows, begin, end, target, LongItem{width});
}

void pick(const std::byte* const* items, int64_t width, RowNumbers rows, int64_t begin, int64_t end, bool far,
          std::byte* target) {
  if (rows.chunk == nullptr) return pick_items<false>(items, width, rows, begin, end, far, target);
  pick_items<true>(items, width, rows, begin, end, far, target);
}

// ---- bits

inline uint64_t word_of(const BitSource* bits, RowNumbers rows, int64_t i, int64_t n) {
  uint64_t word = 0;
  for (int64_t k = 0; k < n; ++k) word |= bits[rows.chunk_of(i + k)].at(rows.row[i + k]) << k;
  return word;
}

#if defined(__AVX512F__)
// Reads sixteen bits at a time, each out of four bytes that contain it, and never a byte after the last one.
inline uint64_t full_word(const BitSource& bits, const uint32_t* row) {
  // The unmasked intrinsics begin from a register that GCC 12 reports as uninitialised.
  constexpr __mmask16 kAll = 0xFFFF;
  const Address data = bits.first >> 3;
  const __m512i offset = _mm512_set1_epi32(static_cast<int>(bits.first & 7));
  const __m512i last = _mm512_set1_epi32(static_cast<int>(bits.end - data - 4));
  const __m512i one = _mm512_set1_epi32(1);
  uint64_t word = 0;
  for (int k = 0; k < 64; k += 16) {
    const __m512i bit = _mm512_add_epi32(_mm512_loadu_si512(row + k), offset);
    const __m512i byte = _mm512_maskz_min_epu32(kAll, _mm512_maskz_srli_epi32(kAll, bit, 3), last);
    const __m512i found = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), kAll, byte, pointer_to(data), 1);
    const __m512i place = _mm512_sub_epi32(bit, _mm512_maskz_slli_epi32(kAll, byte, 3));
    word |= uint64_t{_mm512_test_epi32_mask(found, _mm512_maskz_sllv_epi32(kAll, one, place))} << k;
  }
  return word;
}

inline bool has_wide_reads(const BitSource& bits) {
  return bits.keep == ~uint64_t{0} && bits.end - (bits.first >> 3) >= 4;
}
#endif

int64_t pick_words(const BitSource* bits, RowNumbers rows, int64_t begin, int64_t end, const uint64_t* mask,
                   uint64_t* target) {
#if defined(__AVX512F__)
  const bool wide = rows.chunk == nullptr && has_wide_reads(bits[0]);
#endif
  int64_t ones = 0;
  for (int64_t i = begin; i < end; i += 64) {
    const int64_t n = end - i < 64 ? end - i : 64;
    uint64_t word = 0;
#if defined(__AVX512F__)
    if (wide && n == 64) {
      word = full_word(bits[0], rows.row + i);
    } else
#endif
      word = word_of(bits, rows, i, n);
    if (mask != nullptr) word &= mask[i / 64];
    target[i / 64] = word;
    ones += __builtin_popcountll(word);
  }
  return ones;
}

// ---- some places only

// Calls put(k, i) for every bit i in [begin, end) that is set; k counts the calls from `first` on.
template <class Put>
inline void for_each_set(const uint64_t* places, int64_t begin, int64_t end, int64_t first, Put put) {
  for (int64_t w = begin / 64; w * 64 < end; ++w) {
    uint64_t rest = places[w];
    if (w * 64 < begin) rest &= ~uint64_t{0} << (begin & 63);
    if (end - w * 64 < 64) rest &= (uint64_t{1} << (end & 63)) - 1;
    for (; rest != 0; rest &= rest - 1) put(first++, w * 64 + __builtin_ctzll(rest));
  }
}

template <class Copy>
void put_each(const std::byte* const* items, int64_t width, RowNumbers rows, int64_t first, const uint64_t* places,
              int64_t begin, int64_t end, std::byte* target, Copy copy) {
  const auto item = [&](int64_t k) {
    return address_of(items[rows.chunk_of(k)]) + uint64_t{rows.row[k]} * static_cast<uint64_t>(width);
  };
  int64_t last = first;
  for_each_set(places, begin, end, first, [&](int64_t, int64_t) { ++last; });
  for_each_set(places, begin, end, first, [&](int64_t k, int64_t i) {
    if (k + kPutsAhead < last) copy.fetch(item(k + kPutsAhead));
    copy(target + i * width, pointer_to(item(k)));
  });
}

void put(const std::byte* const* items, int64_t width, RowNumbers rows, int64_t first, const uint64_t* places,
         int64_t begin, int64_t end, std::byte* target) {
  const auto with = [&](auto copy) { put_each(items, width, rows, first, places, begin, end, target, copy); };
  switch (width) {
    case 1: return with(Item<1>{});
    case 2: return with(Item<2>{});
    case 4: return with(Item<4>{});
    case 8: return with(Item<8>{});
    case 16: return with(Item<16>{});
    default: return with(LongItem{width});
  }
}

void put_words(const BitSource* bits, RowNumbers rows, int64_t first, const uint64_t* places, int64_t begin,
               int64_t end, uint64_t* target) {
  for_each_set(places, begin, end, first, [&](int64_t k, int64_t i) {
    const uint64_t bit = bits[rows.chunk_of(k)].at(rows.row[k]);
    target[i / 64] = (target[i / 64] & ~(uint64_t{1} << (i & 63))) | bit << (i & 63);
  });
}

}  // namespace

ColumnKernels columns() {
  return {pick, pick_words, put, put_words};
}

}  // namespace gs::cpu::GS_ISA

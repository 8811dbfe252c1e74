// kernel_columns.cpp: picks rows of columns. Compiled once for every instruction set level, in a namespace of its own,
// under the rules that kernel_blocks.cpp states.
#include "backends/column_kernels.h"
#include "backends/cpu/kernels/kernel_spans.h"
#include "backends/cpu/kernels/kernel_stream.h"
#include "backends/cpu/kernels/prefetch_distances.h"

namespace gs::cpu::GS_ISA {
namespace {

inline constexpr int kGroup = 64;             // rows that are prefetched while the group before them is copied
inline constexpr int64_t kMostStreamed = 64;  // the longest items that are collected to be streamed

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

// The target of a group of rows: the result, or a stage whose lines are streamed to the result.
class GroupTarget {
 public:
  GroupTarget(std::byte* target, int64_t width, bool stream) : target_(target), width_(width), stream_(stream) {}

  // Where the rows of the group from row i on are to be written.
  std::byte* begin(int64_t i) { return stream_ ? stage_ : target_ + i * width_; }
  void end(int64_t i, int64_t n) const {
    if (stream_) stream_bytes(target_ + i * width_, stage_, n * width_);
  }

 private:
  std::byte* const target_;
  const int64_t width_;
  const bool stream_;
  alignas(kLine) std::byte stage_[kGroup * kMostStreamed];
};

// Copies items group by group, and prefetches the items of the next group meanwhile.
template <bool kChunked, class Copy>
void copy_ahead(const std::byte* const* items, int64_t width, RowNumbers rows, int64_t begin, int64_t end, bool stream,
                std::byte* target, Copy copy) {
  RowGroup groups[2];
  GroupTarget into(target, width, stream);
  int n = place_next<kChunked>(items, width, rows, begin, end, groups[0]);
  int turn = 0;
  for (int64_t i = begin; i < end; turn ^= 1) {
    const RowGroup& group = groups[turn];
    RowGroup& next = groups[turn ^ 1];
    const int ahead = place_next<kChunked>(items, width, rows, i + n, end, next);
    std::byte* const to = into.begin(i);
    int k = 0;
    for (; k < ahead; ++k) {
      copy.fetch(next.address[k]);
      copy(to + k * width, pointer_to(group.address[k]));
    }
    for (; k < n; ++k) copy(to + k * width, pointer_to(group.address[k]));
    into.end(i, n);
    i += n;
    n = ahead;
  }
}

template <bool kChunked, class Copy>
void copy_near(const std::byte* const* items, int64_t width, RowNumbers rows, int64_t begin, int64_t end, bool stream,
               std::byte* target, Copy copy) {
  GroupTarget into(target, width, stream);
  const int64_t step = stream ? kGroup : end - begin;
  for (int64_t first = begin; first < end; first += step) {
    const int64_t last = end - first < step ? end : first + step;
    std::byte* __restrict to = into.begin(first);
    for (int64_t i = first; i < last; ++i, to += width) {
      const std::byte* const base = kChunked ? items[rows.chunk[i]] : items[0];
      copy(to, base + int64_t{rows.row[i]} * width);
    }
    into.end(first, last - first);
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

// Calls `use` with the width of an item, which is a constant for common widths, and with the copy of one item.
template <class Use>
void with_copy(int64_t width, const Use& use) {
  switch (width) {
    case 1: return use(1, Item<1>{});
    case 2: return use(2, Item<2>{});
    case 4: return use(4, Item<4>{});
    case 8: return use(8, Item<8>{});
    case 16: return use(16, Item<16>{});
    default: return use(width, LongItem{width});
  }
}

template <bool kChunked, class Copy>
void copy_items(const std::byte* const* items, int64_t width, RowNumbers rows, int64_t begin, int64_t end,
                CopyHints hints, std::byte* target, Copy copy) {
  if (hints.far) return copy_ahead<kChunked>(items, width, rows, begin, end, hints.stream, target, copy);
  copy_near<kChunked>(items, width, rows, begin, end, hints.stream, target, copy);
}

template <bool kChunked>
void pick_items(const std::byte* const* items, int64_t width, RowNumbers rows, int64_t begin, int64_t end,
                CopyHints hints, std::byte* target) {
  with_copy(width,
            [&](int64_t size, auto copy) { copy_items<kChunked>(items, size, rows, begin, end, hints, target, copy); });
}

void pick(const std::byte* const* items, int64_t width, RowNumbers rows, int64_t begin, int64_t end, CopyHints hints,
          std::byte* target) {
  hints.stream = hints.stream && width <= kMostStreamed;
  if (rows.chunk == nullptr) {
    pick_items<false>(items, width, rows, begin, end, hints, target);
  } else {
    pick_items<true>(items, width, rows, begin, end, hints, target);
  }
  if (hints.stream) Simd::finish_streaming();
}

// ---- bits

inline uint64_t word_of(const BitSource* bits, RowNumbers rows, int64_t i, int64_t n) {
  uint64_t word = 0;
  for (int64_t k = 0; k < n; ++k) word |= bits[rows.chunk_of(i + k)].at(rows.row[i + k]) << k;
  return word;
}

inline bool has_wide_reads(const BitSource& bits) {
  return Simd::kHasVectors && bits.keep == ~uint64_t{0} && bits.end - (bits.first >> 3) >= 4;
}

int64_t pick_words(const BitSource* bits, RowNumbers rows, int64_t begin, int64_t end, const uint64_t* mask,
                   uint64_t* target) {
  const bool wide = rows.chunk == nullptr && has_wide_reads(bits[0]);
  int64_t ones = 0;
  for (int64_t i = begin; i < end; i += 64) {
    const int64_t n = end - i < 64 ? end - i : 64;
    uint64_t word = wide && n == 64 ? Simd::read_bits(bits[0], rows.row + i) : word_of(bits, rows, i, n);
    if (mask != nullptr) word &= mask[i / 64];
    target[i / 64] = word;
    ones += __builtin_popcountll(word);
  }
  return ones;
}

// ---- some places only

template <class Copy>
void put_each(const std::byte* const* items, int64_t width, RowNumbers rows, int64_t first, int64_t last,
              const uint16_t* place, int64_t origin, std::byte* target, Copy copy) {
  const auto put = [&](int64_t k, const std::byte* source) { copy(target + (place[k] - origin) * width, source); };
  if (rows.row == nullptr) {
    for (int64_t k = first; k < last; ++k) put(k, items[0]);
    return;
  }
  const auto item = [&](int64_t k) {
    return address_of(items[rows.chunk_of(k)]) + uint64_t{rows.row[k]} * static_cast<uint64_t>(width);
  };
  for (int64_t k = first; k < last; ++k) {
    if (k + kPutsAhead < last) copy.fetch(item(k + kPutsAhead));
    put(k, pointer_to(item(k)));
  }
}

void put(const std::byte* const* items, int64_t width, RowNumbers rows, int64_t first, int64_t last,
         const uint16_t* place, int64_t origin, std::byte* target) {
  with_copy(width,
            [&](int64_t size, auto copy) { put_each(items, size, rows, first, last, place, origin, target, copy); });
}

int64_t expand_bits(const uint64_t* packed, const uint64_t* places, int64_t words, uint64_t* target) {
  int64_t ones = 0;
  int64_t k = 0;
  for (int64_t w = 0; w < words; ++w) {
    const uint64_t bits = packed[k / 64] >> (k & 63) | packed[k / 64 + 1] << 1 << (~k & 63);
    target[w] = (target[w] & ~places[w]) | Simd::deposit(bits, places[w]);
    k += __builtin_popcountll(places[w]);
    ones += __builtin_popcountll(target[w]);
  }
  return ones;
}

void stream(std::byte* target, const std::byte* source, int64_t bytes) {
  stream_bytes(target, source, bytes);
  Simd::finish_streaming();
}

}  // namespace

extern const ColumnKernels columns;
constinit const ColumnKernels columns = {pick,   pick_words,  put,        expand_bits,
                                         stream, place_spans, copy_spans, finish_spans};

}  // namespace gs::cpu::GS_ISA

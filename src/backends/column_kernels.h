// column_kernels.h: the kernels of a backend for the columns of tables: they pick rows by numbers that are already
// checked.
#pragma once

#include "core/column_point.h"

namespace gs {

// How the items of a column are copied.
struct CopyHints {
  bool far = false;     // the items do not fit into the caches, so that they are prefetched
  bool stream = false;  // the result does not fit into the caches, so that it is written past them
};

// Spans of bytes that are copied one behind the other.
struct SpanGroup {
  static constexpr int kMost = 64;
  static constexpr int64_t kShort = 64;  // the longest spans that are short

  alignas(64) const std::byte* from[kMost];
  alignas(64) int64_t bytes[kMost];
  alignas(64) uint8_t is_short[kMost];  // the span is short, and kShort bytes can be read from its beginning on
  int count = 0;
};

// The memory that the offsets of a piece of a column count: `reach` items are there.
struct SpanPiece {
  const std::byte* bytes;
  int64_t reach;
};

// The rows of a column with offsets that are copied to a result.
struct OffsetRows {
  int64_t width = 4;                  // bytes of an offset: 4 or 8
  int64_t item = 1;                   // bytes that an offset counts
  std::byte* offsets = nullptr;       // those of the result
  const std::byte* starts = nullptr;  // the offset in its piece of each row
  const SpanPiece* pieces = nullptr;

  // The pieces of the rows of a group: entry k of `piece`, or if that is null, 1 where bit k of `second` is set, else
  // 0.
  const int32_t* piece = nullptr;
  uint64_t second = 0;
};

// The bytes of a result between two addresses, as far as they are written. Bytes that do not fill a cache line wait in
// the stage until the spans that follow complete it.
struct SpanStage {
  static constexpr int64_t kBytes = 4096;  // so many bytes, or more, are sent to the result

  SpanStage(std::byte* target, bool streams) : stream(streams) {
    begin = end = static_cast<int64_t>(reinterpret_cast<uintptr_t>(target) & 63);
    line = target - begin;
  }
  std::byte* line;    // where bytes[0] belongs: the beginning of a cache line
  int64_t begin = 0;  // bytes [begin, end) wait
  int64_t end = 0;
  bool stream;
  alignas(64) std::byte bytes[2 * kBytes + 2 * SpanGroup::kShort];
};

struct ColumnKernels {
  // Copies the item of the i-th entry of `rows` to target + i * width, for i in [begin, end).
  void (*items)(const std::byte* const* items, int64_t width, RowNumbers rows, int64_t begin, int64_t end,
                CopyHints hints, std::byte* target);

  // Sets bit i of `target` to the bit of the i-th entry of `rows`, and-ed with bit i of `mask` (null: all ones), for i
  // in [begin, end). `begin` is a multiple of 64; whole words are written, with zeros beyond `end`. Returns the number
  // of bits set.
  int64_t (*bits)(const BitSource* bits, RowNumbers rows, int64_t begin, int64_t end, const uint64_t* mask,
                  uint64_t* target);

  // Copies the item of the k-th entry of `rows` to target + (place[k] - origin) * width, for k in [first, last). If
  // rows.row is null, every entry is row 0 of the first chunk.
  void (*put_items)(const std::byte* const* items, int64_t width, RowNumbers rows, int64_t first, int64_t last,
                    const uint16_t* place, int64_t origin, std::byte* target);

  // Replaces the bits of `target` whose bit in `places` is set by the bits of `packed`, in order from its first bit on,
  // in `words` words. `packed` has two words more than its bits need. Returns the number of bits set in `target`.
  int64_t (*expand_bits)(const uint64_t* packed, const uint64_t* places, int64_t words, uint64_t* target);

  // Copies bytes past the caches.
  void (*stream)(std::byte* target, const std::byte* source, int64_t bytes);

  // Makes the spans of the rows [i, i + group.count). Their offsets in the result are totals, `before` is the total
  // before row i; `base` is added to them. Returns false if a span does not lie in its piece.
  bool (*place_spans)(const OffsetRows& rows, int64_t i, int64_t before, int64_t base, SpanGroup& group);
  // Copies the spans of a group behind those that are in the stage, and prefetches those of `next` (may be null).
  void (*spans)(SpanStage& stage, const SpanGroup& group, const SpanGroup* next);
  // Writes what waits in the stage.
  void (*finish_spans)(SpanStage& stage);
};

}  // namespace gs

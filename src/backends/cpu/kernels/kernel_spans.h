// kernel_spans.h: copies spans of any length one behind the other, through a stage. Included by kernel_columns.cpp
// only, once for every instruction set level.
#pragma once

#include "backends/column_kernels.h"
#include "backends/cpu/kernels/kernel_stream.h"

namespace gs::cpu::GS_ISA {
namespace {

inline void send_line(const SpanStage& stage, int64_t i) {
  if (stage.stream) {
    Simd::stream_line(stage.line + i, stage.bytes + i);
  } else {
    copy_line(stage.line + i, stage.bytes + i);
  }
}

// Writes the whole lines of the stage. A line that the stage does not begin is written in part, because other threads
// write its first bytes.
inline void send_lines(SpanStage& stage) {
  if (stage.end < kLine) return;
  int64_t i = 0;
  if (stage.begin > 0) {
    copy_bytes(stage.line + stage.begin, stage.bytes + stage.begin, kLine - stage.begin);
    i = kLine;
    stage.begin = 0;
  }
  for (; i + kLine <= stage.end; i += kLine) send_line(stage, i);
  copy_line(stage.bytes, stage.bytes + i);
  stage.line += i;
  stage.end -= i;
}

void finish_spans(SpanStage& stage) {
  send_lines(stage);
  copy_bytes(stage.line + stage.begin, stage.bytes + stage.begin, stage.end - stage.begin);
  stage.begin = stage.end;
  if (stage.stream) Simd::finish_streaming();
}

// Spans that are long, or whose next bytes must not be read.
void copy_span(SpanStage& stage, const std::byte* from, int64_t bytes) {
  if (bytes <= SpanStage::kBytes) {
    copy_bytes(stage.bytes + stage.end, from, bytes);
    stage.end += bytes;
    return;
  }
  send_lines(stage);
  // The rest of the line that waits in the stage, then whole lines.
  const int64_t head = kLine - stage.end;
  copy_bytes(stage.bytes + stage.end, from, head);
  stage.end = kLine;
  send_lines(stage);
  const int64_t lines = (bytes - head) / kLine * kLine;
  if (stage.stream) {
    stream_bytes(stage.line, from + head, lines);
  } else {
    __builtin_memcpy(stage.line, from + head, static_cast<size_t>(lines));
  }
  stage.line += lines;
  stage.end = bytes - head - lines;
  copy_bytes(stage.bytes, from + head + lines, stage.end);
}

// Copies kBytes bytes for each short span; the next span overwrites those that are too many.
template <int kBytes>
void copy_group(SpanStage& stage, const SpanGroup& group, const SpanGroup* next) {
  keep_prefetches();
  const int ahead = next == nullptr ? 0 : next->count;
  int64_t end = stage.end;  // in a register: the bytes of the stage might be those of the field
  for (int k = 0; k < group.count; ++k) {
    if (k < ahead) {
      prefetch(address_of(next->from[k]));
      prefetch(address_of(next->from[k] + next->bytes[k]) - 1);
    }
    if (group.is_short[k] != 0) {
      __builtin_memcpy(stage.bytes + end, group.from[k], kBytes);
      end += group.bytes[k];
      if (end < SpanStage::kBytes) continue;
      stage.end = end;
    } else {
      stage.end = end;
      copy_span(stage, group.from[k], group.bytes[k]);
      end = stage.end;
      if (end < SpanStage::kBytes) continue;
    }
    send_lines(stage);
    end = stage.end;
  }
  stage.end = end;
}

void copy_spans(SpanStage& stage, const SpanGroup& group, const SpanGroup* next) {
  int64_t longest = 0;
  for (int k = 0; k < group.count; ++k) longest = longest < group.bytes[k] ? group.bytes[k] : longest;
  if (longest <= 16) return copy_group<16>(stage, group, next);
  if (longest <= 32) return copy_group<32>(stage, group, next);
  copy_group<SpanGroup::kShort>(stage, group, next);
}

// ---- the spans of rows

// Stands for the memory of empty spans, whose own may be anywhere.
alignas(kLine) constexpr std::byte kEmpty[SpanGroup::kShort] = {};

// The piece of each row of a group.
struct GroupPieces {
  alignas(kLine) Address bytes[SpanGroup::kMost];
  alignas(kLine) int64_t reach[SpanGroup::kMost];
};

inline void find_pieces(const OffsetRows& rows, int count, GroupPieces& found) {
  constexpr int kMost = SpanGroup::kMost;
  if (rows.piece != nullptr) {
    for (int k = 0; k < kMost; ++k) {
      const SpanPiece& piece = rows.pieces[k < count ? rows.piece[k] : 0];
      found.bytes[k] = address_of(piece.bytes);
      found.reach[k] = piece.reach;
    }
    return;
  }
  const SpanPiece first = rows.pieces[0];
  const SpanPiece second = rows.second == 0 ? first : rows.pieces[1];
  const Address apart = address_of(second.bytes) - address_of(first.bytes);
  const auto more = static_cast<uint64_t>(second.reach - first.reach);
  // In two loops with 64-bit numbers, which become vectors.
  alignas(kLine) uint64_t is_second[kMost];
  for (uint64_t k = 0; k < kMost; ++k) is_second[k] = 0 - ((rows.second >> k) & 1);
  for (int k = 0; k < kMost; ++k) {
    found.bytes[k] = address_of(first.bytes) + (is_second[k] & apart);
    found.reach[k] = static_cast<int64_t>(static_cast<uint64_t>(first.reach) + (is_second[k] & more));
  }
}

template <class Offset>
bool place_group(const OffsetRows& rows, int64_t i, int64_t before, int64_t base, SpanGroup& group) {
  constexpr int kMost = SpanGroup::kMost;
  constexpr auto kWidth = static_cast<int64_t>(sizeof(Offset));
  const auto n = static_cast<int64_t>(group.count);
  const int64_t item = rows.item;
  GroupPieces piece;
  find_pieces(rows, group.count, piece);
  // Every loop runs to the end of a full group, in vectors; rows that are not there are empty.
  alignas(kLine) Offset total[kMost + 1];
  alignas(kLine) Offset start[kMost] = {};
  total[0] = static_cast<Offset>(before);
  __builtin_memcpy(total + 1, rows.offsets + (i + 1) * kWidth, static_cast<size_t>(n * kWidth));
  __builtin_memcpy(start, rows.starts + i * kWidth, static_cast<size_t>(n * kWidth));
  pin_copy(start);  // they may be offsets that another thread changes
  for (int64_t k = n; k < kMost; ++k) total[k + 1] = total[n];
  int64_t wrong = 0;
  for (int k = 0; k < kMost; ++k) {
    const auto items = static_cast<int64_t>(total[k + 1] - total[k]);
    const auto keep = items > 0 ? ~int64_t{0} : int64_t{0};
    // Unsigned, because a difference or a product may wrap: an offset that another thread changes may be anything. The
    // lengths were checked before, so `behind - items` is negative for every offset that is too large.
    const auto from = static_cast<uint64_t>(static_cast<int64_t>(start[k]) & keep);
    const uint64_t behind = static_cast<uint64_t>(piece.reach[k]) - from;  // not negative for an empty span
    const int64_t bytes = items * item;
    wrong |= items | static_cast<int64_t>(from | (behind - static_cast<uint64_t>(items)));
    const Address address = piece.bytes[k] + from * static_cast<uint64_t>(item);
    group.from[k] = pointer_to(items > 0 ? address : address_of(kEmpty));
    group.bytes[k] = bytes;
    const auto readable = static_cast<int64_t>(behind * static_cast<uint64_t>(item));
    group.is_short[k] = (bytes <= SpanGroup::kShort && readable >= SpanGroup::kShort) || items == 0 ? 1 : 0;
  }
  for (int k = 0; k < kMost; ++k) total[k] = static_cast<Offset>(total[k + 1] + static_cast<Offset>(base));
  __builtin_memcpy(rows.offsets + (i + 1) * kWidth, total, static_cast<size_t>(n * kWidth));
  return wrong >= 0;
}

bool place_spans(const OffsetRows& rows, int64_t i, int64_t before, int64_t base, SpanGroup& group) {
  return rows.width == 4 ? place_group<int32_t>(rows, i, before, base, group)
                         : place_group<int64_t>(rows, i, before, base, group);
}

}  // namespace
}  // namespace gs::cpu::GS_ISA

// take_overlay.cpp: takes the rows of an overlay, block by block: the target's rows, then the replaced rows in their
// places.
#include "host/thread_scratch.h"
#include "table/bit_source.h"
#include "table/take.h"

namespace gs::table {

// The rows of a block are put together in the cache. Only the result of both steps goes to memory.
void overlay_items(const ColumnKernels& kernels, const Overlay& overlay, const SmallVector<const std::byte*, 2>& base,
                   int64_t width, int64_t begin, int64_t end, bool stream, std::byte* target) {
  static_assert(kStageBytes <= host::kScratchBytes);
  stream = stream && width * 64 <= kStageBytes;
  std::byte* const stage = stream ? host::thread_scratch() : nullptr;
  const int64_t step = stream ? std::min(kStageBytes / width / 64 * 64, Overlay::kBlock) : Overlay::kBlock;
  const std::byte* const* const items = base.data() + (overlay.piece == nullptr ? overlay.source : 0);
  for (int64_t block = begin; block < end; block += Overlay::kBlock) {
    const int64_t block_end = std::min(block + Overlay::kBlock, end);
    int64_t k = overlay.before[block / Overlay::kBlock];
    const int64_t all = overlay.before[block / Overlay::kBlock + 1];
    for (int64_t at = block; at < block_end; at += step) {
      const int64_t stop = std::min(at + step, block_end);
      const int64_t last = std::lower_bound(overlay.place + k, overlay.place + all, stop - block) - overlay.place;
      std::byte* const to = stream ? stage : target + at * width;
      if (last - k < stop - at) {
        overlay.for_each_base(at, stop, [&](int32_t piece, int64_t start, int64_t i, int64_t length) {
          std::memcpy(to + (i - at) * width, base[piece] + start * width, static_cast<std::size_t>(length * width));
        });
      }
      kernels.put_items(items, width, overlay.rows(0), k, last, overlay.place, at - block, to);
      if (stream) kernels.stream(target + at * width, stage, (stop - at) * width);
      k = last;
    }
  }
}

int64_t overlay_bits(const ColumnKernels& kernels, const Overlay& overlay, const SmallVector<BitSource, 2>& sources,
                     int64_t begin, int64_t end, uint64_t* words) {
  constexpr int64_t kWords = Overlay::kBlock / 64;
  uint64_t packed[kWords + 2] = {};
  if (overlay.row == nullptr) {
    const uint64_t bit = sources[overlay.source].at(0);
    for (uint64_t& word : packed) word = 0 - bit;
  }
  std::memset(words + begin / 64, 0, static_cast<std::size_t>(words_for(end - begin)) * 8);
  int64_t ones = 0;
  for (int64_t block = begin; block < end; block += Overlay::kBlock) {
    const int64_t stop = std::min(block + Overlay::kBlock, end);
    overlay.for_each_base(block, stop, [&](int32_t piece, int64_t start, int64_t at, int64_t length) {
      for_each_word(at, length, [&](int64_t i, int64_t n) {
        words[i / 64] |= source_bits(sources[piece], start + (i - at), n) << (i & 63);
      });
    });
    const int64_t k = overlay.before[block / Overlay::kBlock];
    const int64_t last = overlay.before[block / Overlay::kBlock + 1];
    if (overlay.row != nullptr) {
      const BitSource* const source = sources.data() + (overlay.piece == nullptr ? overlay.source : 0);
      kernels.bits(source, overlay.rows(k), 0, last - k, nullptr, packed);
    }
    ones += kernels.expand_bits(packed, overlay.replaced + block / 64, words_for(stop - block), words + block / 64);
  }
  return ones;
}

}  // namespace gs::table

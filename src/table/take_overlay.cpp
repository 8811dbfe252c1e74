// take_overlay.cpp: takes the rows of an overlay: copies the target's rows as a whole, then the replaced rows.
#include "table/bit_source.h"
#include "table/take.h"

namespace gs::table {

void overlay_items(const ColumnKernels& kernels, const Overlay& overlay, const SmallVector<const std::byte*, 2>& base,
                   int64_t width, int64_t begin, int64_t end, std::byte* target) {
  for (int64_t at = begin; at < end; at += Overlay::kBlock) {  // a block of rows is still in the cache for put_items
    const int64_t stop = std::min(at + Overlay::kBlock, end);
    overlay.for_each_base(at, stop, [&](int32_t piece, int64_t start, int64_t i, int64_t length) {
      std::memcpy(target + i * width, base[piece] + start * width, static_cast<std::size_t>(length * width));
    });
    kernels.put_items(base.data(), width, overlay.rows(), overlay.order(at), overlay.replaced, at, stop, target);
  }
}

int64_t overlay_bits(const ColumnKernels& kernels, const Overlay& overlay, const SmallVector<BitSource, 2>& sources,
                     int64_t begin, int64_t end, uint64_t* words) {
  std::memset(words + begin / 64, 0, static_cast<std::size_t>(words_for(end - begin)) * 8);
  overlay.for_each_base(begin, end, [&](int32_t piece, int64_t start, int64_t at, int64_t length) {
    for_each_word(at, length, [&](int64_t i, int64_t n) {
      words[i / 64] |= source_bits(sources[piece], start + (i - at), n) << (i & 63);
    });
  });
  kernels.put_bits(sources.data(), overlay.rows(), overlay.order(begin), overlay.replaced, begin, end, words);
  int64_t ones = 0;
  for (int64_t w = begin / 64; w < words_for(end); ++w) ones += std::popcount(words[w]);
  return ones;
}

}  // namespace gs::table

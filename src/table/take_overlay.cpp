// take_overlay.cpp: rows that mostly stay where they are: copied as a whole, then those that are replaced.
#include <atomic>

#include "table/bit_source.h"
#include "table/take.h"

namespace gs::table {
namespace {

constexpr int64_t kAhead = 16;  // rows that are asked for in advance

template <int64_t kWidth>
struct Item {
  void operator()(std::byte* target, const std::byte* source) const { std::memcpy(target, source, kWidth); }
};
struct LongItem {
  int64_t width;
  void operator()(std::byte* target, const std::byte* source) const {
    std::memcpy(target, source, static_cast<std::size_t>(width));
  }
};

template <class Use>
void with_item(int64_t width, Use use) {
  switch (width) {
    case 1: return use(Item<1>{});
    case 2: return use(Item<2>{});
    case 4: return use(Item<4>{});
    case 8: return use(Item<8>{});
    case 16: return use(Item<16>{});
    default: return use(LongItem{width});
  }
}

}  // namespace

void overlay_items(const Overlay& overlay, const SmallVector<const std::byte*, 2>& base, int64_t width, int64_t begin,
                   int64_t end, std::byte* target) {
  with_item(width, [&](auto copy) {
    for (int64_t at = begin; at < end; at += Overlay::kBlock) {  // a block is still in the cache when it is replaced in
      const int64_t stop = std::min(at + Overlay::kBlock, end);
      overlay.for_each_base(at, stop, [&](int32_t piece, int64_t start, int64_t i, int64_t length) {
        std::memcpy(target + i * width, base[piece] + start * width, static_cast<std::size_t>(length * width));
      });
      const int64_t* const known = overlay.before + stop / Overlay::kBlock;
      const int64_t last = stop % Overlay::kBlock == 0 ? *known : overlay.order(stop);
      int64_t k = overlay.order(at);
      overlay.for_each_replaced(at, stop, [&](int32_t piece, int64_t row, int64_t i) {
        const int64_t later = k++ + kAhead;
        if (later < last) {
          ask(base[static_cast<int>(overlay.piece[later])] + int64_t{overlay.row[later]} * width);
        }
        copy(target + i * width, base[piece] + row * width);
      });
    }
  });
}

int64_t overlay_bits(const Overlay& overlay, const SmallVector<BitSource, 2>& sources, int64_t begin, int64_t end,
                     uint64_t* words) {
  std::memset(words + begin / 64, 0, static_cast<std::size_t>(words_for(end - begin)) * 8);
  overlay.for_each_base(begin, end, [&](int32_t piece, int64_t start, int64_t at, int64_t length) {
    for_each_word(at, length, [&](int64_t i, int64_t n) {
      words[i / 64] |= source_bits(sources[piece], start + (i - at), n) << (i & 63);
    });
  });
  overlay.for_each_replaced(begin, end, [&](int32_t piece, int64_t row, int64_t i) {
    const uint64_t bit = sources[piece].at(static_cast<uint64_t>(row));
    words[i / 64] = (words[i / 64] & ~(uint64_t{1} << (i & 63))) | bit << (i & 63);
  });
  int64_t ones = 0;
  for (int64_t w = begin / 64; w < words_for(end); ++w) ones += std::popcount(words[w]);
  return ones;
}

}  // namespace gs::table

// kernel_changed.cpp: writes the words of a tile that a scatter has changed. Compiled once for every instruction set
// level, in a namespace of its own, under the rules that kernel_blocks.cpp states.
#include "backends/cpu/kernels/level.h"
#include "backends/cpu/kernels/prefetch_distances.h"

namespace gs::cpu::GS_ISA {
namespace {

// A word that lies anywhere, and may alias every type. It is a struct, because GCC drops both attributes of an alias
// that depends on a parameter.
template <class T>
struct [[gnu::packed, gnu::may_alias]] Loose {
  T value;
};

// A store under a mask, where the level has one: words that are equal are not written.
template <class T>
GS_INLINE void write_row(std::byte* __restrict target, const std::byte* __restrict after,
                         const std::byte* __restrict before, int64_t words) {
  auto* const to = reinterpret_cast<Loose<T>*>(target);
  const auto* const now = reinterpret_cast<const Loose<T>*>(after);
  const auto* const then = reinterpret_cast<const Loose<T>*>(before);
#if !defined(__clang__)
#pragma GCC ivdep
#endif
  for (int64_t i = 0; i < words; ++i) {
    if (now[i].value != then[i].value) to[i].value = now[i].value;
  }
}

template <class T>
void write_rows(const ChangedTile& tile) {
  const int64_t words = tile.bytes / static_cast<int64_t>(sizeof(T));
  for (int64_t row = 0; row < tile.rows; ++row) {
    const int64_t at = row * tile.bytes;
    if (row + kPackAhead < tile.rows) {
      const std::byte* const later = tile.target + (row + kPackAhead) * tile.step;
      for (int64_t byte = 0; byte < tile.bytes; byte += kLineBytes) __builtin_prefetch(later + byte, 1, 3);
    }
    write_row<T>(tile.target + row * tile.step, tile.after + at, tile.before + at, words);
  }
}

}  // namespace

void write_changed(const ChangedTile& tile, int64_t word) {
  switch (word) {
    case 1: return write_rows<uint8_t>(tile);
    case 2: return write_rows<uint16_t>(tile);
    case 4: return write_rows<uint32_t>(tile);
    default: return write_rows<uint64_t>(tile);
  }
}

}  // namespace gs::cpu::GS_ISA

// column_kernels.h: what a backend does for the columns of tables: rows picked by numbers that were checked before.
#pragma once

#include "core/column_point.h"

namespace gs {

struct ColumnKernels {
  // target + i * width = the item of row i, for i in [begin, end). `far`: the items do not fit into the caches.
  void (*items)(const std::byte* const* items, int64_t width, RowNumbers rows, int64_t begin, int64_t end, bool far,
                std::byte* target);

  // Bit i of `target` = the bit of row i, and that of `mask` (null: all ones), for i in [begin, end). `begin` is a
  // multiple of 64; whole words are written, with zeros beyond `end`. Returns how many bits are set.
  int64_t (*bits)(const BitSource* bits, RowNumbers rows, int64_t begin, int64_t end, const uint64_t* mask,
                  uint64_t* target);

  // The items, and the bits, of some places in [begin, end) only: those whose bit in `places` is set, which get rows
  // `first`, first + 1, .. in order.
  void (*put_items)(const std::byte* const* items, int64_t width, RowNumbers rows, int64_t first,
                    const uint64_t* places, int64_t begin, int64_t end, std::byte* target);
  void (*put_bits)(const BitSource* bits, RowNumbers rows, int64_t first, const uint64_t* places, int64_t begin,
                   int64_t end, uint64_t* target);
};

}  // namespace gs

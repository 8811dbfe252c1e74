// column_kernels.h: the kernels of a backend for the columns of tables: they pick rows by numbers that are already
// checked.
#pragma once

#include "core/column_point.h"

namespace gs {

struct ColumnKernels {
  // Copies the item of the i-th entry of `rows` to target + i * width, for i in [begin, end). `far`: the items do not
  // fit into the caches.
  void (*items)(const std::byte* const* items, int64_t width, RowNumbers rows, int64_t begin, int64_t end, bool far,
                std::byte* target);

  // Sets bit i of `target` to the bit of the i-th entry of `rows`, and-ed with bit i of `mask` (null: all ones), for i
  // in [begin, end). `begin` is a multiple of 64; whole words are written, with zeros beyond `end`. Returns the number
  // of bits set.
  int64_t (*bits)(const BitSource* bits, RowNumbers rows, int64_t begin, int64_t end, const uint64_t* mask,
                  uint64_t* target);

  // Write the items, or the bits, only at those i in [begin, end) whose bit in `places` is set. In ascending order
  // these places get the entries `first`, first + 1, .. of `rows`.
  void (*put_items)(const std::byte* const* items, int64_t width, RowNumbers rows, int64_t first,
                    const uint64_t* places, int64_t begin, int64_t end, std::byte* target);
  void (*put_bits)(const BitSource* bits, RowNumbers rows, int64_t first, const uint64_t* places, int64_t begin,
                   int64_t end, uint64_t* target);
};

}  // namespace gs

// gradient_kernels.h: the kernels of a backend for gradients of minima, maxima and products of float32 or float64.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/number.h"

namespace gs {

// Points of a scatter and their targets: point j has its values at row `point[j]` of the values, and its targets begin
// with granule `unit[point[j]]`. Rows have so many items, of which a granule is a part. All arrays of targets have the
// shape of the results.
struct GradientBlock {
  const std::byte* values;   // row 0 of the block
  const std::byte* results;  // the results of the scatter
  const uint32_t* unit;
  const uint32_t* point;  // ascending
  int64_t points;
  int64_t items;
  int64_t granule;  // items
  bool stream;      // rows of the values are written past the caches
};

// Counts are integers of the size of the items. Equal means equal or both NaN.
struct GradientKernels {
  // Adds 1 to the count of each target that equals a value.
  void (*count_ties)(const GradientBlock& block, std::byte* counts);
  // Writes the share of its target to each value that equals it, else 0. `to`: row 0 of the block, as of the values.
  void (*take_shares)(const GradientBlock& block, const std::byte* shares, std::byte* to);
  // Divides gradients of results by the counts, plus 1 where the element itself equals the result: it gets such a share
  // too, else 0. `own`: these elements; null: they equal where there is no other.
  void (*divide)(const std::byte* gradients, const std::byte* counts, const std::byte* results, const std::byte* own,
                 std::byte* shares, std::byte* to, int64_t items);

  // Writes gradient * (result / value) to each value. Returns whether one is 0.
  bool (*multiply_others)(const GradientBlock& block, const std::byte* gradients, std::byte* to);
  // Copies elements; null stands for ones.
  void (*fill)(std::byte* products, const std::byte* own, int64_t items);
  // Adds 1 to the count of a target for each value of 0, and marks the granules with which rows of such targets begin.
  void (*count_zeros)(const GradientBlock& block, std::byte* counts, uint8_t* marks);
  // Multiplies targets in marked rows by their values that are not 0.
  void (*multiply_nonzeros)(const GradientBlock& block, const uint8_t* marks, std::byte* products);
  // Writes to each value of 0 the gradient times the product of the others, of which `counts` less one are 0.
  void (*multiply_zeros)(const GradientBlock& block, const std::byte* counts, const std::byte* products,
                         const std::byte* gradients, std::byte* to);
};

// Those for host arrays, whichever backend moves their elements; null for other dtypes than float32 and float64.
const GradientKernels* gradient_kernels(Number number);

}  // namespace gs

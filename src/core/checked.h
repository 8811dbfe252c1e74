// checked.h: provides 64-bit arithmetic on sizes that throws instead of overflowing.
#pragma once

#include <cstdint>

#include "core/error.h"
#include "core/small_vector.h"

namespace gs {

inline int64_t checked_mul(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) throw ShapeError("array is too big: its size does not fit in 64 bits");
  return product;
}

inline int64_t checked_add(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) throw ShapeError("array is too big: its size does not fit in 64 bits");
  return sum;
}

// Number of points of a shape; 0 if any extent is 0, even if the product of the other extents would overflow.
inline int64_t checked_count(const Dims& extent) {
  for (const int64_t n : extent) {
    if (n == 0) return 0;
  }
  int64_t count = 1;
  for (const int64_t n : extent) count = checked_mul(count, n);
  return count;
}

}  // namespace gs

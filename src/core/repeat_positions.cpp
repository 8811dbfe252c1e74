// repeat_positions.cpp: writes repeated positions, a fixed number of them at a time.
#include "core/repeat_positions.h"

#include <algorithm>

namespace gs {
namespace {

// So many equal positions are written for each count, as two or four vector stores; the next position overwrites those
// that were too many. A loop over a count of arbitrary size would end with a branch that is mispredicted.
constexpr int64_t kWide = 8;

template <class Position>
void repeat_as(const int64_t* counts, int64_t first, int64_t n, int64_t total, Position* target) {
  const Position* const end = target + total;
  for (int64_t j = 0; j < n; ++j) {
    const auto position = static_cast<Position>(first + j);
    const int64_t count = counts[j];
    if (count <= kWide && end - target >= kWide) {
      for (int64_t k = 0; k < kWide; ++k) target[k] = position;
    } else {
      std::fill_n(target, count, position);
    }
    target += count;
  }
}

}  // namespace

int64_t sum_of_counts(const int64_t* counts, int64_t n) {
  int64_t sum = 0;
  int64_t signs = 0;
  bool overflows = false;
  for (int64_t j = 0; j < n; ++j) {
    signs |= counts[j];
    overflows |= __builtin_add_overflow(sum, counts[j], &sum);
  }
  return signs < 0 ? kNegativeCount : overflows ? kTooManyCounts : sum;
}

void repeat_positions(const int64_t* counts, int64_t first, int64_t n, int64_t total, std::byte* target, int64_t item) {
  switch (item) {
    case 1: return repeat_as(counts, first, n, total, reinterpret_cast<uint8_t*>(target));
    case 2: return repeat_as(counts, first, n, total, reinterpret_cast<uint16_t*>(target));
    case 4: return repeat_as(counts, first, n, total, reinterpret_cast<uint32_t*>(target));
    default: return repeat_as(counts, first, n, total, reinterpret_cast<uint64_t*>(target));
  }
}

}  // namespace gs

// repeat_positions.h: lists positions, each as many times as its count says: the index array of a repeat.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gs {

// What stands for the sum of counts of which one is negative, or whose sum is beyond int64.
inline constexpr int64_t kNegativeCount = -1;
inline constexpr int64_t kTooManyCounts = -2;

// The sum of n counts, or one of these numbers.
int64_t sum_of_counts(const int64_t* counts, int64_t n);

// Writes the positions first, .., first + n - 1 to `target`, position first + j as often as counts[j] says, as unsigned
// numbers of `item` bytes (1, 2, 4 or 8). `total` is the sum of the counts.
void repeat_positions(const int64_t* counts, int64_t first, int64_t n, int64_t total, std::byte* target, int64_t item);

}  // namespace gs

// pick_positions.h: lists the positions that compress and roll pick of fewer than 2^31, and the values that putmask and
// place write.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gs {

// Writes the positions of the bools that are true to `target`, in ascending order. Returns their number; -1 if there
// are more than `most`, of which the first ones are written.
int64_t true_positions(const std::byte* bools, int64_t n, int64_t stride, int64_t most, int32_t* target);

// Writes for each place along an axis the position whose item a roll moves there.
void roll_positions(int64_t shift, int64_t extent, int32_t* target);

// Writes one of `given` values to each of n places, again and again; with a mask of n bools side by side, only to the
// places where it is true, so that no value is left out. Values have `item` bytes; nothing is written to other places.
void repeat_values(const std::byte* values, int64_t given, int64_t item, const std::byte* mask, int64_t n,
                   std::byte* target);

}  // namespace gs

// run_ends.h: finds the run of a run-end encoded array that contains a row.
#pragma once

#include "arrow/array.h"
#include "arrow/load.h"

namespace gs::arrow {

// Row numbers are those of the run ends, so they include the array's offset.
class RunEnds {
 public:
  RunEnds(const Type& type, const Array& array)
      : ends_(array.children[0]), count_(ends_.length), width_(type.children[0].width) {}

  int64_t count() const { return count_; }
  int64_t end(int64_t run) const {
    const std::byte* const data = ends_.first.data;
    const int64_t at = ends_.offset + run;
    return width_ == 2 ? load<int16_t>(data, at) : width_ == 4 ? load<int32_t>(data, at) : load<int64_t>(data, at);
  }
  // The run that contains `row`: the first one whose end is greater than `row`; count() if there is none.
  int64_t find(int64_t row) const {
    int64_t low = 0;
    int64_t high = count_;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (end(middle) > row) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

 private:
  const Array& ends_;
  int64_t count_;
  int64_t width_;
};

}  // namespace gs::arrow

// prepare.h: turns an accepted plan and its memory into a job for the kernels, and decides how it is run.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/job.h"
#include "backends/cpu/tuning.h"
#include "host/thread_count.h"

namespace gs::cpu {

// A job with the tables that it points to. Not copied, because of those pointers.
struct Prepared {
  Job job;
  SmallVector<JobIndex, 4> index;
  SmallVector<bool, 12> flat;
  SmallVector<int64_t, 12> no_strides;            // of a space without axes
  alignas(64) std::byte fill_row[kFillRowBytes];  // written only where the fill value is shorter than the unit

  Prepared() {}  // fill_row stays uninitialised
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;
};

void prepare(const Plan& plan, const Buffers& buffers, Direction direction, const Tuning& tuning, Prepared& prepared);

// True if the indexed side is so large that its elements come from main memory.
bool is_far(const Plan& plan, const Tuning& tuning);

// How the work is cut: chunks of several points, or several pieces of one long unit.
struct Cut {
  int threads = 1;
  int64_t chunks = 1;
  int64_t points = 0;  // of a chunk; the last one may have fewer
  int64_t pieces = 1;  // of a unit
  int64_t piece = 0;   // bytes of a piece
};

Cut cut(const Plan& plan, const Tuning& tuning, const ThreadCount& threads);

}  // namespace gs::cpu

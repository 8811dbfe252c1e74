// prepare.h: turns a plan and its buffers into a job for the kernels, and decides how it is run.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/job.h"
#include "backends/cpu/tuning.h"
#include "host/thread_count.h"

namespace gs::cpu {

// A job and the arrays that it points to. Not copyable, because the job points into this object.
struct Prepared {
  Job job;
  SmallVector<JobIndex, 4> index;
  SmallVector<bool, 12> flat;
  SmallVector<int64_t, 12> no_strides;            // strides of a space without axes
  alignas(64) std::byte fill_row[kFillRowBytes];  // written only if the fill value is shorter than the unit

  Prepared() {}  // fill_row stays uninitialised
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;
};

void prepare(const Plan& plan, const Buffers& buffers, Direction direction, const Tuning& tuning, Prepared& prepared);

// Whether the indexed side is far: so large that its elements come from main memory.
Comparison farness(const Plan& plan, const Tuning& tuning);
bool is_far(const Plan& plan, const Tuning& tuning);

// Whether the indexed side of a job is so large that prefetches pay.
Comparison fetching(const Plan& plan, const Tuning& tuning, const Job& job);
// The same of a reduction in its targets, and whether its kernel prefetches units of this length at all.
Comparison fetching_combined(const Plan& plan, const Tuning& tuning);
bool fetches_combined(const Plan& plan, const Job& job);
// The tuning for the slices or tiles of a scatter with this plan: they prefetch and stream as the whole scatter does.
Tuning tuning_of_parts(const Plan& plan, const Tuning& tuning);

// Whether the result of a gather or the target of a scatter is so large that streaming stores pay.
Comparison streaming(const Plan& plan, const Tuning& tuning, Direction direction);

// What prevents streaming stores or prefetches in a job, in words; null if nothing does.
const char* obstacle_to_streaming(const Job& job);
const char* obstacle_to_prefetch(const Job& job);

// Whether gather instructions load the units of Form::vectors.
Comparison gathering(const Tuning& tuning, const Job& job);

// Whether a second thread pays.
Comparison sharing(const Plan& plan, const Tuning& tuning);

// How a call is divided: into work chunks of several points, or of one piece of a long unit.
struct Cut {
  int threads = 1;
  int64_t chunks = 1;
  int64_t points = 0;  // points of a work chunk; the last one may have fewer
  int64_t pieces = 1;  // pieces of a unit
  int64_t piece = 0;   // bytes of a piece
};

Cut cut(const Plan& plan, const Tuning& tuning, const ThreadCount& threads);

}  // namespace gs::cpu

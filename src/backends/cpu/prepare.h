// prepare.h: turns a plan and its buffers into a job for the kernels, and decides how it is run.
#pragma once

#include <cstdint>
#include <memory>

#include "backends/cpu/kernels/job.h"
#include "backends/cpu/tuning.h"
#include "host/thread_count.h"

namespace gs::cpu {

// Work chunks of each thread: more divide unevenly fast threads better, and cost a claim each.
inline constexpr int64_t kChunksPerThread = 8;
inline constexpr int64_t kMaxChunkBytes = 4 * 1024 * 1024;  // of a work chunk, between two polls of Ctrl-C
inline constexpr int64_t kMaxChunkPoints = 128 * 1024;      // the same
inline constexpr int64_t kShortRun = 32;        // a block spans several runs of the innermost axis if that is shorter
inline constexpr int64_t kFillRowBytes = 4096;  // the longest unit for which the fill value is repeated in advance

// A job and the arrays that it points to. Not copyable, because the job points into this object.
struct Prepared {
  Job job;
  SmallVector<JobIndex, 4> index;
  SmallVector<bool, 12> flat;
  SmallVector<int64_t, 12> no_strides;    // strides of a space without axes
  std::unique_ptr<std::byte[]> fill_row;  // null unless the fill value is shorter than the unit

  Prepared() {}  // the job stays uninitialised
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;
};

// Decides all that the plan alone decides; the job has no memory yet. Targets are taken to begin with a cache line.
void lay_out(const Plan& plan, Direction direction, const Tuning& tuning, Prepared& prepared);
// Gives a job that was laid out its memory, once. Refines it where targets do not begin with a cache line.
void bind(const Plan& plan, const Buffers& buffers, const Tuning& tuning, Prepared& prepared);
// Both.
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
  int64_t points = 0;   // points of a work chunk; the last one may have fewer
  int64_t pieces = 1;   // pieces of a unit
  int64_t piece = 0;    // bytes of a piece
  bool is_one = false;  // so little work that it is not divided
};

Cut cut(const Plan& plan, const Tuning& tuning, const ThreadCount& threads);

}  // namespace gs::cpu

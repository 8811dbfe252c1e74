// scatter_run.h: runs the points of a scatter or a reduction on several threads.
#pragma once

#include <vector>

#include "backends/cpu/scatter_parts.h"
#include "backends/cpu/target_spans.h"

namespace gs::cpu {

// The fields of a job that a reduction sets.
struct Sum {
  Apply apply = nullptr;
  ApplyElements apply_elements = nullptr;
  Window totals;
  const SlotCounts* counts = nullptr;
  int64_t counts_of_piece = 0;  // each piece of the units has counts of its own
  bool stream = true;
};

struct Scatter {
  Run run;
  const Tuning* tuning;
  const Plan* plan;
  const Buffers* buffers;
  RunOptions options;
  int threads;
  TargetMarks marks = {};
  const TargetSpans* spans = nullptr;  // parts with ranges of targets skip blocks without any
};

Scatter scatter_of(Run run, const Tuning& tuning, const Plan& plan, const Buffers& buffers, const RunOptions& options);

std::vector<TaskPart> slices_of(const Scatter& scatter, AddressRange own);
std::vector<TaskPart> pieces_of(const Scatter& scatter, AddressRange own);
// Whether each thread has a range of targets.
bool goes_by_ranges(const Scatter& scatter);

// The points of a block whose span a check should find; 0 where threads need none, or where that saves little. A
// scatter in reverse order finds spans of its own.
int64_t span_points_of(Run run, const Tuning& tuning, const Plan& plan, const Buffers& buffers,
                       const RunOptions& options);

// What is known of the targets before threads get ranges of them.
struct Targets {
  std::vector<Address> samples;
  TargetSpans spans;

  explicit Targets(const Scatter& scatter);
};

// Moves points of which no two have one target.
Outcome run_apart(const Scatter& scatter);

// Runs the points whose targets begin in `own`.
Outcome run_own(const Scatter& scatter, AddressRange own, const Targets& targets, const Sum& sum);

// Runs the whole scatter; in one round on the calling thread if there is one thread and Ctrl-C need not be polled.
Outcome run_direct(const Scatter& scatter, const Sum& sum);

}  // namespace gs::cpu

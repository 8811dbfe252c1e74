// scatter_run.h: runs the points of a scatter or a reduction on several threads.
#pragma once

#include <vector>

#include "backends/cpu/schedule.h"
#include "backends/cpu/target_spans.h"

namespace gs::cpu {

struct PieceSum : Sum {
  int64_t counts_of_piece = 0;  // each piece of the units has counts of its own
};

// A scatter on its memory.
struct Scatter {
  Scatter(Schedule& decided, const Buffers& memory, const RunOptions& run_options);

  const Schedule* schedule;
  const Tuning* tuning;  // of parts that are plans of their own
  const Buffers* buffers;
  RunOptions options;
  TargetMarks marks = {};
  const TargetSpans* spans = nullptr;  // parts with ranges of targets skip blocks without any
};

// The points of a block whose span a check should find; 0 where threads need none, or where that saves little. A
// scatter in reverse order finds spans of its own.
int64_t span_points_of(const Kernels& kernels, const Tuning& tuning, const Plan& plan, const Buffers& buffers,
                       const RunOptions& options);

// What is known of the targets before threads get ranges of them.
struct Targets {
  std::vector<Address> samples;
  TargetSpans spans;

  Targets(const Scatter& scatter, Strategy strategy);
};

// Runs the points whose targets begin in `own`.
Outcome run_own(const Scatter& scatter, AddressRange own, const Targets& targets, const PieceSum& sum);

// Runs a scatter or a reduction whose totals are in their targets; in one round on the calling thread if there is one
// thread and Ctrl-C need not be polled.
Outcome run_direct(const Scatter& scatter);

}  // namespace gs::cpu

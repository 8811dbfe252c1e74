// partitioned_scatter.h: runs a scatter on several threads that read each index once: the points are divided by ranges
// of their targets, and each range belongs to one thread.
#pragma once

#include <vector>

#include "backends/backend.h"
#include "backends/cpu/kernels/level.h"
#include "backends/cpu/prepare.h"

namespace gs::cpu {

inline constexpr int kPartsPerThread = 4;  // slices, or ranges of targets in blocks: more even threads out
inline constexpr int64_t kRoundBytes = 64 * 1024 * 1024;  // of units, between two polls of Ctrl-C

// The addresses [low, high) of targets.
struct AddressRange {
  Address low = 0;
  Address high = UINT64_MAX;
};

// Targets of evenly spaced points, sorted: an estimate of where the work is. Bad indices are skipped, because the
// scatter itself reports them.
std::vector<Address> sample_targets(const Plan& plan, const Buffers& buffers, int threads);

// Bounds of one range of targets for each thread within `whole`: equally many of the samples lie in every range. All
// but the outer bounds are whole numbers of `grain` bytes above `first`.
std::vector<Address> bounds_of_ranges(const std::vector<Address>& samples, AddressRange whole, int threads,
                                      Address first = 0, Address grain = 1);

// What to run. The job, its form included, is that of a scatter that owns a part of its targets.
struct PartitionedRun {
  const Kernels* kernels;
  const Job* job;
  const Plan* plan;
  const Tuning* tuning;
  AddressRange own;              // points with other targets are left out
  std::vector<Address> samples;  // of sample_targets
};

// Points of one target are moved in flat order, by one thread.
Outcome run_partitioned(const PartitionedRun& partitioned, const RunOptions& options);

}  // namespace gs::cpu

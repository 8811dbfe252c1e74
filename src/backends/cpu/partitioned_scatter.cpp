// partitioned_scatter.cpp: divides the points of a scatter by ranges of their targets, round after round, and moves
// each range on one thread. The work does not grow with the number of threads: each index and each value is read once.
#include "backends/cpu/partitioned_scatter.h"

#include <algorithm>
#include <atomic>

#include "core/point.h"
#include "host/memory_pool.h"
#include "host/thread_pool.h"

namespace gs::cpu {
namespace {

constexpr int kSamplesPerRange = 128;      // sampled targets for each range, to balance the ranges ..
constexpr int64_t kPointsPerSample = 256;  // .. or fewer, because a sample reads memory out of order

int range_count(int threads) {
  return std::clamp(threads, 1, kMaxRanges);
}

int64_t lines(int64_t bytes) {
  return (bytes + 63) / 64 * 64;
}

// The lists of one round after the other, in memory of the pool.
class Rounds {
 public:
  // A round has at most so many points.
  Rounds(Partition& partition, const Job& job, int64_t most, int64_t list_points) {
    const bool elements = job.form == Form::elements;
    const int64_t fitting =
        elements ? std::min(kMaxListPoints, kMaxListBytes / static_cast<int>(job.unit)) : kMaxListUnits;
    partition.points = std::min({list_points, fitting, most, job.count});
    partition.stride = (partition.points + kListSlack + 15) / 16 * 16;
    lists_ = (std::min(most, job.count) + partition.points - 1) / partition.points;
    const int64_t target_bytes = lines(lists_ * partition.stride * (elements ? 4 : 8));
    const int64_t value_bytes = lines(lists_ * partition.stride * (elements ? job.unit : 8));
    const int64_t start_bytes = lists_ * (partition.ranges + 1) * 4;
    memory_ = static_cast<std::byte*>(
        host::allocate(static_cast<std::size_t>(target_bytes + value_bytes + start_bytes + 64)));
    partition.target = memory_;
    partition.value = memory_ + target_bytes;
    partition.start = reinterpret_cast<uint32_t*>(memory_ + target_bytes + value_bytes);
  }
  Rounds(const Rounds&) = delete;
  Rounds& operator=(const Rounds&) = delete;
  ~Rounds() { host::release(memory_); }
  int64_t lists() const { return lists_; }

 private:
  int64_t lists_;
  std::byte* memory_;
};

struct RoundWork {
  const Kernels* kernels;
  const Job* job;
  int64_t begin;
  int64_t end;
  int64_t lists;  // of a work chunk: indices are prefetched from list to list
  std::atomic<bool> bad = false;
};

bool list_chunk(void* context, int64_t chunk) {
  auto& work = *static_cast<RoundWork*>(context);
  const int64_t points = work.job->to.partition->points;
  bool good = true;
  for (int64_t list = chunk * work.lists; good && list < (chunk + 1) * work.lists; ++list) {
    const int64_t first = work.begin + list * points;
    if (first < work.end) good = work.kernels->run(*work.job, first, std::min(first + points, work.end));
  }
  if (!good) work.bad.store(true, std::memory_order_relaxed);
  return good;
}

bool finish_chunk(void* context, int64_t range) {
  auto& work = *static_cast<RoundWork*>(context);
  return work.kernels->run(*work.job, range, range + 1);
}

}  // namespace

std::vector<Address> sample_targets(const Plan& plan, const Buffers& buffers, int threads) {
  const PlanView view = view_of(plan, buffers);
  const int ranges = range_count(threads);
  const int64_t count = std::clamp<int64_t>(view.count / kPointsPerSample, ranges, int64_t{ranges} * kSamplesPerRange);
  std::vector<Address> targets;
  targets.reserve(static_cast<std::size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const auto flat = static_cast<int64_t>((static_cast<double>(i) + 0.5) / static_cast<double>(count) *
                                           static_cast<double>(view.count));
    const PointOffsets at = locate(view, std::min(flat, view.count - 1));
    if (at.indexed == kNowhere) continue;
    targets.push_back(reinterpret_cast<Address>(view.indexed) + static_cast<Address>(at.indexed));
  }
  std::sort(targets.begin(), targets.end());
  return targets;
}

std::vector<Address> bounds_of_ranges(const std::vector<Address>& samples, AddressRange whole, int threads,
                                      Address first, Address grain) {
  const auto begin = std::lower_bound(samples.begin(), samples.end(), whole.low);
  const auto end = std::lower_bound(begin, samples.end(), whole.high);
  const int count = range_count(threads);
  std::vector<Address> bounds = {whole.low};
  for (int i = 1; i < count && begin != end; ++i) {
    const Address middle = *(begin + (end - begin) * i / count);
    const Address bound = first + (middle - first + grain - 1) / grain * grain;
    if (bound > bounds.back() && bound < whole.high) bounds.push_back(bound);
  }
  bounds.push_back(whole.high);
  return bounds;
}

Outcome run_partitioned(const PartitionedRun& partitioned, const RunOptions& options) {
  const Job& job = *partitioned.job;
  const Span span = indexed_span(*partitioned.plan);
  const bool elements = job.form == Form::elements;
  const auto indexed = reinterpret_cast<Address>(job.indexed);
  const AddressRange targets{indexed + static_cast<Address>(span.low), indexed + static_cast<Address>(span.high)};
  const AddressRange own{std::max(partitioned.own.low, targets.low), std::min(partitioned.own.high, targets.high)};
  const Address step = elements ? static_cast<Address>(job.index[0].step) : 1;
  const std::vector<Address> bounds = bounds_of_ranges(partitioned.samples, own, options.threads, targets.low, step);
  uint32_t slot_bound[kMaxRanges + 1] = {};
  for (std::size_t i = 0; elements && i < bounds.size(); ++i) {
    slot_bound[i] = static_cast<uint32_t>((bounds[i] - targets.low + step - 1) / step);
  }
  Partition partition;
  partition.ranges = static_cast<int>(bounds.size()) - 1;
  partition.bound = bounds.data();
  partition.slot_bound = slot_bound;
  partition.first = targets.low;

  const int64_t by_bytes = kRoundBytes / std::max<int64_t>(job.unit, 1);
  const int64_t most = std::max<int64_t>(std::min(partitioned.tuning->partition_points, by_bytes), 1);
  const Rounds rounds(partition, job, most, partitioned.tuning->list_points);
  Job listing = job;
  listing.step = JobStep::partition;
  listing.to.partition = &partition;
  Job finishing = listing;
  finishing.step = JobStep::finish;
  host::InterruptPoller poller(options.interrupted);
  for (int64_t begin = 0; begin < job.count; begin += rounds.lists() * partition.points) {
    const int64_t end = std::min(begin + rounds.lists() * partition.points, job.count);
    partition.begin = begin;
    partition.lists = (end - begin + partition.points - 1) / partition.points;
    const int64_t shares = int64_t{options.threads} * kPartsPerThread;
    RoundWork work{partitioned.kernels, &listing, begin, end, std::max<int64_t>(partition.lists / shares, 1)};
    host::run_task(options.threads, {(partition.lists + work.lists - 1) / work.lists, list_chunk, &work});
    if (work.bad.load()) return Outcome::bad_index;
    work.job = &finishing;
    host::run_task(options.threads, {partition.ranges, finish_chunk, &work});
    if (end < job.count && !poller.proceed(end, job.count)) return Outcome::interrupted;
  }
  return Outcome::done;
}

}  // namespace gs::cpu

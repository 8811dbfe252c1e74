// marked_targets.cpp: marks the targets of a scatter of rows, and copies from a base what no point writes.
#include "backends/cpu/marked_targets.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "backends/cpu/form.h"
#include "backends/cpu/partitioned_scatter.h"
#include "host/memory_pool.h"
#include "host/thread_pool.h"

namespace gs::cpu {
namespace {

bool units_are_slots(const Plan& plan) {
  const auto fits = [&](int64_t stride) { return stride % plan.unit == 0; };
  for (int axis = 0; axis < plan.space.rank(); ++axis) {
    if (!fits(plan.space.stride(kIndexed, axis))) return false;
  }
  if (plan.fold.empty())
    return std::all_of(plan.index.begin(), plan.index.end(), [&](const IndexArray& index) { return fits(index.step); });
  return std::all_of(plan.fold.begin(), plan.fold.end(), [&](const FoldAxis& fold) { return fits(fold.stride); });
}

int64_t slots_of(const Plan& plan) {
  const Span span = indexed_span(plan);
  return (span.high - span.low) / plan.unit;
}

std::size_t bitmap_bytes(int64_t slots) {
  return static_cast<std::size_t>(slots / 64 + 1) * 8;
}

// The plan whose targets are the slots of `plan`, one byte each. It has no values.
Plan slot_plan(const Plan& plan) {
  Plan slots = plan;
  slots.item = slots.unit = 1;
  for (int axis = 0; axis < plan.space.rank(); ++axis) {
    slots.space.stride(kDense, axis) = 0;
    slots.space.stride(kIndexed, axis) /= plan.unit;
  }
  for (IndexArray& index : slots.index) index.step /= plan.unit;
  for (FoldAxis& fold : slots.fold) fold.stride /= plan.unit;
  return slots;
}

// Marks the points of a round, an equal share for each of the bitmaps.
struct MarkWork {
  Run run;
  const std::vector<Job>* jobs;  // of each bitmap
  int64_t begin;
  int64_t end;
  std::atomic<bool> bad = false;
};

bool mark_share(void* context, int64_t number) {
  auto& work = *static_cast<MarkWork*>(context);
  const auto shares = static_cast<int64_t>(work.jobs->size());
  const int64_t share = (work.end - work.begin + shares - 1) / shares;
  const int64_t first = std::min(work.begin + number * share, work.end);
  const bool good = work.run((*work.jobs)[static_cast<std::size_t>(number)], first, std::min(first + share, work.end));
  if (!good) work.bad.store(true, std::memory_order_relaxed);
  return good;
}

// The bitmaps of all threads but one, and one word for each thread that shows whether it marked a slot twice.
class Bitmaps {
 public:
  Bitmaps(std::size_t words, int threads) : words_(words), count_(static_cast<std::size_t>(threads)) {
    const std::size_t bytes = ((count_ - 1) * words_ + count_ * kApart) * 8;
    memory_ = static_cast<uint64_t*>(host::allocate(bytes));
    std::memset(memory_, 0, bytes);
  }
  Bitmaps(const Bitmaps&) = delete;
  Bitmaps& operator=(const Bitmaps&) = delete;
  ~Bitmaps() { host::release(memory_); }

  uint64_t* bits(std::size_t thread, uint64_t* of_first) const {
    return thread == 0 ? of_first : memory_ + count_ * kApart + (thread - 1) * words_;
  }
  uint64_t* met(std::size_t thread) const { return memory_ + thread * kApart; }

  // Adds all bitmaps to the first one. Returns whether a slot was marked twice.
  bool join(uint64_t* all) const {
    uint64_t met = 0;
    for (std::size_t thread = 0; thread < count_; ++thread) met |= *this->met(thread);
    for (std::size_t thread = 1; thread < count_; ++thread) {
      const uint64_t* const more = bits(thread, nullptr);
      for (std::size_t i = 0; i < words_; ++i) {
        met |= all[i] & more[i];
        all[i] |= more[i];
      }
    }
    return met != 0;
  }

 private:
  static constexpr std::size_t kApart = 8;  // words: a cache line for each thread
  std::size_t words_;
  std::size_t count_;
  uint64_t* memory_;
};

struct CopyWork {
  Run run;
  const Job* job;
  int64_t count;
  int64_t step;  // slots of a work chunk
};

bool copy_chunk(void* context, int64_t chunk) {
  const auto& work = *static_cast<CopyWork*>(context);
  const int64_t first = chunk * work.step;
  return work.run(*work.job, first, std::min(first + work.step, work.count));
}

// Copies the slots that are not marked.
Outcome copy_slots(Run run, const Tuning& tuning, const Buffers& buffers, int64_t unit, int64_t slots,
                   const TargetMarks& marks, const RunOptions& options) {
  if (slots == 0) return Outcome::done;
  Job job = {};
  job.unit = unit;
  job.base = buffers.base;
  job.marks = marks;
  job.stream = slots * unit >= tuning.stream_bytes;
  CopyWork work{run, &job, slots, std::max(kMaxChunkBytes / unit / 64, int64_t{1}) * 64};
  work.step = std::max(work.step, (slots >> 31) + 1);
  host::InterruptPoller poller(options.interrupted);
  const host::Task task{(slots + work.step - 1) / work.step, copy_chunk, &work, &poller};
  return host::run_task(options.threads, task) ? Outcome::done : Outcome::interrupted;
}

}  // namespace

bool pays_to_mark(const Plan& plan, const Tuning& tuning) {
  if (plan.unit <= kMaxElement || tuning.general || plan.rule.bounds == Bounds::unchecked) return false;
  if (plan.space.count() == 0 || !units_are_slots(plan)) return false;
  if (plan.unit >= 2 * tuning.min_piece_bytes) return false;  // threads may share one unit
  if (slots_of(plan) >= kNowhereSlot) return false;
  return static_cast<int64_t>(bitmap_bytes(slots_of(plan))) * tuning.bitmap_share <= plan.bytes_moved();
}

MarkedTargets::MarkedTargets(const Plan& plan, const std::byte* indexed)
    : slots_(slots_of(plan)), points_(plan.space.count()) {
  marks_.bits = static_cast<uint64_t*>(host::allocate(bitmap_bytes(slots_)));
  std::memset(marks_.bits, 0, bitmap_bytes(slots_));
  marks_.first = reinterpret_cast<Address>(indexed) + static_cast<Address>(indexed_span(plan).low);
}

MarkedTargets::~MarkedTargets() {
  host::release(marks_.bits);
  if (flat_ != nullptr) host::release(flat_);
}

Outcome MarkedTargets::mark(Run run, const Tuning& tuning, const Plan& plan, const Buffers& buffers,
                            const RunOptions& options, KeepTargets keep) {
  if (keep == KeepTargets::yes)
    flat_ = static_cast<uint32_t*>(host::allocate(static_cast<std::size_t>(plan.space.count()) * sizeof(uint32_t)));
  const Plan slots = slot_plan(plan);
  Prepared prepared;
  prepare(slots, buffers, Direction::scatter, tuning, prepared);
  Job& job = prepared.job;
  job.marks = marks_;
  job.stream = false;
  job.form = form_of_scatter(slots, job, {.owns_all = false});
  if (pays_to_mark_apart(tuning, options.threads)) {
    Partition partition;
    partition.first = reinterpret_cast<Address>(job.indexed) + static_cast<Address>(indexed_span(slots).low);
    partition.flat = flat_;
    job.partition = &partition;
    return mark_apart(run, tuning, job, options);
  }
  PartitionedRun partitioned{run, &job, &slots, &tuning, {}, sample_targets(slots, buffers, options.threads)};
  partitioned.step = JobStep::mark_listed;
  partitioned.flat = flat_;
  const Outcome outcome = run_partitioned(partitioned, options);
  repeats_ = partitioned.repeats;
  return outcome;
}

// Whether each thread has a bitmap of its own: few threads, and no more memory than lists would take. A scatter of 1 Mi
// rows of 128 bytes by a permutation takes 0.94 of what it takes with lists (two threads, Zen 4).
bool MarkedTargets::pays_to_mark_apart(const Tuning& tuning, int threads) const {
  if (threads > kReadAllThreads) return false;
  const auto more = static_cast<int64_t>(bitmap_bytes(slots_)) * (threads - 1);
  return more <= std::min(points_, tuning.partition_points) * static_cast<int64_t>(sizeof(uint32_t));
}

Outcome MarkedTargets::mark_apart(Run run, const Tuning& tuning, const Job& job, const RunOptions& options) {
  const Bitmaps bitmaps(bitmap_bytes(slots_) / 8, options.threads);
  std::vector<Job> jobs(static_cast<std::size_t>(options.threads), job);
  for (std::size_t thread = 0; thread < jobs.size(); ++thread) {
    jobs[thread].step = JobStep::mark;
    jobs[thread].marks = {bitmaps.bits(thread, marks_.bits), marks_.first, bitmaps.met(thread)};
  }
  MarkWork work{run, &jobs, 0, 0};
  host::InterruptPoller poller(options.interrupted);
  for (; work.begin < job.count; work.begin = work.end) {
    work.end = std::min(work.begin + tuning.round_points, job.count);
    host::run_task(options.threads, {options.threads, mark_share, &work});
    if (work.bad.load()) return Outcome::bad_index;
    if (work.end < job.count && !poller.proceed(work.end, job.count)) return Outcome::interrupted;
  }
  repeats_ = bitmaps.join(marks_.bits);
  return Outcome::done;
}

Plan MarkedTargets::plan_of(const Plan& plan) const {
  Plan moved = plan;
  const bool drops = plan.masked || plan.rule.fills();
  moved.rule = {drops ? Bounds::fill : Bounds::raise, Negative::out_of_bounds};
  moved.masked = false;
  moved.fold.resize(0);
  moved.index.resize(1);
  moved.index[0] = {IndexType::u32, 0, slots_, plan.unit};
  moved.space = Space(plan.space.extents(), kIndex + 1);
  int64_t stride = sizeof(uint32_t);
  for (int axis = plan.space.rank() - 1; axis >= 0; --axis) {
    moved.space.stride(kDense, axis) = plan.space.stride(kDense, axis);
    moved.space.stride(kIndex, axis) = stride;
    stride *= plan.space.extent(axis);
  }
  moved.index_space = moved.space;
  moved.finish();
  return moved;
}

Buffers MarkedTargets::buffers_of(const Buffers& buffers) const {
  Buffers moved;
  moved.dense = buffers.dense;
  moved.indexed = reinterpret_cast<std::byte*>(marks_.first);
  moved.index = {reinterpret_cast<const std::byte*>(flat_)};
  return moved;
}

Outcome MarkedTargets::copy_others(Run run, const Tuning& tuning, const Plan& plan, const Buffers& buffers,
                                   const RunOptions& options) const {
  return copy_slots(run, tuning, buffers, plan.unit, slots_, marks_, options);
}

std::optional<Duplicate> first_duplicate_with(Run run, const Tuning& tuning, const Plan& plan, const Buffers& buffers,
                                              const RunOptions& options) {
  const int64_t count = plan.space.count();
  const bool pays = plan.unit > 0 && count >= tuning.min_chunk_points && !plan.is_one_to_one() && !tuning.general &&
                    plan.rule.bounds != Bounds::unchecked && units_are_slots(plan) && slots_of(plan) < kNowhereSlot &&
                    slots_of(plan) / kSparseMarks <= count;
  if (pays) {
    MarkedTargets marked(plan, buffers.indexed);
    RunOptions shared = options;
    shared.threads = cut(plan, tuning, options.threads).threads;
    const Outcome outcome = marked.mark(run, tuning, plan, buffers, shared, KeepTargets::no);
    if (outcome == Outcome::interrupted || (outcome == Outcome::done && !marked.has_repeats())) return std::nullopt;
  }
  return first_duplicate(plan, buffers, options.interrupted);
}

Outcome copy_base(Run run, const Tuning& tuning, const Buffers& buffers, const RunOptions& options) {
  const TargetMarks none{nullptr, reinterpret_cast<Address>(buffers.indexed)};
  return copy_slots(run, tuning, buffers, 1, buffers.base_bytes, none, options);
}

}  // namespace gs::cpu

// marked_targets.cpp: marks the targets of a scatter of rows, and copies from a base what no point writes.
#include "backends/cpu/marked_targets.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "backends/cpu/form.h"
#include "backends/cpu/trace.h"
#include "host/memory_pool.h"
#include "host/thread_pool.h"

namespace gs::cpu {
namespace {

constexpr int64_t kMarkBytes = 8;       // most bytes of the bitmaps in which threads mark targets, for each point
constexpr int64_t kJoinedWords = 4096;  // words of bitmaps in a work chunk
// A search for duplicates marks all targets first if there are at most so many slots for each point.
constexpr int64_t kSparseMarks = 256;

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

// One bitmap for each share of the points, and one word that shows whether it marked a slot twice. The first bitmap
// becomes that of all targets.
class Bitmaps {
 public:
  Bitmaps(uint64_t* first, int64_t slots, int shares)
      : words_(static_cast<int64_t>(bitmap_bytes(slots)) / 8), count_(shares), first_(first) {
    memory_ = static_cast<uint64_t*>(
        host::allocate(static_cast<std::size_t>((count_ - 1) * words_ + count_ * kApart) * sizeof(uint64_t)));
  }
  Bitmaps(const Bitmaps&) = delete;
  Bitmaps& operator=(const Bitmaps&) = delete;
  ~Bitmaps() { host::release(memory_); }

  // The first bitmap is clear already.
  void clear(int64_t share) const {
    *met(share) = 0;
    if (share > 0) std::memset(bits(share), 0, static_cast<std::size_t>(words_) * sizeof(uint64_t));
  }
  int64_t words() const { return words_; }
  uint64_t* bits(int64_t share) const { return share == 0 ? first_ : memory_ + count_ * kApart + (share - 1) * words_; }
  uint64_t* met(int64_t share) const { return memory_ + share * kApart; }
  bool any_met() const {
    uint64_t met = 0;
    for (int64_t share = 0; share < count_; ++share) met |= *this->met(share);
    return met != 0;
  }

  // Adds to the words [first, last) of each bitmap those of the later shares. Returns whether two shares marked one
  // slot.
  bool add_later(int64_t first, int64_t last) const {
    uint64_t met = 0;
    for (int64_t share = count_ - 2; share >= 0; --share) {
      uint64_t* const own = bits(share);
      const uint64_t* const later = bits(share + 1);
      for (int64_t i = first; i < last; ++i) {
        met |= own[i] & later[i];
        own[i] |= later[i];
      }
    }
    return met != 0;
  }

 private:
  static constexpr int64_t kApart = 8;  // words: a cache line for each share
  int64_t words_;
  int64_t count_;
  uint64_t* first_;
  uint64_t* memory_;
};

// The points are marked in shares, each from its last point to its first, round after round. So the points that meet no
// mark are the last ones of their targets within the share.
struct MarkWork {
  const Kernels* kernels;
  const Job* job;
  const Bitmaps* bitmaps;
  uint32_t* flat;
  Address first;  // of slot 0
  int64_t share;  // points of a share; the last ones may have fewer
  int64_t begin;  // of a round, counted from the first point of each share
  int64_t end;
  std::atomic<bool> bad = false;
  std::atomic<bool> shares_meet = false;
};

bool mark_share(void* context, int64_t share) {
  auto& work = *static_cast<MarkWork*>(context);
  if (work.end == work.share) work.bitmaps->clear(share);
  Job job = *work.job;
  job.to.marks = {work.bitmaps->bits(share), work.first, work.bitmaps->met(share), work.flat};
  const int64_t first = share * work.share + work.begin;
  const int64_t last = std::min(share * work.share + work.end, job.count);
  if (first >= last || work.kernels->run(job, first, last)) return true;
  work.bad.store(true, std::memory_order_relaxed);
  return false;
}

bool join_chunk(void* context, int64_t chunk) {
  auto& work = *static_cast<MarkWork*>(context);
  const int64_t first = chunk * kJoinedWords;
  const int64_t last = std::min(first + kJoinedWords, work.bitmaps->words());
  if (work.bitmaps->add_later(first, last)) work.shares_meet.store(true, std::memory_order_relaxed);
  return true;
}

// Drops points whose targets later shares have marked; without a branch, which would be unpredictable.
bool drop_chunk(void* context, int64_t chunk) {
  const auto& work = *static_cast<MarkWork*>(context);
  const int64_t share = chunk / kChunksPerThread;
  const int64_t step = (work.share + kChunksPerThread - 1) / kChunksPerThread;
  const int64_t first = share * work.share + chunk % kChunksPerThread * step;
  const int64_t last = std::min({first + step, (share + 1) * work.share, work.job->count});
  const uint64_t* const later = work.bitmaps->bits(share + 1);
  for (int64_t i = first; i < last; ++i) {
    const uint32_t slot = work.flat[i] == kNowhereSlot ? 0 : work.flat[i];
    work.flat[i] |= 0 - static_cast<uint32_t>(later[slot / 64] >> (slot % 64) & 1);
  }
  return true;
}

struct CopyWork {
  const Kernels* kernels;
  const Job* job;
  int64_t count;
  int64_t step;  // slots of a work chunk
};

bool copy_chunk(void* context, int64_t chunk) {
  const auto& work = *static_cast<CopyWork*>(context);
  const int64_t first = chunk * work.step;
  return work.kernels->run(*work.job, first, std::min(first + work.step, work.count));
}

// Copies the slots that are not marked.
Outcome copy_slots(const Kernels& kernels, const Tuning& tuning, const Buffers& buffers, int64_t unit, int64_t slots,
                   const TargetMarks& marks, const RunOptions& options) {
  if (slots == 0) return Outcome::done;
  trace(marks.bits == nullptr ? "copy of the base" : "copy of unmarked targets");
  Job job = {};
  job.unit = unit;
  job.to.base = buffers.base;
  job.to.marks = marks;
  job.stream = slots * unit >= tuning.stream_bytes;
  CopyWork work{&kernels, &job, slots, std::max(kMaxChunkBytes / unit / 64, int64_t{1}) * 64};
  work.step = std::max(work.step, (slots >> 31) + 1);
  host::InterruptPoller poller(options.interrupted);
  const host::Task task{(slots + work.step - 1) / work.step, copy_chunk, &work, &poller};
  return host::run_task(options.threads, task) ? Outcome::done : Outcome::interrupted;
}

// How many threads mark, each in a bitmap of its own: bitmaps are cleared and joined, which must cost little.
int mark_shares(int64_t points, int64_t slots, int threads) {
  const int64_t most = points / std::max<int64_t>(static_cast<int64_t>(bitmap_bytes(slots)) / kMarkBytes, 1);
  return static_cast<int>(std::clamp<int64_t>(most, 1, threads));
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

Outcome MarkedTargets::mark(const Kernels& kernels, const Tuning& tuning, const Plan& plan, const Buffers& buffers,
                            const RunOptions& options, KeepTargets keep) {
  if (keep == KeepTargets::yes)
    flat_ = static_cast<uint32_t*>(host::allocate(static_cast<std::size_t>(points_) * sizeof(uint32_t)));
  const Plan slots = slot_plan(plan);
  Prepared prepared;
  prepare(slots, buffers, Direction::scatter, tuning, prepared);
  Job& job = prepared.job;
  job.step = JobStep::mark;
  job.stream = false;
  job.form = form_of_scatter(slots, job, {.owns_all = false});
  trace(keep == KeepTargets::yes ? "marks" : "marks of duplicates");
  const int shares = mark_shares(points_, slots_, options.threads);
  const Bitmaps bitmaps(marks_.bits, slots_, shares);
  MarkWork work{&kernels, &job, &bitmaps, flat_, 0, (points_ + shares - 1) / shares, 0, 0};
  work.first = reinterpret_cast<Address>(job.indexed) + static_cast<Address>(indexed_span(slots).low);
  const int64_t round = std::max<int64_t>(tuning.round_points / shares, 1);
  host::InterruptPoller poller(options.interrupted);
  for (work.end = work.share; work.end > 0; work.end = work.begin) {
    work.begin = std::max<int64_t>(work.end - round, 0);
    host::run_task(shares, {shares, mark_share, &work});
    if (work.bad.load()) return Outcome::bad_index;
    if (work.begin > 0 && !poller.proceed(work.share - work.begin, work.share)) return Outcome::interrupted;
  }
  host::run_task(shares, {(bitmaps.words() + kJoinedWords - 1) / kJoinedWords, join_chunk, &work});
  repeats_ = work.shares_meet.load() || bitmaps.any_met();
  if (work.shares_meet.load() && flat_ != nullptr) {
    host::run_task(shares, {(shares - 1) * kChunksPerThread, drop_chunk, &work});
  }
  return Outcome::done;
}

Plan MarkedTargets::plan_of(const Plan& plan) const {
  Plan moved = plan;
  const bool drops = plan.masked || plan.rule.fills() || repeats_;
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

Outcome MarkedTargets::copy_others(const Kernels& kernels, const Tuning& tuning, const Plan& plan,
                                   const Buffers& buffers, const RunOptions& options) const {
  return copy_slots(kernels, tuning, buffers, plan.unit, slots_, marks_, options);
}

std::optional<Duplicate> first_duplicate_with(const Kernels& kernels, const Tuning& tuning, const Plan& plan,
                                              const Buffers& buffers, const RunOptions& options) {
  const int64_t count = plan.space.count();
  const bool pays = plan.unit > 0 && count >= tuning.min_chunk_points && !plan.is_one_to_one() && !tuning.general &&
                    plan.rule.bounds != Bounds::unchecked && units_are_slots(plan) && slots_of(plan) < kNowhereSlot &&
                    slots_of(plan) / kSparseMarks <= count;
  if (pays) {
    MarkedTargets marked(plan, buffers.indexed);
    RunOptions shared = options;
    shared.threads = cut(plan, tuning, options.threads).threads;
    const Outcome outcome = marked.mark(kernels, tuning, plan, buffers, shared, KeepTargets::no);
    if (outcome == Outcome::interrupted || (outcome == Outcome::done && !marked.has_repeats())) return std::nullopt;
  }
  return first_duplicate(plan, buffers, options.interrupted);
}

Outcome copy_base(const Kernels& kernels, const Tuning& tuning, const Buffers& buffers, const RunOptions& options) {
  const TargetMarks none{nullptr, reinterpret_cast<Address>(buffers.indexed)};
  return copy_slots(kernels, tuning, buffers, 1, buffers.base_bytes, none, options);
}

}  // namespace gs::cpu

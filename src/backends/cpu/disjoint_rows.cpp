// disjoint_rows.cpp: scatters units as if there were no duplicates, and finds out whether there were.
// Each thread marks targets in a bitmap of its own, because a shared one would need atomic operations. A target with
// duplicates is marked twice in one bitmap, or in two bitmaps.
#include "backends/cpu/disjoint_rows.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <vector>

#include "host/memory_pool.h"
#include "host/thread_pool.h"

namespace gs::cpu {
namespace {

constexpr int64_t kLineWords = 8;

// Whether all units begin at multiples of their length from the first one on, so that two units either coincide or do
// not overlap.
bool has_slots(const Plan& plan) {
  const auto fits = [&](int64_t stride) { return stride % plan.unit == 0; };
  for (int axis = 0; axis < plan.space.rank(); ++axis) {
    if (!fits(plan.space.stride(kIndexed, axis))) return false;
  }
  if (plan.fold.empty())
    return std::all_of(plan.index.begin(), plan.index.end(), [&](const IndexArray& index) { return fits(index.step); });
  return std::all_of(plan.fold.begin(), plan.fold.end(), [&](const FoldAxis& fold) { return fits(fold.stride); });
}

class Bitmaps {
 public:
  Bitmaps(int count, int64_t slots)
      : words_((slots / 64 / kLineWords + 1) * kLineWords),
        data_(static_cast<uint64_t*>(host::allocate(static_cast<std::size_t>(bytes(count, slots))))) {
    for (int map = count; map-- > 0;) free_.push_back(map);
  }
  Bitmaps(const Bitmaps&) = delete;
  Bitmaps& operator=(const Bitmaps&) = delete;
  ~Bitmaps() { host::release(data_); }

  // Every bitmap has one more cache line, for the word that records whether a bit was marked twice.
  static int64_t bytes(int count, int64_t slots) { return count * (slots / 64 / kLineWords + 2) * kLineWords * 8; }

  uint64_t* take() {
    const std::lock_guard<std::mutex> only(busy_);
    const int map = free_.back();
    free_.pop_back();
    for (; used_ <= map; ++used_) std::memset(begin(used_), 0, static_cast<std::size_t>(words_ + kLineWords) * 8);
    return begin(map);
  }
  void give_back(const uint64_t* bits) {
    const std::lock_guard<std::mutex> only(busy_);
    free_.push_back(static_cast<int>((bits - data_) / (words_ + kLineWords)));
  }
  uint64_t* met(uint64_t* bits) const { return bits + words_; }

  // Unites all bitmaps in the first one; false if two of them have a bit in common.
  bool unite() {
    uint64_t twice = 0;
    for (int64_t word = 0; word < words_; ++word) {
      uint64_t once = begin(0)[word];
      for (int map = 1; map < used_; ++map) {
        twice |= once & begin(map)[word];
        once |= begin(map)[word];
      }
      begin(0)[word] = once;
    }
    return twice == 0;
  }
  uint64_t* united() const { return begin(0); }

 private:
  uint64_t* begin(int map) const { return data_ + map * (words_ + kLineWords); }

  int64_t words_;
  uint64_t* data_;
  std::mutex busy_;
  std::vector<int> free_;
  int used_ = 0;
};

struct DisjointWork {
  Run run;
  const Job* job;
  int64_t count;
  int64_t step;  // points of a work chunk
  Bitmaps* maps;
  std::atomic<bool> bad = false;
  std::atomic<bool> met = false;
};

bool copy_chunk(void* context, int64_t chunk) {
  const auto& work = *static_cast<DisjointWork*>(context);
  const int64_t first = chunk * work.step;
  return work.run(*work.job, first, std::min(first + work.step, work.count));
}

// Writes units as if there were no duplicates, and marks their targets. Two threads may store to one target at the same
// time: .ci/tsan-suppressions names this function and gives the reason why that is safe.
bool write_apart(void* context, int64_t chunk) {
  auto& work = *static_cast<DisjointWork*>(context);
  const int64_t first = chunk * work.step;
  const int64_t last = std::min(first + work.step, work.count);
  Job job = *work.job;
  job.marks.bits = work.maps->take();
  job.marks.met = work.maps->met(job.marks.bits);
  bool good = true;
  bool met = false;
  for (int64_t at = first; at < last && good && !met; at += kApartPoints) {
    good = work.run(job, at, std::min(at + kApartPoints, last));
    met = *job.marks.met != 0;
  }
  work.maps->give_back(job.marks.bits);
  if (!good) work.bad.store(true, std::memory_order_relaxed);
  if (met) work.met.store(true, std::memory_order_relaxed);
  return good && !met;
}

bool run_all(DisjointWork& work, int threads, host::InterruptPoller& poller) {
  const auto run = work.maps == nullptr ? copy_chunk : write_apart;
  return host::run_task(threads, {(work.count + work.step - 1) / work.step, run, &work, &poller});
}

// Copies the slots that are not marked in `job.marks` from `job.base`.
Outcome copy_rest(Run run, const Job& job, int64_t slots, const RunOptions& options) {
  if (slots == 0) return Outcome::done;
  DisjointWork work{run, &job, slots, std::max(kMaxChunkBytes / job.unit / 64, int64_t{1}) * 64, nullptr};
  work.step = std::max(work.step, (slots >> 31) + 1);
  host::InterruptPoller poller(options.interrupted);
  return run_all(work, options.threads, poller) ? Outcome::done : Outcome::interrupted;
}

}  // namespace

DisjointRows scatter_apart(Run run, const Tuning& tuning, const Plan& plan, const Buffers& buffers,
                           const RunOptions& options) {
  if (plan.unit <= kMaxElement || tuning.general || plan.rule.bounds == Bounds::unchecked || !has_slots(plan))
    return {};
  const Span span = indexed_span(plan);
  const int64_t slots = (span.high - span.low) / plan.unit;
  const Cut shares = cut(plan, tuning, options.threads);
  if (shares.pieces > 1) return {};
  if (Bitmaps::bytes(shares.threads, slots) * tuning.bitmap_share > plan.bytes_moved()) return {};

  Prepared prepared;
  prepare(plan, buffers, Direction::scatter, tuning, prepared);
  Job& job = prepared.job;
  job.marks.first = reinterpret_cast<Address>(buffers.indexed) + static_cast<Address>(span.low);
  // Other jobs prefetch their targets, so that the memory is not idle while a block is placed.
  if (job.stream && job.whole_lines) job.block = kApartBlock;
  Bitmaps maps(shares.threads, slots);
  DisjointWork work{run, &job, plan.space.count(), shares.points, &maps};
  host::InterruptPoller poller(options.interrupted);
  const bool done = run_all(work, shares.threads, poller);
  if (poller.stopped()) return {Outcome::interrupted, false};
  if (work.bad.load()) return {Outcome::bad_index, false};
  if (work.met.load()) return {};
  if (!done) return {Outcome::interrupted, false};
  if (!maps.unite()) return {};
  if (buffers.base == nullptr) return {Outcome::done, true};
  job.base = buffers.base;
  job.marks.bits = maps.united();
  return {copy_rest(run, job, slots, options), true};
}

Outcome copy_base(Run run, const Tuning& tuning, const Buffers& buffers, const RunOptions& options) {
  Job job = {};
  job.unit = 1;
  job.base = buffers.base;
  job.marks.first = reinterpret_cast<Address>(buffers.indexed);
  job.stream = buffers.base_bytes >= tuning.stream_bytes;
  return copy_rest(run, job, buffers.base_bytes, options);
}

}  // namespace gs::cpu

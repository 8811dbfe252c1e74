// bucket_counts.h: one pass of a stable counting sort: chunks of items count their items by bucket, then each item goes
// to the place behind those that precede it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "backends/backend.h"
#include "host/thread_pool.h"

namespace gs {

// Chunks of items, which threads share. Ctrl-C is polled between any two.
struct Chunks {
  int64_t items = 0;
  int64_t length = 1;
  int64_t count() const { return (items + length - 1) / length; }
  int64_t begin(int64_t chunk) const { return chunk * length; }
  int64_t end(int64_t chunk) const { return std::min(items, (chunk + 1) * length); }
};

// Runs work(chunk) for each chunk on the threads of a call. `bad_index`: one has returned false, and those that had not
// begun were dropped. `work` may throw std::bad_alloc.
template <class Work>
Outcome for_each_chunk(int64_t chunks, const RunOptions& options, const Work& work) {
  if (chunks == 0) return Outcome::done;
  host::InterruptPoller poller(options.interrupted);
  host::Task task;
  task.chunks = chunks;
  task.context = const_cast<Work*>(&work);
  task.run = [](void* context, int64_t chunk) { return (*static_cast<const Work*>(context))(chunk); };
  task.poller = &poller;
  if (host::run_task(options.threads, task)) return Outcome::done;
  return poller.stopped() ? Outcome::interrupted : Outcome::bad_index;
}

// The number of items of each chunk in each bucket, then the places of these items.
class BucketCounts {
 public:
  BucketCounts(int64_t chunks, int64_t buckets)
      : chunks_(chunks), buckets_(buckets), counts_(static_cast<size_t>(chunks * buckets), 0) {}

  int64_t* of(int64_t chunk) { return counts_.data() + chunk * buckets_; }

  // Replaces each number by the place of the first of these items: the buckets lie behind each other, from `first` on,
  // each with the items of one chunk after the other. Calls begin(bucket, place) for each bucket.
  template <class Begin>
  void to_places(int64_t first, Begin begin) {
    int64_t place = first;
    for (int64_t bucket = 0; bucket < buckets_; ++bucket) {
      begin(bucket, place);
      for (int64_t chunk = 0; chunk < chunks_; ++chunk) {
        int64_t& count = counts_[static_cast<size_t>(chunk * buckets_ + bucket)];
        const int64_t items = count;
        count = place;
        place += items;
      }
    }
  }

 private:
  int64_t chunks_, buckets_;
  std::vector<int64_t> counts_;
};

}  // namespace gs

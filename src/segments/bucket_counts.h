// bucket_counts.h: one pass of a stable counting sort: chunks of items count their items by bucket, then each item goes
// to the place behind those that precede it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "backends/backend.h"

namespace gs {

// Chunks of n items, which threads share.
struct Chunks {
  int64_t items = 0;
  int64_t length = 1;
  int64_t count() const { return (items + length - 1) / length; }
  int64_t begin(int64_t chunk) const { return chunk * length; }
  int64_t end(int64_t chunk) const { return std::min(items, (chunk + 1) * length); }
};

// Runs work(i) for each i in [0, count) on the threads of a call.
template <class Work>
Outcome for_each(const HostBackend& backend, int64_t count, int64_t least, const RunOptions& options,
                 const Work& work) {
  ParallelWork all;
  all.count = count;
  all.least = least;
  all.context = const_cast<Work*>(&work);
  all.run = [](void* context, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) (*static_cast<const Work*>(context))(i);
  };
  return backend.parallel_for(all, options);
}

// The number of items of each chunk in each bucket, then the places of these items.
class BucketCounts {
 public:
  BucketCounts(int64_t chunks, int64_t buckets)
      : chunks_(chunks), buckets_(buckets), counts_(static_cast<size_t>(chunks * buckets), 0) {}

  int64_t* of(int64_t chunk) { return counts_.data() + chunk * buckets_; }

  // Replaces each number by the place of the first of these items, if the items of all buckets from the first on lie
  // behind each other, from `first` on. Calls begin(bucket, place) for each bucket. Returns the place after the last.
  template <class Begin>
  int64_t to_places(int64_t first, Begin begin) {
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
    return place;
  }

 private:
  int64_t chunks_, buckets_;
  std::vector<int64_t> counts_;
};

}  // namespace gs

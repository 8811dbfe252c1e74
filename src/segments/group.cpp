// group.cpp: reads the groups of all points, then sorts the points by a counting sort: in one pass, or first by buckets
// of groups, so that what a pass writes to lies in near caches.
#include "segments/group.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>
#include <type_traits>
#include <vector>

#include "core/checked.h"
#include "core/error.h"
#include "host/progress.h"
#include "segments/read_ids.h"

namespace gs {
namespace {

constexpr int64_t kBlock = 4096;          // points that are counted while their groups lie in the nearest cache
constexpr int64_t kChunksOfThread = 4;    // more even threads out
constexpr int64_t kPointsPerCounter = 4;  // a chunk has so many points for each counter that it clears
constexpr int64_t kPointsPerLine = 16;    // of each bucket: with fewer, few lines are whole

// What `read` has seen of a chunk.
struct ChunkFacts {
  uint64_t first = 0, last = 0;
  bool in_order = true;
};

// A point, and its group within a bucket.
struct WideRecord {
  uint64_t group, point;
};
// The same in 8 bytes, as kernels write them.
struct ShortRecord {
  uint64_t bits;
};
uint64_t group_of(const WideRecord& record) {
  return record.group;
}
uint64_t group_of(const ShortRecord& record) {
  return record.bits >> 32;
}
int64_t point_of(const WideRecord& record) {
  return static_cast<int64_t>(record.point);
}
int64_t point_of(const ShortRecord& record) {
  return static_cast<int64_t>(record.bits & 0xFFFFFFFF);
}

std::byte* aligned_to_line(std::byte* memory) {
  return memory + (0 - reinterpret_cast<uintptr_t>(memory)) % 64;
}

}  // namespace

Grouping::Grouping(const Plan& plan, const GroupLimits& limits)
    : plan_(plan),
      limits_(limits),
      points_(plan.index_space.count()),
      groups_(plan.index[0].extent),
      key_bytes_(groups_ <= std::numeric_limits<uint16_t>::max()   ? 2
                 : groups_ <= std::numeric_limits<uint32_t>::max() ? 4
                                                                   : 8),
      kernels_(group_kernels(key_bytes_)) {
  if (groups_ > limits.direct_groups) {
    const auto each = static_cast<uint64_t>((groups_ - 1) / limits.buckets + 1);
    shift_ = static_cast<int>(std::bit_width(each - 1));
  }
}

template <class Visitor>
decltype(auto) Grouping::with_key(Visitor&& visitor) {
  if (key_bytes_ == 2) return visitor.template operator()<uint16_t>();
  if (key_bytes_ == 4) return visitor.template operator()<uint32_t>();
  return visitor.template operator()<uint64_t>();
}

Chunks Grouping::chunks_of(int64_t items, int64_t counters, const RunOptions& options) const {
  const int64_t even = items / (options.threads * kChunksOfThread) + 1;
  const int64_t least = std::max(limits_.least_chunk, counters * kPointsPerCounter);
  return {items, std::max(std::min(even, limits_.most_chunk), least)};
}

Outcome Grouping::read(const Buffers& buffers, const RunOptions& options) {
  keys_ = host::Scratch<std::byte>(checked_mul(points_, key_bytes_));
  return with_key([&]<class Key>() { return read_as<Key>(buffers, options); });
}

template <class Key>
Outcome Grouping::read_as(const Buffers& buffers, const RunOptions& options) {
  chunks_ = chunks_of(points_, buckets(), options);
  BucketCounts& counts = counts_.emplace(chunks_.count(), buckets() + 1);  // the last one: points that are left out
  auto* const keys = reinterpret_cast<Key*>(keys_.get());
  std::vector<ChunkFacts> facts(static_cast<size_t>(chunks_.count()));
  const Outcome outcome = for_each_chunk(chunks_.count(), options, [&](int64_t chunk) {
    ChunkFacts& seen = facts[static_cast<size_t>(chunk)];
    const int64_t begin = chunks_.begin(chunk), end = chunks_.end(chunk);
    for (int64_t first = begin; first < end; first += kBlock) {
      const int64_t n = std::min(kBlock, end - first);
      auto* const block = reinterpret_cast<std::byte*>(keys + first);
      if (!read_ids(kernels_, key_bytes_, plan_, buffers, first, first + n, block)) return false;
      const bool rises = kernels_.count(block, n, shift_, buckets(), counts.of(chunk));
      seen.in_order &= rises && (first == begin || keys[first - 1] <= keys[first]);
    }
    seen.first = keys[begin];
    seen.last = keys[end - 1];
    return true;
  });
  if (outcome != Outcome::done) return outcome;
  in_order_ = true;
  kept_ = points_;
  for (size_t chunk = 0; chunk < facts.size(); ++chunk) {
    in_order_ &= facts[chunk].in_order && (chunk == 0 || facts[chunk - 1].last <= facts[chunk].first);
    kept_ -= counts.of(static_cast<int64_t>(chunk))[buckets()];
  }
  return Outcome::done;
}

Outcome Grouping::sort(int64_t* order, int64_t* offsets, const RunOptions& options) {
  return with_key([&]<class Key>() {
    if (in_order_) return find_offsets<Key>(offsets, options);
    if (shift_ == 0) return sort_directly(order, offsets, options);
    if (points_ <= limits_.short_points && int64_t{1} << shift_ <= limits_.short_points) {
      return sort_by_buckets<Key, ShortRecord>(order, offsets, options);
    }
    return sort_by_buckets<Key, WideRecord>(order, offsets, options);
  });
}

// Merges the groups with the keys: the offset of a group is the number of lower keys. A chunk is a piece of the merged
// sequence, so that neither long groups nor long gaps make one of them longer.
template <class Key>
Outcome Grouping::find_offsets(int64_t* offsets, const RunOptions& options) {
  const auto* const keys = reinterpret_cast<const Key*>(keys_.get());
  const Chunks chunks = chunks_of(groups_ + 1 + kept_, 0, options);
  return for_each_chunk(chunks.count(), options, [&](int64_t chunk) {
    int64_t at = chunks.begin(chunk);
    // Of the items before the chunk as many are keys as follow their groups: keys[i] is item keys[i] + 1 + i.
    int64_t low = 0, high = std::min(at, kept_);
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (static_cast<int64_t>(keys[middle]) + 1 + middle < at) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    int64_t point = low, group = at - low;
    for (; at < chunks.end(chunk); ++at) {
      if (point < kept_ && static_cast<int64_t>(keys[point]) < group) {
        ++point;
      } else {
        offsets[group++] = point;
      }
    }
    return true;
  });
}

template <class Place>
Outcome Grouping::place_chunks(const void* target, const RunOptions& options, Place place) {
  const bool by_lines = chunks_.length >= buckets() * kPointsPerLine &&
                        kept_ * int64_t{sizeof(int64_t)} > limits_.near_bytes &&
                        reinterpret_cast<uintptr_t>(target) % 64 == 0;
  return for_each_chunk(chunks_.count(), options, [&](int64_t chunk) {
    PlacedPoints points{keys_.get(), chunks_.begin(chunk), chunks_.end(chunk), shift_, buckets(), counts_->of(chunk),
                        nullptr};
    if (!by_lines) {
      place(points);
    } else {
      const host::Scratch<std::byte> memory(line_bytes(buckets()) + 64);
      points.lines = aligned_to_line(memory.get());
      place(points);
    }
    return true;
  });
}

Outcome Grouping::sort_directly(int64_t* order, int64_t* offsets, const RunOptions& options) {
  // The points that are left out begin behind the last group.
  counts_->to_places(0, [&](int64_t group, int64_t place) { offsets[group] = place; });
  return place_chunks(order, options, [&](const PlacedPoints& points) { kernels_.place_points(points, order); });
}

template <class Key, class Record>
Outcome Grouping::sort_by_buckets(int64_t* order, int64_t* offsets, const RunOptions& options) {
  const int64_t each = int64_t{1} << shift_;
  const host::Scratch<Record> memory(kept_);
  Record* const records = memory.get();
  std::vector<int64_t> start(static_cast<size_t>(buckets()) + 1);
  counts_->to_places(0, [&](int64_t bucket, int64_t place) { start[static_cast<size_t>(bucket)] = place; });
  const auto begin_of = [&](int64_t bucket) { return start[static_cast<size_t>(bucket)]; };
  // A bucket of many points is shared: the other threads would be without work, and Ctrl-C would wait.
  const int64_t many = std::clamp(kept_ / (2 * options.threads), 2 * limits_.least_chunk,
                                  std::max(limits_.most_chunk, 2 * limits_.least_chunk));
  const auto is_shared = [&](int64_t bucket) { return begin_of(bucket + 1) - begin_of(bucket) > many; };
  int64_t shared = 0;
  for (int64_t bucket = 0; bucket < buckets(); ++bucket) shared += is_shared(bucket);
  host::ProgressParts parts(2 + 2 * shared);

  Outcome outcome = place_chunks(records, options, [&](const PlacedPoints& points) {
    if constexpr (std::is_same_v<Record, ShortRecord>) {
      kernels_.place_records(points, &records->bits);
    } else {
      const auto* const keys = reinterpret_cast<const Key*>(keys_.get());
      for (int64_t i = points.first; i < points.last; ++i) {
        if (keys[i] == kNoGroup<Key>) continue;
        const auto key = static_cast<uint64_t>(keys[i]);
        records[points.place[key >> shift_]++] = {key & static_cast<uint64_t>(each - 1), static_cast<uint64_t>(i)};
      }
    }
  });
  if (outcome != Outcome::done) return outcome;
  keys_ = {};

  offsets[groups_] = kept_;
  const auto groups_in = [&](int64_t bucket) { return std::min(each, groups_ - (bucket << shift_)); };
  for (int64_t bucket = 0; bucket < buckets(); ++bucket) {
    if (!is_shared(bucket)) continue;
    parts.next();
    outcome = sort_bucket_with_all(records, begin_of(bucket), begin_of(bucket + 1), groups_in(bucket), order,
                                   offsets + (bucket << shift_), options);
    if (outcome != Outcome::done) return outcome;
    parts.next();
  }
  parts.next();
  const Chunks chunks{buckets(), std::max<int64_t>(limits_.least_chunk * buckets() / (kept_ + groups_), 1)};
  return for_each_chunk(chunks.count(), options, [&](int64_t chunk) {
    for (int64_t bucket = chunks.begin(chunk); bucket < chunks.end(chunk); ++bucket) {
      if (is_shared(bucket)) continue;
      const int64_t begin = begin_of(bucket), end = begin_of(bucket + 1);
      const int64_t groups = groups_in(bucket);
      int64_t* const place = offsets + (bucket << shift_);  // first the counts, then the places, then the offsets
      std::fill(place, place + groups, 0);
      for (int64_t i = begin; i < end; ++i) ++place[group_of(records[i])];
      int64_t at = begin;
      for (int64_t group = 0; group < groups; ++group) {
        const int64_t count = place[group];
        place[group] = at;
        at += count;
      }
      for (int64_t i = begin; i < end; ++i) order[place[group_of(records[i])]++] = point_of(records[i]);
      // Each place has moved on to that of the next group.
      for (int64_t group = groups - 1; group > 0; --group) place[group] = place[group - 1];
      place[0] = begin;
    }
    return true;
  });
}

template <class Record>
Outcome Grouping::sort_bucket_with_all(const Record* records, int64_t begin, int64_t end, int64_t groups,
                                       int64_t* order, int64_t* offsets, const RunOptions& options) {
  const Chunks chunks = chunks_of(end - begin, groups, options);
  BucketCounts counts(chunks.count(), groups);
  const Outcome outcome = for_each_chunk(chunks.count(), options, [&](int64_t chunk) {
    int64_t* const count = counts.of(chunk);
    for (int64_t i = chunks.begin(chunk); i < chunks.end(chunk); ++i) ++count[group_of(records[begin + i])];
    return true;
  });
  if (outcome != Outcome::done) return outcome;
  counts.to_places(begin, [&](int64_t group, int64_t place) { offsets[group] = place; });
  return for_each_chunk(chunks.count(), options, [&](int64_t chunk) {
    int64_t* const place = counts.of(chunk);
    for (int64_t i = chunks.begin(chunk); i < chunks.end(chunk); ++i) {
      order[place[group_of(records[begin + i])]++] = point_of(records[begin + i]);
    }
    return true;
  });
}

Outcome find_groups(const Plan& plan, const Buffers& buffers, const RunOptions& options, int64_t& groups) {
  const Chunks chunks{plan.index_space.count(), GroupLimits{}.least_chunk};
  std::atomic<int64_t> largest = -1;
  const Outcome outcome = for_each_chunk(chunks.count(), options, [&](int64_t chunk) {
    const int64_t found = largest_id(plan, buffers, chunks.begin(chunk), chunks.end(chunk));
    int64_t known = largest.load(std::memory_order_relaxed);
    while (found > known && !largest.compare_exchange_weak(known, found, std::memory_order_relaxed)) {
    }
    return true;
  });
  if (outcome != Outcome::done) return outcome;
  if (largest.load() == std::numeric_limits<int64_t>::max()) {
    throw ShapeError("the largest id has no group: as many as 2**63 would be needed");
  }
  groups = largest.load() + 1;
  return Outcome::done;
}

}  // namespace gs

// group.cpp: reads the groups of all points, then sorts the points by a counting sort: in one pass, or first by buckets
// of groups, so that what a pass writes to lies in near caches.
#include "segments/group.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>
#include <type_traits>

#include "core/error.h"
#include "host/memory_pool.h"
#include "host/progress.h"
#include "segments/read_ids.h"

namespace gs {
namespace {

constexpr int64_t kBlock = 4096;          // points that are counted while their groups lie in the nearest cache
constexpr int64_t kChunksPerThread = 4;   // more even threads out
constexpr int64_t kPointsPerLine = 16;    // of each bucket: with fewer, few lines are whole
constexpr int64_t kNearBytes = 1 << 20;   // lines of a result beyond it are written once, past the caches
constexpr int64_t kPointsPerCounter = 4;  // a chunk has so many points for each counter that it clears

bool is_aligned(const void* target) {
  return reinterpret_cast<uintptr_t>(target) % 64 == 0;
}

class RecordMemory {
 public:
  explicit RecordMemory(int64_t bytes) : data_(host::allocate(static_cast<std::size_t>(bytes))) {}
  RecordMemory(const RecordMemory&) = delete;
  RecordMemory& operator=(const RecordMemory&) = delete;
  ~RecordMemory() { host::release(data_); }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_;
};

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

}  // namespace

Grouping::Grouping(const HostBackend& backend, const Plan& plan, const GroupLimits& limits)
    : backend_(backend),
      plan_(plan),
      limits_(limits),
      points_(plan.index_space.count()),
      groups_(plan.index[0].extent),
      key_bytes_(groups_ <= std::numeric_limits<uint16_t>::max()   ? 2
                 : groups_ <= std::numeric_limits<uint32_t>::max() ? 4
                                                                   : 8),
      kernels_(group_kernels(key_bytes_)) {
  if (groups_ > limits.direct_groups) {
    const auto each = static_cast<uint64_t>((groups_ + limits.buckets - 1) / limits.buckets);
    shift_ = static_cast<int>(std::bit_width(each - 1));
  }
}

Grouping::~Grouping() {
  host::release(keys_);
}

template <class Visitor>
decltype(auto) Grouping::with_key(Visitor&& visitor) {
  if (key_bytes_ == 2) return visitor.template operator()<uint16_t>();
  if (key_bytes_ == 4) return visitor.template operator()<uint32_t>();
  return visitor.template operator()<uint64_t>();
}

Chunks Grouping::chunks_of(int64_t items, int64_t buckets, const RunOptions& options) const {
  const int64_t even = items / (options.threads * kChunksPerThread) + 1;
  const int64_t least = std::max(limits_.least_chunk, buckets * kPointsPerCounter);
  return {items, std::max(std::min(even, limits_.most_chunk), least)};
}

Outcome Grouping::read(const Buffers& buffers, const RunOptions& options) {
  keys_ = static_cast<std::byte*>(host::allocate(static_cast<std::size_t>(points_ * key_bytes_)));
  return with_key([&]<class Key>() { return read_as<Key>(buffers, options); });
}

template <class Key>
Outcome Grouping::read_as(const Buffers& buffers, const RunOptions& options) {
  const int64_t buckets = groups_ == 0 ? 0 : ((groups_ - 1) >> shift_) + 1;
  chunks_ = chunks_of(points_, buckets, options);
  // The last column counts points that are left out.
  BucketCounts& counts = counts_.emplace_back(chunks_.count(), buckets + 1);
  auto* const keys = reinterpret_cast<Key*>(keys_);
  std::vector<ChunkFacts> facts(static_cast<size_t>(chunks_.count()));
  std::atomic<bool> is_bad = false;
  const Outcome outcome = for_each(backend_, chunks_.count(), 1, options, [&](int64_t chunk) {
    ChunkFacts& seen = facts[static_cast<size_t>(chunk)];
    int64_t* const count = counts.of(chunk);
    const int64_t begin = chunks_.begin(chunk), end = chunks_.end(chunk);
    for (int64_t first = begin; first < end; first += kBlock) {
      if (is_bad.load(std::memory_order_relaxed)) return;
      const int64_t n = std::min(kBlock, end - first);
      auto* const block = reinterpret_cast<std::byte*>(keys + first);
      if (!read_ids(kernels_, key_bytes_, plan_, buffers, first, first + n, block)) {
        return is_bad.store(true, std::memory_order_relaxed);
      }
      const bool rises = kernels_.count(block, n, shift_, buckets, count);
      seen.in_order &= rises && (first == begin || keys[first - 1] <= keys[first]);
    }
    seen.first = keys[begin];
    seen.last = keys[end - 1];
  });
  if (is_bad.load()) return Outcome::bad_index;
  if (outcome != Outcome::done) return outcome;
  in_order_ = true;
  kept_ = points_;
  for (size_t chunk = 0; chunk < facts.size(); ++chunk) {
    in_order_ &= facts[chunk].in_order && (chunk == 0 || facts[chunk - 1].last <= facts[chunk].first);
    kept_ -= counts.of(static_cast<int64_t>(chunk))[buckets];
  }
  return Outcome::done;
}

Outcome Grouping::sort(int64_t* order, int64_t* offsets, const RunOptions& options) {
  return with_key([&]<class Key>() {
    if (in_order_) return write_in_order<Key>(order, offsets, options);
    if (shift_ == 0) return sort_directly(order, offsets, options);
    if (points_ <= limits_.short_points && int64_t{1} << shift_ <= limits_.short_points) {
      return sort_by_buckets<Key, ShortRecord>(order, offsets, options);
    }
    return sort_by_buckets<Key, WideRecord>(order, offsets, options);
  });
}

template <class Key>
Outcome Grouping::write_in_order(int64_t* order, int64_t* offsets, const RunOptions& options) {
  const auto* const keys = reinterpret_cast<const Key*>(keys_);
  const Chunks chunks{kept_, chunks_.length};
  if (kept_ == 0) std::fill(offsets, offsets + groups_ + 1, 0);
  return for_each(backend_, chunks.count(), 1, options, [&](int64_t chunk) {
    const int64_t begin = chunks.begin(chunk), end = chunks.end(chunk);
    // The group of the point before; each group up to the next one begins at the next point.
    int64_t before = begin == 0 ? -1 : static_cast<int64_t>(keys[begin - 1]);
    for (int64_t i = begin; i < end; ++i) {
      const auto group = static_cast<int64_t>(keys[i]);
      while (before < group) offsets[++before] = i;
    }
    if (end == kept_) std::fill(offsets + before + 1, offsets + groups_ + 1, kept_);
    for (int64_t i = begin; order != nullptr && i < end; ++i) order[i] = i;
  });
}

PlacedPoints Grouping::points_of(int64_t chunk, int64_t buckets, std::byte* lines) {
  return {keys_, chunks_.begin(chunk), chunks_.end(chunk), shift_, buckets, counts_.front().of(chunk), lines};
}

template <class Place>
Outcome Grouping::place_chunks(int64_t buckets, const void* target, const RunOptions& options, Place place) {
  const bool by_lines = chunks_.length >= buckets * kPointsPerLine && kept_ * 8 > kNearBytes && is_aligned(target);
  return for_each(backend_, chunks_.count(), 1, options, [&](int64_t chunk) {
    if (!by_lines) return place(points_of(chunk, buckets, nullptr));
    const RecordMemory lines(line_bytes(buckets));
    place(points_of(chunk, buckets, lines.as<std::byte>()));
  });
}

Outcome Grouping::sort_directly(int64_t* order, int64_t* offsets, const RunOptions& options) {
  counts_.front().to_places(0,
                            [&](int64_t group, int64_t place) { offsets[group] = place; });  // offsets[groups] = kept_
  return place_chunks(groups_, order, options,
                      [&](const PlacedPoints& points) { kernels_.place_points(points, order); });
}

template <class Key, class Record>
Outcome Grouping::sort_by_buckets(int64_t* order, int64_t* offsets, const RunOptions& options) {
  const int64_t buckets = ((groups_ - 1) >> shift_) + 1;
  const int64_t each = int64_t{1} << shift_;
  const RecordMemory memory(kept_ * static_cast<int64_t>(sizeof(Record)));
  auto* const records = memory.as<Record>();
  std::vector<int64_t> start(static_cast<size_t>(buckets) + 1);
  counts_.front().to_places(0, [&](int64_t bucket, int64_t place) { start[static_cast<size_t>(bucket)] = place; });
  host::ProgressParts parts(2);
  Outcome outcome = place_chunks(buckets, records, options, [&](const PlacedPoints& points) {
    if constexpr (std::is_same_v<Record, ShortRecord>) return kernels_.place_records(points, &records->bits);
    const auto* const keys = reinterpret_cast<const Key*>(keys_);
    for (int64_t i = points.first; i < points.last; ++i) {
      if (keys[i] == kNoGroup<Key>) continue;
      const auto key = static_cast<uint64_t>(keys[i]);
      const int64_t place = points.place[key >> shift_]++;
      if constexpr (std::is_same_v<Record, WideRecord>) {
        records[place] = {key & static_cast<uint64_t>(each - 1), static_cast<uint64_t>(i)};
      }
    }
  });
  if (outcome != Outcome::done) return outcome;
  parts.next();

  offsets[groups_] = kept_;
  const auto groups_in = [&](int64_t bucket) { return std::min(each, groups_ - (bucket << shift_)); };
  // A bucket of many points would leave the other threads without work.
  const int64_t many = std::max(kept_ / (2 * options.threads), 2 * limits_.least_chunk);
  const bool shares = options.threads > 1;
  for (int64_t bucket = 0; shares && bucket < buckets; ++bucket) {
    const int64_t begin = start[static_cast<size_t>(bucket)], end = start[static_cast<size_t>(bucket) + 1];
    if (end - begin <= many) continue;
    outcome =
        sort_bucket_with_all(records, begin, end, groups_in(bucket), order, offsets + (bucket << shift_), options);
    if (outcome != Outcome::done) return outcome;
  }
  const int64_t least = std::max<int64_t>(limits_.least_chunk * buckets / (kept_ + groups_), 1);
  return for_each(backend_, buckets, least, options, [&](int64_t bucket) {
    const int64_t begin = start[static_cast<size_t>(bucket)], end = start[static_cast<size_t>(bucket) + 1];
    if (shares && end - begin > many) return;
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
    if (groups > 0) place[0] = begin;
  });
}

template <class Record>
Outcome Grouping::sort_bucket_with_all(const Record* records, int64_t begin, int64_t end, int64_t groups,
                                       int64_t* order, int64_t* offsets, const RunOptions& options) {
  const Chunks chunks = chunks_of(end - begin, groups, options);
  BucketCounts counts(chunks.count(), groups);
  const Outcome outcome = for_each(backend_, chunks.count(), 1, options, [&](int64_t chunk) {
    int64_t* const count = counts.of(chunk);
    for (int64_t i = chunks.begin(chunk); i < chunks.end(chunk); ++i) ++count[group_of(records[begin + i])];
  });
  if (outcome != Outcome::done) return outcome;
  counts.to_places(begin, [&](int64_t group, int64_t place) { offsets[group] = place; });
  return for_each(backend_, chunks.count(), 1, options, [&](int64_t chunk) {
    int64_t* const place = counts.of(chunk);
    for (int64_t i = chunks.begin(chunk); i < chunks.end(chunk); ++i) {
      order[place[group_of(records[begin + i])]++] = point_of(records[begin + i]);
    }
  });
}

Outcome find_groups(const HostBackend& backend, const Plan& plan, const Buffers& buffers, const RunOptions& options,
                    int64_t& groups) {
  const GroupLimits limits;
  const Chunks chunks{plan.index_space.count(), limits.least_chunk};
  std::atomic<int64_t> largest = -1;
  const Outcome outcome = for_each(backend, chunks.count(), 1, options, [&](int64_t chunk) {
    const int64_t found = largest_id(plan, buffers, chunks.begin(chunk), chunks.end(chunk));
    int64_t known = largest.load(std::memory_order_relaxed);
    while (found > known && !largest.compare_exchange_weak(known, found, std::memory_order_relaxed)) {
    }
  });
  if (largest.load() == std::numeric_limits<int64_t>::max()) {
    throw ShapeError("the largest id has no group: as many as 2**63 would be needed");
  }
  groups = largest.load() + 1;
  return outcome;
}

}  // namespace gs

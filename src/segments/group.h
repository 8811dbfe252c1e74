// group.h: sorts points by the groups that their ids name, stably, on all threads of a call.
#pragma once

#include <cstdint>
#include <optional>

#include "backends/backend.h"
#include "backends/group_kernels.h"
#include "core/plan.h"
#include "host/scratch.h"
#include "segments/bucket_counts.h"

namespace gs {

// What tests may set.
struct GroupLimits {
  int64_t direct_groups = 4096;             // so many groups are told apart in one pass ..
  int64_t buckets = 2048;                   // .. and more are first divided into so many buckets
  int64_t least_chunk = 16384;              // items of a chunk: fewer cost more than another thread saves
  int64_t most_chunk = int64_t{1} << 22;    // more would keep Ctrl-C waiting
  int64_t near_bytes = 1 << 20;             // lines of a longer result are written whole, past the caches
  int64_t short_points = int64_t{1} << 32;  // so many points and groups of a bucket fit into records of 8 bytes
};

// One grouping of the ids that a plan describes (read_ids.h): `read`, then `sort`, once each. Memory: a key of 2 to 8
// bytes a point, counters of up to 2 bytes a point, and in `sort` 8 to 16 bytes a kept point where groups are many.
class Grouping {
 public:
  explicit Grouping(const Plan& plan, const GroupLimits& limits = {});
  Grouping(const Grouping&) = delete;
  Grouping& operator=(const Grouping&) = delete;

  // Reads each id once. `bad_index`: the rule forbids one of them.
  Outcome read(const Buffers& buffers, const RunOptions& options);

  // Valid after `read`.
  int64_t kept() const { return kept_; }       // points that have a group
  bool in_order() const { return in_order_; }  // they come first, and their groups never fall: the order is 0, 1, 2, ..

  // Writes the flat positions of the kept points to `order`, group after group and ascending inside of one, unless the
  // points are in order. Writes to `offsets` where each group begins, and the number of kept points behind the last.
  Outcome sort(int64_t* order, int64_t* offsets, const RunOptions& options);

 private:
  template <class Visitor>
  decltype(auto) with_key(Visitor&& visitor);
  template <class Key>
  Outcome read_as(const Buffers& buffers, const RunOptions& options);
  template <class Key>
  Outcome find_offsets(int64_t* offsets, const RunOptions& options);
  Outcome sort_directly(int64_t* order, int64_t* offsets, const RunOptions& options);
  template <class Key, class Record>
  Outcome sort_by_buckets(int64_t* order, int64_t* offsets, const RunOptions& options);
  template <class Record>
  Outcome sort_bucket_with_all(const Record* records, int64_t begin, int64_t end, int64_t groups, int64_t* order,
                               int64_t* offsets, const RunOptions& options);
  template <class Place>
  Outcome place_chunks(const void* target, const RunOptions& options, Place place);
  int64_t buckets() const { return groups_ == 0 ? 0 : ((groups_ - 1) >> shift_) + 1; }
  Chunks chunks_of(int64_t items, int64_t counters, const RunOptions& options) const;

  const Plan& plan_;
  const GroupLimits limits_;
  const int64_t points_, groups_;
  const int key_bytes_;
  const GroupKernels& kernels_;
  int shift_ = 0;  // a bucket holds 2^shift groups
  host::Scratch<std::byte> keys_;
  Chunks chunks_;
  std::optional<BucketCounts> counts_;
  int64_t kept_ = 0;
  bool in_order_ = false;
};

// The number of groups for ids of which no number is known: the largest id of a point that the mask does not hide, plus
// one. Throws ShapeError if it is beyond int64.
Outcome find_groups(const Plan& plan, const Buffers& buffers, const RunOptions& options, int64_t& groups);

}  // namespace gs

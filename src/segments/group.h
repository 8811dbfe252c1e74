// group.h: sorts points by the groups that their ids name, stably, on all threads of a call.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/backend.h"
#include "backends/group_kernels.h"
#include "core/plan.h"
#include "segments/bucket_counts.h"

namespace gs {

// What tests may set.
struct GroupLimits {
  int64_t direct_groups = 4096;             // so many groups are told apart in one pass ..
  int64_t buckets = 2048;                   // .. and more are first divided into so many buckets
  int64_t least_chunk = 16384;              // points of a chunk: fewer cost more than another thread saves
  int64_t most_chunk = int64_t{1} << 22;    // more would keep Ctrl-C waiting
  int64_t short_points = int64_t{1} << 32;  // so many points and groups of a bucket fit into records of 8 bytes
};

// One grouping of the ids that a plan describes (read_ids.h). `read`, then `sort`; memory: 2 to 8 bytes a point for the
// groups, and 8 to 16 more in `sort` where groups are many.
class Grouping {
 public:
  Grouping(const HostBackend& backend, const Plan& plan, const GroupLimits& limits = {});
  Grouping(const Grouping&) = delete;
  Grouping& operator=(const Grouping&) = delete;
  ~Grouping();

  // Reads each id once. `bad_index`: the rule forbids one of them.
  Outcome read(const Buffers& buffers, const RunOptions& options);

  // Valid after `read`.
  int64_t kept() const { return kept_; }       // points that have a group
  bool in_order() const { return in_order_; }  // they come first, and their groups never fall: the order is 0, 1, 2, ..

  // Writes the flat positions of the kept points to `order`, group after group and ascending inside of one, and to
  // `offsets` where each group begins in it, with the number of kept points behind the last. `order` may be null if the
  // points are in order.
  Outcome sort(int64_t* order, int64_t* offsets, const RunOptions& options);

 private:
  template <class Visitor>
  decltype(auto) with_key(Visitor&& visitor);
  template <class Key>
  Outcome read_as(const Buffers& buffers, const RunOptions& options);
  template <class Key>
  Outcome write_in_order(int64_t* order, int64_t* offsets, const RunOptions& options);
  Outcome sort_directly(int64_t* order, int64_t* offsets, const RunOptions& options);
  template <class Key, class Record>
  Outcome sort_by_buckets(int64_t* order, int64_t* offsets, const RunOptions& options);
  template <class Record>
  Outcome sort_bucket_with_all(const Record* records, int64_t begin, int64_t end, int64_t groups, int64_t* order,
                               int64_t* offsets, const RunOptions& options);
  PlacedPoints points_of(int64_t chunk, int64_t buckets, std::byte* lines);
  template <class Place>
  Outcome place_chunks(int64_t buckets, const void* target, const RunOptions& options, Place place);
  Chunks chunks_of(int64_t items, int64_t buckets, const RunOptions& options) const;

  const HostBackend& backend_;
  const Plan& plan_;
  const GroupLimits limits_;
  const int64_t points_, groups_;
  const int key_bytes_;
  const GroupKernels& kernels_;
  int shift_ = 0;  // a bucket holds 2^shift groups
  std::byte* keys_ = nullptr;
  Chunks chunks_;
  std::vector<BucketCounts> counts_;  // one, made by `read`
  int64_t kept_ = 0;
  bool in_order_ = false;
};

// The number of groups for ids of which no number is known: the largest id of a point that the mask does not hide, plus
// one. Throws ShapeError if it is beyond int64.
Outcome find_groups(const HostBackend& backend, const Plan& plan, const Buffers& buffers, const RunOptions& options,
                    int64_t& groups);

}  // namespace gs

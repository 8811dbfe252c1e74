// scatter_job.h: defines what the job of a scatter has besides that of a gather: which targets are written, what is
// combined with them, marks, and points that are listed by ranges of their targets.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/combine.h"

namespace gs::cpu {

// Addresses are integers here: one private block may hold addresses of several arrays, and the arithmetic may wrap,
// which is defined for unsigned integers only.
using Address = uint64_t;

// ---- reductions

// Running totals of a reduction that cannot be computed in the target itself: one record for each item of a window of
// the targets. The first record belongs to the item at address `first`.
struct Window {
  std::byte* record = nullptr;
  Address first = 0;
  bool include_self = true;
  bool begun = false;  // a sweep has initialised the records from the targets
  // Of Keep::nothing: the items of the targets when the records began. A target that then gets no value, and so rounds
  // to the same item, is not written, because another call may write to it meanwhile.
  std::byte* before = nullptr;
};
inline constexpr int64_t kRecordBytes = 32;  // bytes of the longest record

// Divides multiples of a number by it: by a shift, and a product with the inverse of the odd factor modulo 2^64.
struct ExactDivision {
  int shift = 0;
  uint64_t inverse = 1;

  ExactDivision() = default;
  explicit ExactDivision(int64_t divisor) : shift(__builtin_ctzll(static_cast<uint64_t>(divisor))) {
    const uint64_t odd = static_cast<uint64_t>(divisor) >> shift;
    inverse = odd;  // correct modulo 8; each step doubles the number of correct bits
    for (int i = 0; i < 5; ++i) inverse *= 2 - odd * inverse;
  }
  GS_INLINE uint64_t operator()(uint64_t multiple) const { return (multiple >> shift) * inverse; }
};

// The arithmetic of rows of so many items whose totals are kept in their targets.
struct RowSteps {
  void (*combine)(std::byte* target, const std::byte* value, int64_t items);
  void (*begin)(std::byte* target, const std::byte* value, int64_t items);  // the value replaces its target
  void (*divide)(std::byte* target, int64_t items, int64_t count);          // of a mean
};

// What is known of the values of each slot of a window of the targets, for reductions without their targets, and means
// of rows. A slot is a place where a unit may begin.
struct SlotCounts {
  uint32_t* values = nullptr;  // of a mean: all values of the slot
  uint32_t* seen = nullptr;    // of a mean: those that were combined until now
  uint8_t* begun = nullptr;    // else: whether the slot has a value, a byte each, since threads have slots of their own
  Address first = 0;           // of slot 0
  ExactDivision by_pitch;      // the distance of two slots
  RowSteps steps = {};
  bool include_self = true;
};

struct Job;
// Combines the units at `value` with those at `target`, in ascending order of the points.
using Apply = void (*)(const Job& job, const Address* target, const Address* value, int n);
// The small units of one run: their values, and the numbers that give the targets of its points.
struct Elements {
  Address base;    // target of position 0 at point 0
  uint64_t step;   // bytes from one position to the next
  uint64_t along;  // bytes by which the target advances from one point to the next
  const std::byte* values;
  Window totals;
  uint8_t* begun;  // SlotCounts::begun of the slot at `base`
  bool far;        // the targets are prefetched before the first of them is written
  GS_INLINE Address target(uint64_t position, uint64_t point) const { return base + position * step + point * along; }
  GS_INLINE void fetch_far(const uint32_t* position, const uint32_t* point, int n) const {
    if (!far) return;
    for (int j = 0; j < n; ++j) {
      const uint64_t k = point == nullptr ? static_cast<uint64_t>(j) : point[j];
      __builtin_prefetch(reinterpret_cast<const std::byte*>(target(position[j], k)), 1, 3);
    }
  }
  GS_INLINE void next(int points, int64_t unit) {
    base += static_cast<uint64_t>(points) * along;
    values += points * unit;
  }
};
// A thread picks its own points out of so many points before it writes the first of them: with more, picking and the
// memory wait for each other in turns (Zen 5).
inline constexpr int kElementPoints = 256;
// The same where targets are far: all of them are prefetched before the first is written, so that more overlap (Zen 5).
inline constexpr int kFarElementPoints = 512;
// Combines the values of n of these points (`point`, ascending; null: 0, 1, ..) with their targets at `position`.
using ApplyElements = void (*)(const Elements& elements, const uint32_t* position, const uint32_t* point, int n);
// What an Apply does: combines values with targets, adds values to running totals, or writes totals to targets.
enum class ApplyStep : uint8_t { direct, accumulate, finish };
// The two steps of a reduction with SlotCounts: the first one, of means alone, counts the values of each slot.
struct CountedUnits {
  Apply count;
  Apply combine;
  RowSteps steps;
  ApplyElements elements;  // as `combine`, of single items, each of which is a slot; null for means
  int64_t record_bytes;    // of the record that would keep the total of an item in place of its flag; 0: none does
};
// What a record holds besides its total.
enum class Keep : uint8_t {
  count,       // the number of its values, in 32 bits where the total has 32 bits
  long_count,  // the number of its values in 64 bits, for more points than 32 bits can count; for an Apply only
  nothing,     // for sums of narrow floats in windows whose records a sweep has initialised
};
// Goes through the records of `slots` consecutive targets: initialises the records, or writes their totals.
using Sweep = void (*)(const Window& totals, int64_t slots);

// How values are combined with their targets.
struct Sum {
  Apply apply = nullptr;                   // null: values replace their targets
  ApplyElements apply_elements = nullptr;  // as `apply`, on the fast path for elements
  Window totals;
  const SlotCounts* counts = nullptr;  // of CountedUnits
};

// ---- marks and partitions

// One bit for each slot of the targets; slot 0 lies at address `first`.
struct TargetMarks {
  uint64_t* bits = nullptr;
  Address first = 0;
  // JobStep::mark only:
  uint64_t* met = nullptr;   // gets the bits that were marked before
  uint32_t* flat = nullptr;  // not null: gets the slot of each point; kNowhereSlot: none, or a later point has it
};

// The points of a scatter, divided by ranges of their targets, so that one thread writes all points of a target. The
// points are listed in work chunks. In each list the points of a range follow each other in flat order, so that a
// thread that takes its range from list after list keeps the order of all points of a target.
struct Partition {
  int ranges = 0;
  const Address* bound = nullptr;        // [ranges + 1]: range r is [bound[r], bound[r + 1]); other targets are dropped
  const uint32_t* slot_bound = nullptr;  // Form::elements: the bounds as slots
  Address first = 0;                     // the address of slot 0
  int64_t begin = 0;                     // the first point of the first list
  int64_t points = 0;                    // of a list; the last list may have fewer
  int64_t stride = 0;                    // from list to list, with room for a whole vector after the last point
  int64_t lists = 0;
  uint32_t* start = nullptr;    // of each list: the places where the ranges begin, and where the last one ends
  std::byte* target = nullptr;  // list after list: slots of 32 bits (Form::elements) or addresses
  std::byte* value = nullptr;   // list after list: values (Form::elements) or addresses
  GS_INLINE uint32_t* starts(int64_t list) const { return start + list * (ranges + 1); }
};
inline constexpr int kMaxRanges = 64;
inline constexpr int kMaxListPoints = 2048;      // of a list with Form::elements ..
inline constexpr int kMaxListBytes = 16 * 1024;  // .. and of its values
inline constexpr int kMaxListUnits = 1024;       // of other lists
inline constexpr uint32_t kNowhereSlot = UINT32_MAX;
inline constexpr int kListSlack = 16;  // points for which a list has room after its last point

// ---- the job

struct ScatterTargets {
  // A thread writes the units that begin in [own_low, own_high) and skips all others.
  Address own_low = 1;  // 0 is the address of points that are nowhere
  Address own_high = UINT64_MAX;
  bool own_all = true;  // the range covers every target
  Sum sum;
  TargetMarks marks;                     // if `bits` is not null, targets are marked as well
  const Partition* partition = nullptr;  // of the steps `partition` and `finish`
  const std::byte* base = nullptr;  // not null: nothing is scattered; slots that are not marked are copied from here
};

}  // namespace gs::cpu

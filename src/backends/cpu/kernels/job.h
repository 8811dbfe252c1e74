// job.h: defines one run of a plan as plain data, which is all that the kernels of every instruction set level get.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/column_kernels.h"
#include "core/combine.h"
#include "core/plan.h"

namespace gs::cpu {

inline constexpr int kMaxBlock = 512;  // points whose addresses a kernel keeps in private memory
inline constexpr int kMaxRank = 64;    // axes of extent 1 are removed, so more axes would have more than 2^63 points

// What a kernel does at a point that is nowhere.
enum class Nowhere : uint8_t {
  never,     // the plan has no such point
  skip,      // scatter: writes nothing
  read_one,  // gather: reads a whole unit at `fill`
  read_own,  // gather: reads a whole unit at `fill` plus the point's own fill offset
  write,     // gather: repeats the item at `fill` plus the point's own fill offset; zero bytes if `fill` is null
};

// The form in which the points of a plan are moved. form.h and plan_form.h decide it.
enum class Form : uint8_t {
  blocks,        // the general path: places a block of points, then moves it
  elements,      // small units with one contiguous index array, by 64-bit addresses
  vectors,       // gathers of 4 or 8 bytes by 32-bit positions in registers; a mask is allowed
  byte_table,    // a lookup table of bytes or words, indexed by bytes, that fits into registers
  short_move,    // a few small units along one axis, by a kernel that needs no job
  column_tiles,  // tiles of columns of the indexed side; the plans of the tiles have forms of their own
  packed_tiles,  // a walk that packs operands tile by tile; the plans of its tiles have forms of their own
};

// What is prefetched while a block is moved.
enum class Ahead : uint8_t {
  none,
  points,  // the units of the next block on the indexed side
  runs,    // elements and vectors only: the memory that the next run of the innermost axis may touch
  units,   // scatters of longer units: the targets of later points of the same block
};

// Addresses are integers here: one private block may hold addresses of several arrays, and the arithmetic may wrap,
// which is defined for unsigned integers only.
using Address = uint64_t;

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

// One bit for each slot of the targets; slot 0 lies at address `first`.
struct TargetMarks {
  uint64_t* bits = nullptr;
  Address first = 0;
  // JobStep::mark only:
  uint64_t* met = nullptr;   // gets the bits that were marked before
  uint32_t* flat = nullptr;  // not null: gets the slot of each point; kNowhereSlot: none, or a later point has it
};

// What a run of a job does with its points.
enum class JobStep : uint8_t {
  move,       // moves them
  partition,  // scatter: writes them to a list of the partition, ordered by the range of their targets
  finish,     // scatter: moves the listed points of the ranges [first, last)
  mark,       // marks the targets of its points, slots of one byte, from the last point to the first; moves nothing
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
// A thread picks its own points out of so many points before it writes the first of them. With more points, picking and
// the memory would wait for each other in turns; 1024 are 1.6 times slower than 256 for 4 Mi float32 into 4 MiB.
inline constexpr int kElementPoints = 256;
// The same where targets are far. The targets of up to kElementPoints own points are prefetched before the first of
// them is written: with 64 of them 4 Mi float32 are added at random into 64 MiB in 25 to 29 ms on one thread, with 256
// in 14 to 15.5; two threads that pick out of 512 points take 0.83 to 0.91 of the time of 256 (Zen 5).
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

struct JobIndex {
  const std::byte* data;
  int64_t extent;
  int64_t step;
  IndexType type;
};

struct Job {
  int rank;               // at least 1
  int operands;           // rows of the stride table, numbered by StrideRow of core/plan.h
  const int64_t* extent;  // no extent is 1, unless it is the only one
  const int64_t* stride;  // [axis * operands + operand]
  const bool* flat;       // [operand]: its offset is linear in the flat position
  int64_t count;          // points

  int64_t item;
  int64_t unit;
  Rule rule;
  Nowhere nowhere;
  bool scatter;
  bool masked;
  bool short_runs;   // blocks span several runs of the innermost axis
  bool packed;       // the dense units of a block are contiguous
  bool stream;       // results are written with streaming stores
  bool whole_lines;  // scatter: every target consists of whole cache lines
  bool gathers;      // Form::vectors: units are loaded by gather instructions
  bool general;      // no fast path: the path that all others are checked against
  Form form;         // not short_move and not the forms of tiles, which are no jobs
  JobStep step;
  Ahead ahead;
  int block;           // points per block
  int64_t run_span;    // bytes that one run may touch, from its base on, if Ahead::runs can prefetch them; else 0
  int64_t fill_phase;  // Nowhere::write: the byte of the item that is written first

  int indices;
  const JobIndex* index;
  int folds;
  const FoldAxis* fold;

  // At a cache line of its own: a small move copies the job, and loads that straddle the stores of the copy wait for
  // them (0.226 instead of 0.246 us for a gather of 4 x 4 elements along an axis, Zen 5, level v4).
  alignas(64) std::byte* dense;
  std::byte* indexed;
  const std::byte* mask;
  const std::byte* fill;

  // Scatters only. A thread writes the units that begin in [own_low, own_high) and skips all others.
  Address own_low;
  Address own_high;
  bool own_all;                  // the range covers every target
  Apply apply;                   // null: values replace their targets
  ApplyElements apply_elements;  // as `apply`, on the fast path for elements
  Window totals;
  const SlotCounts* counts;    // of CountedUnits
  TargetMarks marks;           // if `bits` is not null, targets are marked as well
  const Partition* partition;  // of the steps `partition` and `finish`
  const std::byte* base;       // not null: nothing is scattered; the slots that are not marked are copied from here
};

// Moves the points [first, last) in ascending order. Returns false if the rule forbids an index; it is unspecified how
// many of the other points are moved then.
using Run = bool (*)(const Job& job, int64_t first, int64_t last);

// Moves single units along one contiguous axis by one contiguous index array, under the rule `raise` and `from_end`,
// without further decisions. All functions return false if an index lies outside; points before it may have moved.
struct ShortMove {
  using Move = bool (*)(std::byte* dense, std::byte* indexed, const std::byte* index, int64_t count, int64_t extent);
  Move gather = nullptr;
  Move scatter = nullptr;  // in ascending order
  bool (*allows)(const std::byte* index, int64_t count, int64_t extent) = nullptr;
};

// Checks the indices of the points [first, last) under the rule `raise`; their positions are the sums of the resolved
// indices times their steps. Writes them to `positions`, which belongs to point 0, as numbers of `bytes` bytes (2 or
// 4), unless it is null (then `bytes` is 0), and adds those to `span` unless that is null. Returns false if the rule
// forbids an index.
using CheckIndices = bool (*)(const Job& job, int64_t first, int64_t last, std::byte* positions, int bytes,
                              IndexSpan* span);

// The span of n (at least 1) indices.
using FindIndexSpan = IndexSpan (*)(const std::byte* index, IndexType type, int64_t n);

// Rows of a tile, packed before and after a scatter to it, and where they belong.
struct ChangedTile {
  std::byte* target;
  int64_t step;  // from a row to the next one there
  const std::byte* before;
  const std::byte* after;
  int64_t rows;
  int64_t bytes;  // of a row
};

// Writes the words of 1, 2, 4 or 8 bytes that differ, and touches no others: they may belong to other threads.
using WriteChanged = void (*)(const ChangedTile& tile, int64_t word);

namespace baseline {
bool run(const Job& job, int64_t first, int64_t last);
bool check(const Job& job, int64_t first, int64_t last, std::byte* positions, int bytes, IndexSpan* span);
Apply applier(const Combine& combine, ApplyStep stage, Keep keep);
ApplyElements element_applier(const Combine& combine, ApplyStep stage, Keep keep);
Sweep sweeper(const Combine& combine, ApplyStep stage, Keep keep);
int64_t record_bytes(const Combine& combine, Keep keep);
CountedUnits counted_units(const Combine& combine);
ColumnKernels columns();
ShortMove short_move(IndexType type, int64_t unit);
void write_changed(const ChangedTile& tile, int64_t word);
IndexSpan index_span(const std::byte* index, IndexType type, int64_t n);
const char* level();
}  // namespace baseline
namespace v3 {
bool run(const Job& job, int64_t first, int64_t last);
bool check(const Job& job, int64_t first, int64_t last, std::byte* positions, int bytes, IndexSpan* span);
Apply applier(const Combine& combine, ApplyStep stage, Keep keep);
ApplyElements element_applier(const Combine& combine, ApplyStep stage, Keep keep);
Sweep sweeper(const Combine& combine, ApplyStep stage, Keep keep);
int64_t record_bytes(const Combine& combine, Keep keep);
CountedUnits counted_units(const Combine& combine);
ColumnKernels columns();
ShortMove short_move(IndexType type, int64_t unit);
void write_changed(const ChangedTile& tile, int64_t word);
IndexSpan index_span(const std::byte* index, IndexType type, int64_t n);
const char* level();
}  // namespace v3
namespace v4 {
bool run(const Job& job, int64_t first, int64_t last);
bool check(const Job& job, int64_t first, int64_t last, std::byte* positions, int bytes, IndexSpan* span);
Apply applier(const Combine& combine, ApplyStep stage, Keep keep);
ApplyElements element_applier(const Combine& combine, ApplyStep stage, Keep keep);
Sweep sweeper(const Combine& combine, ApplyStep stage, Keep keep);
int64_t record_bytes(const Combine& combine, Keep keep);
CountedUnits counted_units(const Combine& combine);
ColumnKernels columns();
ShortMove short_move(IndexType type, int64_t unit);
void write_changed(const ChangedTile& tile, int64_t word);
IndexSpan index_span(const std::byte* index, IndexType type, int64_t n);
const char* level();
}  // namespace v4

}  // namespace gs::cpu

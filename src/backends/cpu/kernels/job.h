// job.h: one run of a plan as plain data, the only thing that the kernels of every instruction set level see.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/column_kernels.h"
#include "core/combine.h"
#include "core/plan.h"

namespace gs::cpu {

inline constexpr int kMaxBlock = 512;  // points that a kernel keeps in private memory at a time
inline constexpr int kMaxRank = 64;    // axes of extent 1 are gone, so more would be more than 2^63 points

// What a gather does at a point that has no position, or a scatter at one that has no target.
enum class Nowhere : uint8_t {
  never,     // there is no such point
  skip,      // scatter: nothing
  read_one,  // gather: reads a whole unit at `fill`
  read_own,  // gather: the same, at `fill` plus the point's own fill offset
  write,     // gather: writes the item at `fill` plus offset again and again; zero bytes if `fill` is null
};

// What is prefetched while a block is moved.
enum class Ahead : uint8_t {
  none,
  points,  // the targets of the next block
  runs,    // elements and vectors only: what the next run of the innermost axis may read
  units,   // scatters of longer units: the targets of the next ones of the same block
};

// Addresses are integers here: a private block of them may mix several arrays, and wrapping arithmetic is defined.
using Address = uint64_t;

// Running totals of a reduction that cannot be computed in the target itself, one record for each item of a window of
// the targets; the first belongs to address `first`.
struct Window {
  std::byte* record = nullptr;
  Address first = 0;
  bool include_self = true;
  bool begun = false;  // the records hold what the targets held
};
inline constexpr int64_t kRecordBytes = 32;  // no record is longer

// One bit for each unit of the targets, the first of which begins at address `first`; `met` says whether any was marked
// twice.
struct TargetMarks {
  uint64_t* bits = nullptr;
  uint64_t* met = nullptr;
  Address first = 0;
};

struct Job;
// Combines the units at `value` with those at `target`, one after the other.
using Apply = void (*)(const Job& job, const Address* target, const Address* value, int n);
// Small units of one run: where its values lie, and the targets of its points.
struct Elements {
  Address base;
  uint64_t step;   // bytes between positions
  uint64_t along;  // what the target advances by from point to point
  const std::byte* values;
  Window totals;
  GS_INLINE Address target(uint64_t position, uint64_t point) const { return base + position * step + point * along; }
  GS_INLINE void next(int points, int64_t unit) {
    base += static_cast<uint64_t>(points) * along;
    values += points * unit;
  }
};
// Combines the values of `point` (null: of 0, 1, ..) with their targets at `position`.
using ApplyElements = void (*)(const Elements& elements, const uint32_t* position, const uint32_t* point, int n);
// What an Apply does: value to target, value to total, total to target.
enum class ApplyStep : uint8_t { direct, accumulate, finish };
// What a record holds besides its total.
enum class Keep : uint8_t {
  count,       // of its values, 32 bits where the total has as many
  long_count,  // the same for more points than that; units only
  nothing,     // sums of narrow floats in windows that have begun
};
// All records of `slots` targets in a row: begins them, or writes their totals.
using Sweep = void (*)(const Window& totals, int64_t slots);

struct JobIndex {
  const std::byte* data;
  int64_t extent;
  int64_t step;
  IndexType type;
};

struct Job {
  int rank;               // at least 1
  int operands;           // rows of the stride table, numbered as in core/plan.h
  const int64_t* extent;  // none is 1, unless it is the only one
  const int64_t* stride;  // [axis * operands + operand]
  const bool* flat;       // operand: its offset is linear in the flat position
  int64_t count;          // points

  int64_t item;
  int64_t unit;
  Rule rule;
  Nowhere nowhere;
  bool scatter;
  bool masked;
  bool short_runs;   // blocks span several runs of the innermost axis
  bool packed;       // the dense units of a block lie side by side
  bool stream;       // stores that bypass the caches
  bool whole_lines;  // scatter: every target consists of whole lines
  bool elements;     // the fast path for small units with one contiguous index array
  bool byte_table;   // bytes of a table that fits into registers, by bytes
  bool vectors;      // small units by 32-bit positions in registers, where a level has them; a mask is no obstacle
  bool general;      // no shortcuts: the path that all others are checked against
  Ahead ahead;
  int block;           // points per block
  int64_t run_span;    // Ahead::runs: bytes that one run may read, from its base on
  int64_t fill_phase;  // Nowhere::write: the byte of the item that comes first

  int indices;
  const JobIndex* index;
  int folds;
  const FoldAxis* fold;

  std::byte* dense;
  std::byte* indexed;
  const std::byte* mask;
  const std::byte* fill;

  // Scatters only. A thread writes to the units that begin in [own_low, own_high) and passes over all others.
  Address own_low;
  Address own_high;
  bool own_all;                  // the range covers every target
  Apply apply;                   // null: values replace what was there
  ApplyElements apply_elements;  // the same on the fast path
  Window totals;
  TargetMarks marks;      // where there are bits, targets are marked as well
  const std::byte* base;  // not null: nothing is scattered; the units that are not marked come from here, slot by slot
};

// Moves the points [first, last) in ascending order. False: the rule forbids an index; how much of the rest is done is
// not said.
using Run = bool (*)(const Job& job, int64_t first, int64_t last);

// Gathers of single units along one contiguous axis by one contiguous index array, with no decision left: the rule is
// raise and from_end. False: an index lies outside.
struct ShortGather {
  bool (*run)(std::byte* dense, const std::byte* indexed, const std::byte* index, int64_t count, int64_t extent);
  bool (*allows)(const std::byte* index, int64_t count, int64_t extent);
};

namespace baseline {
bool run(const Job& job, int64_t first, int64_t last);
Apply applier(const Combine& combine, ApplyStep stage, Keep keep);
ApplyElements element_applier(const Combine& combine, ApplyStep stage, Keep keep);
Sweep sweeper(const Combine& combine, ApplyStep stage, Keep keep);
int64_t record_bytes(const Combine& combine, Keep keep);
ColumnKernels columns();
ShortGather short_gather(IndexType type, int64_t unit);
const char* level();
}  // namespace baseline
namespace v3 {
bool run(const Job& job, int64_t first, int64_t last);
Apply applier(const Combine& combine, ApplyStep stage, Keep keep);
ApplyElements element_applier(const Combine& combine, ApplyStep stage, Keep keep);
Sweep sweeper(const Combine& combine, ApplyStep stage, Keep keep);
int64_t record_bytes(const Combine& combine, Keep keep);
ColumnKernels columns();
ShortGather short_gather(IndexType type, int64_t unit);
const char* level();
}  // namespace v3
namespace v4 {
bool run(const Job& job, int64_t first, int64_t last);
Apply applier(const Combine& combine, ApplyStep stage, Keep keep);
ApplyElements element_applier(const Combine& combine, ApplyStep stage, Keep keep);
Sweep sweeper(const Combine& combine, ApplyStep stage, Keep keep);
int64_t record_bytes(const Combine& combine, Keep keep);
ColumnKernels columns();
ShortGather short_gather(IndexType type, int64_t unit);
const char* level();
}  // namespace v4

}  // namespace gs::cpu

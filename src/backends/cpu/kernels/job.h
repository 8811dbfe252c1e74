// job.h: defines one run of a plan as plain data, which is all that the kernels of every instruction set level get.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/scatter_job.h"
#include "core/plan.h"

namespace gs::cpu {

inline constexpr int kMaxBlock = 512;  // points whose addresses a kernel keeps in private memory
inline constexpr int kBlock = 256;   // .. and those of a block of scattered points, or of other points without prefetch
inline constexpr int kMaxRank = 64;  // axes of extent 1 are removed, so more axes would have more than 2^63 points

// What a kernel does at a point that is nowhere.
enum class Nowhere : uint8_t {
  never,     // the plan has no such point
  skip,      // scatter: writes nothing
  read_one,  // gather: reads a whole unit at `fill`
  read_own,  // gather: reads a whole unit at `fill` plus the point's own fill offset
  write,     // gather: repeats the item at `fill` plus the point's own fill offset; zero bytes if `fill` is null
};

// The form in which the points of a plan are moved. schedule.h decides it for a call, form.h for one job.
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
  units,   // scatters: the targets of later points of the same block
};

// What a run of a job does with its points.
enum class JobStep : uint8_t {
  move,       // moves them
  partition,  // scatter: writes them to a list of the partition, ordered by the range of their targets
  finish,     // scatter: moves the listed points of the ranges [first, last)
  mark,       // marks the targets of its points, slots of one byte, from the last point to the first; moves nothing
};

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
  // them (Zen 5).
  alignas(64) std::byte* dense;
  std::byte* indexed;
  const std::byte* mask;
  const std::byte* fill;

  ScatterTargets to;  // of scatters alone
};

}  // namespace gs::cpu

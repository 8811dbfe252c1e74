// schedule.h: how a call runs on the CPU, as one value. It is decided once from the plan, before any memory is looked
// at; run.h runs it, and describe.h says what it is.
#pragma once

#include <optional>
#include <vector>

#include "backends/backend.h"
#include "backends/cpu/column_tiles.h"
#include "backends/cpu/kernel_levels.h"
#include "backends/cpu/prepare.h"
#include "backends/cpu/scatter_parts.h"
#include "backends/cpu/tiling.h"

namespace gs::cpu {

// Up to so many threads read all points and keep their own, which costs less than dividing them (Zen 5).
inline constexpr int kReadAllThreads = 3;

// How the points of a call are divided in time and between threads.
enum class Strategy : uint8_t {
  nothing,       // there are no points
  short_move,    // a few small units along one axis, on one thread, by a kernel that needs no job
  chunks,        // points with different targets: any thread takes any work chunk, or a piece of a long unit
  packed_tiles,  // .. of which the operands of each tile are packed first
  column_tiles,  // tiles of columns of the indexed side, which are packed
  // Points that may share a target, each of which belongs to one thread, in the order of the points:
  rounds,  // one thread takes all points; Ctrl-C is polled between rounds
  parts,   // slices of an axis that has targets of its own at each coordinate, or pieces of long units
  ranges,  // each thread has a range of targets, and a filter finds the points of it
};

// How a thread finds the points whose targets lie in its range.
enum class Filter : uint8_t {
  read_all,   // it reads the indices of all points
  partition,  // all points are divided by their targets first
};

// Where the running totals of a reduction are kept.
enum class Totals : uint8_t {
  targets,  // in the targets: each value is combined with its target at once; or nothing is reduced
  records,  // in a record for each item of a window of the targets
  flags,    // in the targets, with a flag for each unit that has a value
  counts,   // in the targets, with the number of the values of each unit
};

// Whether a bitmap shows which targets a scatter of rows has.
enum class Marks : uint8_t {
  none,
  along,  // the thread that moves the rows marks them
  first,  // all targets are marked before: the rows that win them are then independent
};

// How fresh memory gets the rows of a base that no point replaces.
enum class Base : uint8_t {
  none,
  copied,    // the whole base is copied before
  unmarked,  // what is not marked is copied afterwards
};

// Decisions that need the data are not made here but by the run, as refinements that only ever take one of two ways:
//   - a scatter by column tiles runs `otherwise` where its index follows rows (target_tiles.h);
//   - ranges skip blocks of points where the index has short spans (target_spans.h), whatever the filter;
//   - a gather ends at once where its early check finds a bad index (early_check.h);
//   - units that are whole cache lines stream only if the first target begins with a line (bind in prepare.h).
struct Schedule {
  Schedule() = default;
  Schedule(const Schedule&) = delete;  // the job refers to it
  Schedule& operator=(const Schedule&) = delete;

  const Kernels* kernels = nullptr;
  const Tuning* tuning = nullptr;
  const Plan* plan = nullptr;
  Direction direction = Direction::gather;
  Combine combine;

  Strategy strategy = Strategy::nothing;
  Strategy otherwise = Strategy::nothing;  // of a scatter by column tiles whose index follows rows
  Filter filter = Filter::read_all;
  Totals totals = Totals::targets;
  Marks marks = Marks::none;
  Base base = Base::none;
  Form form = Form::blocks;  // of the jobs, or short_move, column_tiles or packed_tiles
  int threads = 1;
  bool stream = false;  // tiles of a gather write their results with streaming stores

  Cut cut;                       // of the chunks
  std::optional<Tiling> tiling;  // of all points; ranges and totals apart from the targets have none
  ColumnTiling columns = {};     // of the column tiles
  std::vector<TaskPart> parts;   // of the parts
  Keep keep = Keep::count;       // what a record holds
  bool sweeps = false;           // records are initialised and written by sweeps over all of them
  CountedUnits counted = {};     // the steps of totals with flags or counts
  Apply apply = nullptr;         // of a reduction in its targets
  ApplyElements apply_elements = nullptr;
  const char* no_prefetch = nullptr;  // what prevents prefetches in the job

  Prepared prepared;  // the job of all points, in the order of their walk

  bool reduces() const { return direction == Direction::scatter && combine.reduce != Reduce::set; }
  const Plan& walk() const { return tiling ? tiling->plan : *plan; }
  bool in_pieces() const { return !parts.empty() && parts[0].axis < 0; }
};

// Decides how a call runs. The schedule refers to the plan and the tuning. `base_bytes`: the length of the base of a
// scatter into fresh memory (see Buffers::base); -1: it has none.
void decide(const Kernels& kernels, const Tuning& tuning, const Plan& plan, Direction direction, const Combine& combine,
            const ThreadCount& threads, Schedule& schedule, int64_t base_bytes = -1);

// The schedule of some items of each unit of a reduction whose records would not fit into one window, on as many
// threads.
void decide_items(const Schedule& whole, const Plan& items, Schedule& schedule);

// The schedule of the rows that win their targets, after all targets were marked, on as many threads.
void decide_marked(const Schedule& whole, const Plan& rows, Schedule& schedule);

// Whether a scatter of this plan would give each thread a range of targets.
bool goes_by_ranges(const Tuning& tuning, const Plan& plan, const ThreadCount& threads);

// Changes a job for a reduction: it streams nothing, and a total that is kept apart needs no target before its end.
void settle(const Schedule& schedule, const Plan& plan, const Tuning& tuning, Job& job);

// The form of a job of a scatter. `owns_all`: its thread writes every target, and not those of a range; `has_kernel`:
// its step of a reduction has a kernel for elements.
Form form_of_part(const Schedule& schedule, const Plan& plan, const Job& job, bool owns_all, bool has_kernel);

}  // namespace gs::cpu

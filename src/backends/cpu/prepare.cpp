// prepare.cpp: decides how a job is run: block size, prefetch and streaming stores; and threads and work chunks.
#include "backends/cpu/prepare.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/form.h"
#include "backends/cpu/kernels/prefetch_distances.h"

namespace gs::cpu {
namespace {

constexpr int kBlockAhead = 64;  // points of a block of a gather with prefetch, which is one block ahead
constexpr int kRowBlock = 128;   // points of a block of units of other sizes than 1, 2, 4, 8 and 16 bytes
// Points of a block streamed to targets: the memory is idle while a block is placed.
constexpr int kStreamedBlock = 64;
// Bytes of a row with gather instructions for few of its units: rows of 1 KiB lose (Zen 5).
constexpr int64_t kLeastSparseRun = 4096;
// Bytes of a scattered unit whose whole lines get streaming stores wherever it begins.
constexpr int64_t kStreamInside = 128;

alignas(64) constexpr std::byte kZeroRow[kFillRowBytes] = {};
constexpr int64_t kOnePoint[] = {1};

// Whether an operand is flat: from each point to the next in C order, its address changes by the same stride.
bool is_flat(const Space& space, int operand) {
  for (int axis = space.rank() - 2; axis >= 0; --axis) {
    int64_t span = 0;
    if (__builtin_mul_overflow(space.stride(operand, axis + 1), space.extent(axis + 1), &span)) return false;
    if (space.stride(operand, axis) != span) return false;
  }
  return true;
}

bool is_constant(const Space& space, int operand) {
  for (int axis = 0; axis < space.rank(); ++axis) {
    if (space.stride(operand, axis) != 0) return false;
  }
  return true;
}

// What happens to points that are nowhere, by the strides alone, so that the form of a plan does not depend on memory.
Nowhere nowhere_of(const Plan& plan, Direction direction) {
  if (!plan.masked && (plan.index.empty() || !plan.rule.fills())) return Nowhere::never;
  if (direction == Direction::scatter) return Nowhere::skip;
  const bool one_value = is_constant(plan.space, kFill);
  if (plan.unit == plan.item) return one_value ? Nowhere::read_one : Nowhere::read_own;
  return one_value && plan.unit <= kFillRowBytes ? Nowhere::read_one : Nowhere::write;
}

// Gives a job its fill value: a whole unit of it where the job reads one.
void bind_fill(const Plan& plan, const std::byte* fill, Prepared& prepared) {
  Job& job = prepared.job;
  job.fill = fill;
  if (job.nowhere != Nowhere::read_one) return;
  if (fill == nullptr && plan.unit > kFillRowBytes) {
    job.nowhere = Nowhere::write;  // zero bytes, without a row of them
  } else if (fill == nullptr) {
    job.fill = kZeroRow;
  } else if (plan.unit != plan.item) {
    prepared.fill_row = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(plan.unit));
    job.fill = prepared.fill_row.get();
    for (int64_t i = 0; i < plan.unit; i += plan.item) {
      std::memcpy(prepared.fill_row.get() + i, fill, static_cast<size_t>(plan.item));
    }
  }
}

// The bytes on the indexed side that one run of the innermost axis may touch, for example one row of a matrix, if they
// can be prefetched line by line: they fit into L2, and a long run touches many of them. Otherwise 0.
int64_t span_of_runs(const Plan& plan, const Tuning& tuning, const Job& job) {
  if (!has_elements_form(plan, job) || job.rank < 2) return 0;
  const IndexArray& index = plan.index[0];
  const int last = job.rank - 1;
  if (index.step != plan.unit || plan.space.stride(kIndexed, last) != 0) return 0;
  if (plan.space.stride(kIndexed, last - 1) == 0) return 0;
  const int64_t lines = index.extent / 64 * index.step;
  return index.extent * index.step > tuning.l2_bytes / 2 || job.extent[last] < lines / 2 ? 0
                                                                                         : index.extent * index.step;
}

// Chooses what is prefetched: the lines of the next run, or the indexed addresses of later points.
void choose_ahead(const Plan& plan, const Tuning& tuning, Job& job) {
  job.ahead = Ahead::none;
  job.run_span = span_of_runs(plan, tuning, job);
  if (obstacle_to_prefetch(job) != nullptr || !fetching(plan, tuning, job).is_met()) return;
  job.ahead = job.run_span > 0 ? Ahead::runs : job.scatter ? Ahead::units : Ahead::points;
}

// Whether every unit on the indexed side consists of whole cache lines, if the first one begins with a line.
bool has_whole_lines(const Plan& plan) {
  auto all = static_cast<uint64_t>(plan.unit);
  for (int axis = 0; axis < plan.space.rank(); ++axis) all |= static_cast<uint64_t>(plan.space.stride(kIndexed, axis));
  for (const IndexArray& index : plan.index) all |= plan.fold.empty() ? static_cast<uint64_t>(index.step) : 0;
  for (const FoldAxis& fold : plan.fold) all |= static_cast<uint64_t>(fold.stride);
  return plan.unit > 0 && all % kLineBytes == 0;
}

int block_size(const Job& job) {
  if (job.scatter && is_element(job.unit)) return kMaxBlock;
  // Where points may be nowhere, values are prefetched within a block only, so that longer blocks pay.
  if (job.scatter) return job.stream && job.whole_lines && job.nowhere == Nowhere::never ? kStreamedBlock : kBlock;
  if (is_element(job.unit)) return job.ahead == Ahead::points ? kBlockAhead : kBlock;
  return kRowBlock;
}

// Chooses what depends on whole cache lines: streaming stores, and with them prefetches and the length of blocks.
void choose_writes(const Plan& plan, const Tuning& tuning, Job& job) {
  const Direction direction = job.scatter ? Direction::scatter : Direction::gather;
  job.stream = obstacle_to_streaming(job) == nullptr && streaming(plan, tuning, direction).is_met();
  choose_ahead(plan, tuning, job);
  job.block = block_size(job);
}

int64_t indexed_bytes(const Plan& plan) {
  const Span span = indexed_span(plan);
  return span.high - span.low;
}

}  // namespace

bool is_far(const Plan& plan, const Tuning& tuning) {
  return farness(plan, tuning).is_met();
}

Comparison farness(const Plan& plan, const Tuning& tuning) {
  return {"indexed bytes", indexed_bytes(plan), "far_table_bytes", tuning.far_bytes};
}

Comparison fetching(const Plan& plan, const Tuning& tuning, const Job& job) {
  if (job.scatter && is_element(job.unit)) {
    return {"indexed bytes", indexed_bytes(plan), "far_element_bytes", tuning.far_element_bytes};
  }
  if (job.scatter) return {"indexed bytes", indexed_bytes(plan), "far_target_bytes", tuning.far_target_bytes};
  if (job.form != Form::vectors) return farness(plan, tuning);
  return {"indexed bytes", indexed_bytes(plan), "far_vector_bytes", tuning.far_vector_bytes};
}

Comparison fetching_combined(const Plan& plan, const Tuning& tuning) {
  return {"indexed bytes", indexed_bytes(plan), "far_target_bytes", tuning.far_target_bytes};
}

bool fetches_combined(const Plan& plan, const Job& job) {
  return has_elements_form(plan, job) || (job.unit >= kLineBytes && job.unit <= kLongestAhead);
}

// Two threads, 64 MiB of rows of 4 to 256 KiB with indices of their own for all or a quarter of their items: copies
// take 0.5 to 0.9 of the time of slices that decide by their own bytes, sums 0.3 to 0.5; a sixteenth of 16 MiB 1.3
// to 2.3. Rows of 256 bytes and more, whole lines: 0.5 to 0.8 into 64 MiB, 0.9 to 1.1 into 256 MiB, a quarter of 16 MiB
// 0.8 to 1.7 (Zen 5).
Tuning tuning_of_parts(const Plan& plan, const Tuning& tuning) {
  Tuning own = tuning;
  if (indexed_bytes(plan) >= tuning.far_element_bytes) own.far_element_bytes = 0;
  if (indexed_bytes(plan) >= tuning.far_target_bytes) own.far_target_bytes = 0;
  if (indexed_bytes(plan) >= tuning.stream_bytes) own.stream_bytes = 0;
  return own;
}

Comparison streaming(const Plan& plan, const Tuning& tuning, Direction direction) {
  if (direction == Direction::scatter) {
    return {"indexed bytes", indexed_bytes(plan), "stream_bytes", tuning.stream_bytes};
  }
  const bool is_late = !is_element(plan.unit) && indexed_bytes(plan) < tuning.stream_bytes;
  if (is_late) return {"bytes written", plan.bytes_moved(), "stream_late_bytes", tuning.stream_late_bytes};
  return {"bytes written", plan.bytes_moved(), "stream_bytes", tuning.stream_bytes};
}

Comparison gathering(const Tuning& tuning, const Job& job) {
  constexpr const char* kQuantity = "single loads in percent of gather instructions";
  // Far rows of which few units are wanted: most loads miss the first-level cache, where the percentage is measured.
  const bool misses = job.ahead == Ahead::runs && job.run_span >= kLeastSparseRun &&
                      job.extent[job.rank - 1] * job.unit <= job.run_span / 2;
  if (!misses) return {kQuantity, tuning.measured_percent, "gather_percent", tuning.gather_percent};
  return {kQuantity, tuning.measured_percent, "gather_percent_sparse", tuning.gather_percent_sparse};
}

const char* obstacle_to_streaming(const Job& job) {
  if (!job.scatter) return job.packed ? nullptr : "the result is not written in order";
  return job.whole_lines || (!job.general && job.unit >= kStreamInside) ? nullptr : "the units are short";
}

const char* obstacle_to_prefetch(const Job& job) {
  if (job.general || job.indices == 0 || job.count <= kBlockAhead) return "few points";
  if (!job.scatter) return nullptr;
  return job.stream && job.whole_lines ? "whole cache lines are written and not read" : nullptr;
}

Comparison sharing(const Plan& plan, const Tuning& tuning) {
  const int64_t count = plan.space.count();
  const bool far = is_far(plan, tuning);
  const Comparison points = far ? Comparison{"points", count, "serial_points_far", tuning.serial_points_far}
                                : Comparison{"points", count, "serial_points", tuning.serial_points};
  if (points.is_met() || is_element(std::max<int64_t>(plan.unit, 1))) return points;
  if (far) return {"bytes moved", plan.bytes_moved(), "serial_row_bytes", tuning.serial_row_bytes};
  return {"bytes moved", plan.bytes_moved(), "serial_near_bytes", tuning.serial_near_bytes};
}

void lay_out(const Plan& plan, Direction direction, const Tuning& tuning, Prepared& prepared) {
  const Space& space = plan.space;
  Job& job = prepared.job;
  job.operands = space.operands();
  job.count = space.count();
  prepared.flat.resize(0);
  prepared.flat.resize(job.operands, true);
  if (space.rank() == 0) {
    prepared.no_strides.resize(job.operands, 0);
    job.rank = 1;
    job.extent = kOnePoint;
    job.stride = prepared.no_strides.data();
  } else {
    job.rank = space.rank();
    job.extent = space.extents().data();
    job.stride = space.strides();
    for (int operand = 0; operand < job.operands; ++operand) prepared.flat[operand] = is_flat(space, operand);
  }
  job.flat = prepared.flat.data();

  prepared.index.resize(0);
  for (const IndexArray& index : plan.index) prepared.index.push_back({nullptr, index.extent, index.step, index.type});
  job.indices = plan.index.size();
  job.index = prepared.index.data();
  job.folds = plan.fold.size();
  job.fold = plan.fold.data();

  job.item = plan.item;
  job.unit = plan.unit;
  job.rule = plan.rule;
  job.scatter = direction == Direction::scatter;
  job.masked = plan.masked;
  job.general = tuning.general;
  job.dense = job.indexed = nullptr;
  job.mask = job.fill = nullptr;
  job.fill_phase = 0;
  job.nowhere = nowhere_of(plan, direction);

  const int last = job.rank - 1;
  job.short_runs = job.rank > 1 && job.extent[last] < kShortRun;
  job.packed = !job.general && (job.count == 1 || job.stride[last * job.operands + kDense] == job.unit) &&
               (!job.short_runs || job.flat[kDense]);
  job.to = {};
  job.step = JobStep::move;
  job.form = form_of_job(plan, tuning, job);
  job.whole_lines = job.scatter && !job.general && has_whole_lines(plan);
  choose_writes(plan, tuning, job);
  job.gathers = job.form == Form::vectors && gathering(tuning, job).is_met();
}

void bind(const Plan& plan, const Buffers& buffers, const Tuning& tuning, Prepared& prepared) {
  Job& job = prepared.job;
  for (int a = 0; a < job.indices; ++a) prepared.index[a].data = buffers.index[a];
  job.dense = buffers.dense;
  job.indexed = buffers.indexed;
  job.mask = buffers.mask;
  bind_fill(plan, buffers.fill, prepared);
  if (!job.whole_lines || reinterpret_cast<Address>(buffers.indexed) % kLineBytes == 0) return;
  job.whole_lines = false;
  choose_writes(plan, tuning, job);
}

void prepare(const Plan& plan, const Buffers& buffers, Direction direction, const Tuning& tuning, Prepared& prepared) {
  lay_out(plan, direction, tuning, prepared);
  bind(plan, buffers, tuning, prepared);
}

Cut cut(const Plan& plan, const Tuning& tuning, const ThreadCount& threads) {
  Cut result;
  const int64_t count = plan.space.count();
  const int64_t unit = std::max<int64_t>(plan.unit, 1);
  const int64_t bytes = plan.bytes_moved();
  if (count > 0 && count <= tuning.min_chunk_points && bytes <= tuning.min_chunk_bytes) {
    result.points = count;
    result.is_one = true;
    return result;
  }
  if (sharing(plan, tuning).is_met()) result.threads = threads;
  const int64_t shares = result.threads > 1 ? int64_t{result.threads} * kChunksPerThread : 1;

  if (unit >= 2 * tuning.min_piece_bytes && (unit > kMaxChunkBytes || count < shares)) {
    const int64_t wanted = std::clamp(bytes / shares, tuning.min_piece_bytes, kMaxChunkBytes);
    result.piece = (wanted + 63) / 64 * 64;
    result.pieces = (unit + result.piece - 1) / result.piece;
    result.points = 1;
  } else {
    // Items from main memory take so long each that few of them are worth a work chunk.
    const int64_t by_bytes = is_element(unit) && is_far(plan, tuning) ? 1 : tuning.min_chunk_bytes / unit;
    const int64_t least = std::max<int64_t>(by_bytes, is_element(unit) ? tuning.min_chunk_points : 1);
    const int64_t most = std::max<int64_t>(std::min(kMaxChunkPoints, kMaxChunkBytes / unit), 1);
    const int64_t points = std::min(std::max(count / shares, least), most);
    // Work chunks of a packed result end with a cache line, and there are not more than the thread pool can count.
    const int64_t whole = is_element(unit) ? 64 : (points >= 16 ? 16 : 1);
    result.points = std::max((points + whole - 1) / whole * whole, (count >> 31) + 1);
  }
  result.chunks = (count + result.points - 1) / result.points * result.pieces;
  result.threads = static_cast<int>(std::min<int64_t>(result.threads, std::max<int64_t>(result.chunks, 1)));
  return result;
}

}  // namespace gs::cpu

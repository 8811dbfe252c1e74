// prepare.cpp: the decisions about a run: block sizes, prefetch, streaming, threads, chunks.
#include "backends/cpu/prepare.h"

#include <algorithm>
#include <cstring>

namespace gs::cpu {
namespace {

alignas(64) constexpr std::byte kZeroRow[kFillRowBytes] = {};
constexpr int64_t kOnePoint[] = {1};

bool is_element(int64_t unit) {
  return unit > 0 && unit <= 16 && (unit & (unit - 1)) == 0;
}

// An operand is flat if walking the points in order moves it by one stride all the way.
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

void prepare_fill(const Plan& plan, const std::byte* fill, Direction direction, Prepared& prepared) {
  Job& job = prepared.job;
  job.fill = fill;
  job.fill_phase = 0;
  job.nowhere = Nowhere::never;
  if (!plan.masked && (plan.index.empty() || !plan.rule.fills())) return;
  if (direction == Direction::scatter) {
    job.nowhere = Nowhere::skip;
  } else if (fill == nullptr) {
    job.nowhere = plan.unit <= kFillRowBytes ? Nowhere::read_one : Nowhere::write;
    if (job.nowhere == Nowhere::read_one) job.fill = kZeroRow;
  } else if (plan.unit == plan.item) {
    job.nowhere = is_constant(plan.space, kFill) ? Nowhere::read_one : Nowhere::read_own;
  } else if (plan.unit <= kFillRowBytes && is_constant(plan.space, kFill)) {
    job.nowhere = Nowhere::read_one;
    job.fill = prepared.fill_row;
    for (int64_t i = 0; i < plan.unit; i += plan.item) {
      std::memcpy(prepared.fill_row + i, fill, static_cast<size_t>(plan.item));
    }
  } else {
    job.nowhere = Nowhere::write;
  }
}

// Small units, one contiguous index array whose offsets are 32 bits times 32 bits, and nothing that differs per point.
bool is_elements(const Plan& plan, const Job& job) {
  const bool one_value = job.scatter && job.stride[(job.rank - 1) * job.operands + kDense] == 0;  // for a whole run
  if (!is_element(job.unit) || !(job.packed || one_value) || job.short_runs || job.general) return false;
  if (job.masked && (job.scatter || job.rule.bounds == Bounds::clip)) return false;
  if (job.masked && job.stride[(job.rank - 1) * job.operands + kMask] != 1) return false;
  if (job.indices != 1 || job.folds != 0 || job.rule.bounds == Bounds::wrap) return false;
  if (job.nowhere != Nowhere::never && job.nowhere != (job.scatter ? Nowhere::skip : Nowhere::read_one)) return false;
  const IndexArray& index = plan.index[0];
  if (index.extent == 0 || index.extent >= UINT32_MAX || index.step < 0 || index.step > UINT32_MAX) return false;
  if (job.scatter && index.step == 0) return false;
  return job.stride[(job.rank - 1) * job.operands + kIndex] == index_size(index.type);
}

// Gathers of 4 or 8 bytes whose positions, in units, are 32-bit numbers.
bool is_vectors(const Plan& plan, const Tuning& tuning, const Job& job) {
  if (!tuning.vectors || job.general || job.scatter || (job.unit != 4 && job.unit != 8)) return false;
  if (job.indices != 1 || job.folds != 0 || job.rule.bounds == Bounds::wrap) return false;
  if (job.nowhere != Nowhere::never && job.nowhere != Nowhere::read_one) return false;
  const IndexArray& index = plan.index[0];
  const int64_t* const inner = job.stride + (job.rank - 1) * job.operands;
  const int64_t length = job.extent[job.rank - 1];
  if (inner[kDense] != job.unit && job.count > 1) return false;
  if (inner[kIndex] != index_size(index.type) || (job.masked && inner[kMask] != 1)) return false;
  if (inner[kIndexed] != 0 && inner[kIndexed] != job.unit) return false;
  if (job.rank > 1 && length < kShortVectorRun) return false;
  const int64_t units = index.step / job.unit;
  if (index.extent <= 0 || units <= 0 || index.step != units * job.unit || (units & (units - 1)) != 0) return false;
  const int64_t most = INT32_MAX - (inner[kIndexed] == 0 ? 0 : length);  // positions, with what points add to them
  return index.extent <= most / units;
}

// Look-up tables: bytes by bytes.
bool is_byte_table(const Plan& plan, const Tuning& tuning, const Job& job) {
  if (!tuning.byte_tables || job.general || job.scatter || job.unit != 1) return false;
  if (job.indices != 1 || job.folds != 0 || job.masked || job.rule.bounds == Bounds::wrap) return false;
  if (job.nowhere != Nowhere::never && job.nowhere != Nowhere::read_one) return false;
  const IndexArray& index = plan.index[0];
  if (index.extent < 1 || index.extent > 256 || index.step != 1) return false;
  if (index.type != IndexType::u8 && index.type != IndexType::i8) return false;
  const bool counts = job.rule.negative == Negative::from_end;
  if (index.type == IndexType::i8 && (job.rule.bounds == Bounds::clip || (!counts && index.extent > 128))) return false;
  const int64_t* const inner = job.stride + (job.rank - 1) * job.operands;
  if (job.count > 1 && (inner[kDense] != 1 || inner[kIndex] != 1 || inner[kIndexed] != 0)) return false;
  return job.extent[job.rank - 1] >= tuning.byte_run;
}

int64_t indexed_bytes(const Plan& plan) {
  const Span span = indexed_span(plan);
  return span.high - span.low;
}

// A long innermost axis whose whole table fits into L2 (one row of a matrix, say) is fetched line by line, one run
// ahead; otherwise the targets of the next block are.
void choose_ahead(const Plan& plan, const Tuning& tuning, Job& job) {
  job.ahead = Ahead::none;
  job.run_span = 0;
  if (job.general || job.indices == 0 || job.count <= kBlockAhead) return;
  if (indexed_bytes(plan) < (job.vectors ? tuning.far_vector_bytes : tuning.far_bytes)) return;
  job.ahead = job.scatter ? Ahead::units : Ahead::points;
  if (job.scatter || !job.elements || job.rank < 2) return;
  const IndexArray& index = plan.index[0];
  const int last = job.rank - 1;
  if (index.step != plan.unit || plan.space.stride(kIndexed, last) != 0) return;
  if (plan.space.stride(kIndexed, last - 1) == 0) return;
  const int64_t lines = index.extent / 64 * index.step;
  if (index.extent * index.step > tuning.l2_bytes / 2 || job.extent[last] < lines / 2) return;
  job.ahead = Ahead::runs;
  job.run_span = index.extent * index.step;
}

// Whether every unit on the indexed side consists of whole lines.
bool has_whole_lines(const Plan& plan, const std::byte* indexed) {
  uint64_t all = reinterpret_cast<uint64_t>(indexed) | static_cast<uint64_t>(plan.unit);
  for (int axis = 0; axis < plan.space.rank(); ++axis) all |= static_cast<uint64_t>(plan.space.stride(kIndexed, axis));
  for (const IndexArray& index : plan.index) all |= plan.fold.empty() ? static_cast<uint64_t>(index.step) : 0;
  for (const FoldAxis& fold : plan.fold) all |= static_cast<uint64_t>(fold.stride);
  return plan.unit > 0 && all % 64 == 0;
}

int block_size(const Job& job) {
  if (job.scatter) return is_element(job.unit) ? kMaxBlock : kBlock;
  if (is_element(job.unit)) return job.ahead == Ahead::points ? kBlockAhead : kBlock;
  return kRowBlock;
}

}  // namespace

bool is_far(const Plan& plan, const Tuning& tuning) {
  return indexed_bytes(plan) >= tuning.far_bytes;
}

void prepare(const Plan& plan, const Buffers& buffers, Direction direction, const Tuning& tuning, Prepared& prepared) {
  const Space& space = plan.space;
  Job& job = prepared.job;
  job.operands = space.operands();
  job.count = space.count();
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

  for (int a = 0; a < plan.index.size(); ++a) {
    prepared.index.push_back({buffers.index[a], plan.index[a].extent, plan.index[a].step, plan.index[a].type});
  }
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
  job.dense = buffers.dense;
  job.indexed = buffers.indexed;
  job.mask = buffers.mask;
  prepare_fill(plan, buffers.fill, direction, prepared);

  const int last = job.rank - 1;
  job.short_runs = job.rank > 1 && job.extent[last] < kShortRun;
  job.packed = !job.general && (job.count == 1 || job.stride[last * job.operands + kDense] == job.unit) &&
               (!job.short_runs || job.flat[kDense]);
  job.whole_lines = job.scatter && !job.general && has_whole_lines(plan, buffers.indexed);
  const bool streams = job.scatter ? job.whole_lines || (!job.general && job.unit >= kStreamInside) : job.packed;
  job.stream = streams && plan.bytes_moved() >= tuning.stream_bytes;
  job.own_low = 1;
  job.own_high = UINT64_MAX;
  job.own_all = true;
  job.apply = nullptr;
  job.apply_elements = nullptr;
  job.marks = {};
  job.base = nullptr;
  job.elements = is_elements(plan, job);
  job.vectors = is_vectors(plan, tuning, job);
  choose_ahead(plan, tuning, job);
  job.byte_table = is_byte_table(plan, tuning, job);
  job.block = block_size(job);
}

Cut cut(const Plan& plan, const Tuning& tuning, const ThreadCount& threads) {
  Cut result;
  const int64_t count = plan.space.count();
  const int64_t unit = std::max<int64_t>(plan.unit, 1);
  const int64_t bytes = plan.bytes_moved();
  const int64_t enough = is_far(plan, tuning) ? tuning.serial_points_far : tuning.serial_points;
  if (count >= enough || (!is_element(unit) && bytes >= tuning.serial_row_bytes)) result.threads = threads;
  const int64_t shares = result.threads > 1 ? int64_t{result.threads} * kChunksPerThread : 1;

  if (unit >= 2 * tuning.min_piece_bytes && (unit > kMaxChunkBytes || count < shares)) {
    const int64_t wanted = std::clamp(bytes / shares, tuning.min_piece_bytes, kMaxChunkBytes);
    result.piece = (wanted + 63) / 64 * 64;
    result.pieces = (unit + result.piece - 1) / result.piece;
    result.points = 1;
  } else {
    const int64_t least =
        std::max<int64_t>(tuning.min_chunk_bytes / unit, is_element(unit) ? tuning.min_chunk_points : 1);
    const int64_t most = std::max<int64_t>(std::min(kMaxChunkPoints, kMaxChunkBytes / unit), 1);
    const int64_t points = std::min(std::max(count / shares, least), most);
    const int64_t whole = is_element(unit) ? 64 : (points >= 16 ? 16 : 1);  // chunks of a packed result end with a line
    result.points =
        std::max((points + whole - 1) / whole * whole, (count >> 31) + 1);  // no more than the pool can count
  }
  result.chunks = (count + result.points - 1) / result.points * result.pieces;
  result.threads = static_cast<int>(std::min<int64_t>(result.threads, std::max<int64_t>(result.chunks, 1)));
  return result;
}

}  // namespace gs::cpu

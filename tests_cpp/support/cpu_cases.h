// cpu_cases.h: random cases for the kernels of the CPU backend, and the loop over points that they are compared with.
#pragma once

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/run.h"
#include "catch.h"
#include "host/settings.h"

namespace gs::test {

using Bytes = std::vector<std::byte>;
inline constexpr int64_t kGuard = 64;  // bytes around every array that must not change

// The levels that this processor has; a warning names the others. It must not match the pattern by which ctest finds
// skipped tests, because ctest then ignores the exit status.
inline std::vector<std::string> levels() {
  const std::vector<std::string> all = {"baseline", "v3", "v4"};
  const auto last = std::find(all.begin(), all.end(), host::supported_level());
  std::vector<std::string> found;
  for (auto level = all.begin(); level != all.end(); ++level) {
    if (level <= last && cpu::kernels_of(*level) != nullptr) {
      found.push_back(*level);
    } else {
      WARN("left out: level " << *level << " (this processor or build lacks it)");
    }
  }
  return found;
}

// The kernels of the baseline, but for the function that runs jobs.
inline cpu::Kernels baseline_with(bool (*run)(const cpu::Job& job, int64_t first, int64_t last)) {
  cpu::Kernels kernels = *cpu::kernels_of("baseline");
  kernels.run = run;
  return kernels;
}

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  int64_t from(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(engine_); }
  bool chance(int percent) { return from(1, 100) <= percent; }
  template <class T>
  T pick(const std::vector<T>& values) {
    return values[static_cast<size_t>(from(0, static_cast<int64_t>(values.size()) - 1))];
  }
  void fill(Bytes& bytes) {
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(engine_());
  }

 private:
  std::mt19937_64 engine_;
};

// An array of one operand: memory with a guard on both sides, and the offset of its first element.
struct Array {
  Bytes bytes;
  int64_t origin = kGuard;
  const std::byte* data() const { return bytes.data() + origin; }
  std::byte* data() { return bytes.data() + origin; }
};

enum class Layout { packed, any, may_repeat };

// Chooses strides for an operand: in C order, or axes in any order with gaps, reversed, or (may_repeat) of stride 0. On
// the indexed side gaps are whole units, because in an array two units are equal or do not overlap. Returns the bytes
// below and above the origin that elements of `size` bytes need.
inline std::pair<int64_t, int64_t> choose_strides(Space& space, int operand, int64_t size, Layout layout,
                                                  Random& random) {
  std::vector<int> order(static_cast<size_t>(space.rank()));
  std::iota(order.rbegin(), order.rend(), 0);
  if (layout != Layout::packed)
    std::shuffle(order.begin(), order.end(), std::mt19937(static_cast<unsigned>(random.from(0, 1 << 30))));
  int64_t next = size;
  int64_t below = 0;
  int64_t above = 0;
  for (const int axis : order) {
    if (layout == Layout::may_repeat && random.chance(20)) continue;
    int64_t stride = next;
    if (layout != Layout::packed && random.chance(25)) stride += random.from(1, 9) * (operand == kIndexed ? size : 1);
    const int64_t span = (space.extent(axis) - 1) * stride;
    next = stride * std::max<int64_t>(space.extent(axis), 1);
    const bool reversed = layout != Layout::packed && random.chance(20);
    space.stride(operand, axis) = reversed ? -stride : stride;
    (reversed ? below : above) += std::max<int64_t>(span, 0);
  }
  return {below, above + size};
}

inline Array make_array(std::pair<int64_t, int64_t> span, Random& random) {
  Array array;
  array.bytes.resize(static_cast<size_t>(span.first + span.second + 2 * kGuard));
  array.origin = kGuard + span.first;
  random.fill(array.bytes);
  return array;
}

struct Case {
  Plan plan;
  Array dense;
  Array indexed;
  Array mask;
  Array fill;
  std::vector<Array> index;
  int64_t apart = 0;  // not 0: the indices of a point lie so many bytes apart in the first array
  bool with_fill = false;

  std::byte* index_data(int a) {
    return apart > 0 ? index[0].data() + a * apart : index[static_cast<size_t>(a)].data();
  }
  Buffers buffers() {
    Buffers buffers;
    buffers.dense = dense.data();
    buffers.indexed = indexed.data();
    buffers.mask = plan.masked ? mask.data() : nullptr;
    buffers.fill = with_fill ? fill.data() : nullptr;
    for (std::size_t a = 0; a < index.size(); ++a) buffers.index.push_back(index_data(static_cast<int>(a)));
    return buffers;
  }
};

struct CaseSpec {
  Direction direction = Direction::gather;
  Rule rule;
  IndexType type = IndexType::i64;
  int64_t item = 4;
  int64_t items = 1;  // number of items of a unit
  int arrays = 1;
  bool masked = false;
  bool with_fill = false;
  bool fill_varies = false;
  bool bad = false;          // some indices may be out of range, under any rule
  bool plain = false;        // packed dense side and index, as in most calls
  bool interleaved = false;  // the indices of a point lie side by side, as coordinates do
  bool anchored = false;     // the address on the indexed side depends on the index only
  int folds = 0;
  Dims extent;
};

// A value of the type, in range or out of range.
inline int64_t choose_value(IndexType type, int64_t extent, Rule rule, bool outside, Random& random) {
  const bool is_signed = index_is_signed(type);
  const int bits = 8 * index_size(type);
  const int64_t most = is_signed ? (bits == 64 ? INT64_MAX : (int64_t{1} << (bits - 1)) - 1)
                                 : (bits == 64 ? INT64_MAX : (int64_t{1} << bits) - 1);
  const int64_t least = is_signed ? -most - 1 : 0;
  if (outside && random.chance(30)) {
    if (random.chance(30)) return random.chance(50) ? most : least;
    return std::clamp(random.from(-3 * extent - 2, 3 * extent + 2), least, most);
  }
  const bool from_end = rule.negative == Negative::from_end && is_signed && random.chance(30);
  const int64_t position = random.from(0, std::max<int64_t>(std::min(extent - 1, most), 0));
  return from_end ? std::max(position - extent, std::max(least, -extent)) : position;
}

inline void store(std::byte* at, IndexType type, int64_t value) {
  visit_index(type, [&]<class Index>() {
    const auto typed = static_cast<Index>(value);
    std::memcpy(at, &typed, sizeof(typed));
  });
}

// Calls visit(offset of every operand) for each point in C order.
template <class Visit>
void for_each_point(const Space& space, Visit visit) {
  const int64_t count = space.count();
  std::vector<int64_t> offset(static_cast<size_t>(space.operands()));
  for (int64_t flat = 0; flat < count; ++flat) {
    std::fill(offset.begin(), offset.end(), 0);
    int64_t rest = flat;
    for (int axis = space.rank() - 1; axis >= 0; --axis) {
      for (int operand = 0; operand < space.operands(); ++operand) {
        offset[static_cast<size_t>(operand)] += rest % space.extent(axis) * space.stride(operand, axis);
      }
      rest /= space.extent(axis);
    }
    visit(offset);
  }
}

inline Case make_case(const CaseSpec& spec, Random& random) {
  Case result;
  Plan& plan = result.plan;
  plan.item = spec.item;
  plan.unit = spec.item * spec.items;
  plan.rule = spec.rule;
  plan.masked = spec.masked;
  result.with_fill = spec.with_fill;
  plan.space = Space(spec.extent, kIndex + spec.arrays);

  const Layout loose = spec.plain ? Layout::packed : Layout::any;
  const bool gather = spec.direction == Direction::gather;
  result.dense = make_array(choose_strides(plan.space, kDense, plan.unit, loose, random), random);
  std::pair<int64_t, int64_t> span = {0, plan.unit};
  if (spec.arrays == 0) {  // a copy must not reach an element of its target twice
    span = choose_strides(plan.space, kIndexed, plan.unit, gather ? Layout::may_repeat : Layout::any, random);
  } else if (!spec.anchored && random.chance(50)) {
    span = choose_strides(plan.space, kIndexed, plan.unit, Layout::may_repeat, random);
  }
  if (spec.masked)
    result.mask =
        make_array(choose_strides(plan.space, kMask, 1, spec.plain ? loose : Layout::may_repeat, random), random);
  if (spec.with_fill) {
    std::pair<int64_t, int64_t> fill_span = {0, plan.item};
    if (spec.fill_varies) fill_span = choose_strides(plan.space, kFill, plan.item, Layout::may_repeat, random);
    result.fill = make_array(fill_span, random);
  }

  // Two points of a scatter have equal targets or targets that do not overlap, so an index step exceeds the span of all
  // other strides.
  int64_t cell = gather ? plan.unit : span.first + span.second;
  for (int a = 0; a < spec.arrays; ++a) {
    IndexArray index;
    index.type = a == 0 || spec.interleaved ? spec.type : static_cast<IndexType>(random.from(0, 7));
    index.axis = a;
    if (spec.folds > 0) {
      int64_t stride = cell;
      index.extent = 1;
      for (int f = 0; f < spec.folds; ++f) {
        const FoldAxis fold{random.from(1, 5), random.chance(30) ? -stride : stride};
        plan.fold.push_back(fold);
        index.extent *= fold.extent;
        (fold.stride < 0 ? span.first : span.second) += (fold.extent - 1) * stride;
        stride = stride * fold.extent + random.from(0, 3) * cell;
      }
    } else {
      const int64_t most = gather ? 120 : std::clamp<int64_t>((1 << 14) / std::max<int64_t>(cell, 1), 2, 120);
      index.extent =
          random.chance(8) && spec.bad ? 0 : random.from(1, random.chance(50) ? std::min<int64_t>(9, most) : most);
      index.step = cell * random.from(1, 3) * (random.chance(20) ? -1 : 1);
      if (!gather) cell = std::abs(index.step) * std::max<int64_t>(index.extent, 1);
      (index.step < 0 ? span.first : span.second) += std::max<int64_t>(index.extent - 1, 0) * std::abs(index.step);
    }
    plan.index.push_back(index);
    if (spec.interleaved) result.apart = index_size(index.type);
    const int64_t size = index_size(index.type) * (spec.interleaved ? spec.arrays : 1);
    const Layout layout = spec.plain || spec.interleaved ? Layout::packed : Layout::may_repeat;
    result.index.push_back(make_array(choose_strides(plan.space, kIndex + a, size, layout, random), random));
    // All rows of points may have the same coordinate on one axis.
    const bool stays = spec.interleaved && a > 0 && plan.space.rank() > 1 && random.chance(20);
    if (stays) plan.space.stride(kIndex + a, 0) = 0;
  }
  result.indexed = make_array(span, random);

  // Indices are written through the geometry, so an element that several points read has the value written last. Some
  // masks have long runs, for kernels that look at a group of points at a time.
  const int change = random.pick<int>({100, 100, 2});  // percent of the points
  bool keeps = true;
  for_each_point(plan.space, [&](const std::vector<int64_t>& at) {
    if (spec.masked) {
      if (random.chance(change)) keeps = random.chance(60);
      result.mask.data()[at[kMask]] = static_cast<std::byte>(keeps ? random.from(1, 255) : 0);
    }
    for (int a = 0; a < spec.arrays; ++a) {
      const IndexArray& index = plan.index[a];
      store(result.index_data(a) + at[static_cast<size_t>(kIndex + a)], index.type,
            choose_value(index.type, index.extent, spec.rule, spec.bad, random));
    }
  });
  plan.result_shape = spec.extent;
  plan.index_shape = spec.extent;
  plan.index_space = plan.space;
  plan.finish();
  return result;
}

// The oracle; returns false if the rule forbids an index.
inline bool naive(const Plan& plan, const Buffers& buffers, Direction direction) {
  bool good = true;
  for_each_point(plan.space, [&](const std::vector<int64_t>& at) {
    if (!good) return;
    int64_t offset = at[kIndexed];
    bool nowhere = plan.masked && buffers.mask[at[kMask]] == std::byte{0};
    for (int a = 0; a < plan.index.size() && !nowhere; ++a) {
      const IndexArray& index = plan.index[a];
      int64_t position = visit_index(index.type, [&]<class Index>() {
        Index value;
        std::memcpy(&value, buffers.index[a] + at[static_cast<size_t>(kIndex + a)], sizeof(value));
        return resolve(value, index.extent, plan.rule);
      });
      if (position == kNowhere) {
        nowhere = true;
        good = plan.rule.fills();
      } else if (plan.fold.empty()) {
        offset += position * index.step;
      } else {
        for (int f = plan.fold.size() - 1; f >= 0; --f) {
          offset += position % plan.fold[f].extent * plan.fold[f].stride;
          position /= plan.fold[f].extent;
        }
      }
    }
    if (!good) return;
    std::byte* dense = buffers.dense + at[kDense];
    const auto unit = static_cast<size_t>(plan.unit);
    if (!nowhere && direction == Direction::gather) std::memcpy(dense, buffers.indexed + offset, unit);
    if (!nowhere && direction == Direction::scatter) std::memcpy(buffers.indexed + offset, dense, unit);
    if (!nowhere || direction == Direction::scatter) return;
    for (int64_t i = 0; i < plan.unit; i += plan.item) {
      if (buffers.fill == nullptr) {
        std::memset(dense + i, 0, static_cast<size_t>(plan.item));
      } else {
        std::memcpy(dense + i, buffers.fill + at[kFill], static_cast<size_t>(plan.item));
      }
    }
  });
  return good;
}

struct RunSetup {
  const char* name;
  cpu::Tuning tuning;
  int threads;
};

// Thresholds that run small cases on every path.
inline std::vector<RunSetup> run_setups() {
  RunSetup usual{"usual", {}, 1};
  RunSetup general{"general", {}, 1};
  general.tuning.general = true;
  RunSetup ahead{"ahead", {}, 1};
  ahead.tuning.l2_bytes = 64;
  ahead.tuning.far_bytes = ahead.tuning.far_element_bytes = 1;
  RunSetup runs{"ahead by runs", {}, 1};
  runs.tuning.l2_bytes = 1024;
  runs.tuning.far_bytes = runs.tuning.far_element_bytes = 1;
  RunSetup stream{"stream", {}, 1};
  stream.tuning.stream_bytes = stream.tuning.stream_late_bytes = 1;
  RunSetup both{"ahead and stream, threads", {}, 3};
  both.tuning.l2_bytes = 64;
  both.tuning.far_bytes = both.tuning.far_element_bytes = both.tuning.stream_bytes = both.tuning.stream_late_bytes = 1;
  RunSetup threads{"threads", {}, 2};
  for (RunSetup* setup : {&both, &threads}) {
    setup->tuning.min_chunk_bytes = 64;
    setup->tuning.min_chunk_points = 16;
    setup->tuning.min_piece_bytes = 64;
    setup->tuning.min_slice_bytes = 8;
    setup->tuning.serial_points = 0;
    setup->tuning.serial_points_far = 0;
    setup->tuning.serial_row_bytes = setup->tuning.serial_near_bytes = 0;
    setup->tuning.bitmap_share = 0;
  }
  RunSetup ranges = threads;  // no slices: the points are divided by ranges of targets
  ranges.name = "threads by ranges";
  ranges.tuning.min_slice_bytes = INT64_MAX;
  ranges.tuning.list_points = 40;
  ranges.tuning.partition_points = 200;
  RunSetup many = ranges;
  many.name = "threads by many ranges";
  many.threads = 12;
  RunSetup spans = ranges;  // of blocks of one point
  spans.name = "threads by ranges, in blocks";
  spans.tuning.span_points = 1;
  RunSetup gathers = usual;
  gathers.name = "gather instructions";
  RunSetup all_ways = both;
  all_ways.name = "gather instructions, ahead and stream, threads";
  for (RunSetup* setup : {&gathers, &all_ways}) {
    setup->tuning.gather_percent = setup->tuning.gather_percent_sparse = 0;
  }
  RunSetup tiles{"tiles", {}, 1};
  RunSetup small_tiles = threads;
  small_tiles.name = "small tiles, threads";
  small_tiles.tuning.tile_bytes = 200;
  RunSetup ordered_tiles = ranges;  // tiles of ranges of points
  ordered_tiles.name = "small tiles, threads by ranges";
  ordered_tiles.tuning.tile_bytes = 64;
  for (RunSetup* setup : {&tiles, &small_tiles, &ordered_tiles}) setup->tuning.walk_points = 1;
  std::vector<RunSetup> all = {usual, general, ahead, runs,        stream,        both,    threads, ranges,
                               many,  spans,   tiles, small_tiles, ordered_tiles, gathers, all_ways};
  for (RunSetup& setup : all) {
    setup.tuning.byte_tables = host::has_byte_permutations();
    setup.tuning.byte_run = 1;
  }
  return all;
}

// True if the kernel leaves the bytes of the oracle in all memory, and has its outcome.
inline bool agrees(Case& test, Direction direction, const std::string& level, const RunSetup& setup) {
  Array& target = direction == Direction::gather ? test.dense : test.indexed;
  const Bytes before = target.bytes;
  const bool good = naive(test.plan, test.buffers(), direction);
  const Bytes expected = target.bytes;
  target.bytes = before;
  RunOptions options;
  options.threads = setup.threads;
  cpu::Tuning tuning = setup.tuning;
  tuning.vectors = level == "v4";
  tuning.byte_tables = tuning.byte_tables && tuning.vectors;
  tuning.far_vector_bytes = tuning.far_target_bytes = tuning.far_element_bytes = tuning.far_bytes;
  const Outcome outcome =
      cpu::move_with(*cpu::kernels_of(level), tuning, test.plan, test.buffers(), direction, options);
  const bool same = target.bytes == expected;
  const bool guarded = std::equal(before.begin(), before.begin() + kGuard, target.bytes.begin()) &&
                       std::equal(before.end() - kGuard, before.end(), target.bytes.end() - kGuard);
  target.bytes = before;
  if (!good) return outcome == Outcome::bad_index && guarded;
  return outcome == Outcome::done && same;
}

inline const std::vector<int64_t> kEdges = {1,  2,   15,  16,  17,  31,  32,  33,  63, 64,
                                            65, 127, 128, 129, 255, 256, 257, 511, 513};

inline Dims choose_extent(int64_t unit, Random& random) {
  const int64_t most = std::max<int64_t>((1 << 17) / std::max<int64_t>(unit, 1), 6);
  const int rank = static_cast<int>(random.from(0, 4));
  Dims extent;
  int64_t points = 1;
  for (int axis = 0; axis < rank; ++axis) {
    const int64_t wanted = random.chance(50) ? random.from(1, 6) : random.pick(kEdges);
    extent.push_back(std::clamp<int64_t>(wanted, 1, std::max<int64_t>(std::min<int64_t>(most, 700) / points, 1)));
    points *= extent.back();
  }
  return extent;
}

}  // namespace gs::test

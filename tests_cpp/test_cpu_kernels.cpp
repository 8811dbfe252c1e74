// test_cpu_kernels.cpp: every kernel of every instruction set level against a loop over points.
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "backends/cpu/cpu.h"
#include "backends/cpu/host_settings.h"
#include "backends/host_info.h"
#include "catch.h"

using namespace gs;

namespace {

using Bytes = std::vector<std::byte>;
constexpr int64_t kGuard = 64;  // bytes around every array that must stay as they are

// The levels that this processor has; the others are named, not passed over in silence.
std::vector<std::string> levels() {
  const std::vector<std::string> all = {"baseline", "v3", "v4"};
  const auto last = std::find(all.begin(), all.end(), host::supported_level());
  std::vector<std::string> found;
  for (auto level = all.begin(); level != all.end(); ++level) {
    if (level <= last && cpu::kernels(*level) != nullptr) {
      found.push_back(*level);
    } else {
      WARN("skipped: level " << *level << " (this processor or build lacks it)");
    }
  }
  return found;
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

// An array of one operand: memory with a guard on both sides, and where its first element lies.
struct Array {
  Bytes bytes;
  int64_t origin = kGuard;
  const std::byte* data() const { return bytes.data() + origin; }
  std::byte* data() { return bytes.data() + origin; }
};

enum class Layout { packed, any, may_repeat };

// Chooses strides for an operand: in C order, or axes in any order with gaps, reversed, or (may_repeat) not walked at all.
// Returns the bytes below and above the origin that elements of `size` bytes need.
std::pair<int64_t, int64_t> choose_strides(Space& space, int operand, int64_t size, Layout layout, Random& random) {
  std::vector<int> order(static_cast<size_t>(space.rank()));
  std::iota(order.rbegin(), order.rend(), 0);
  if (layout != Layout::packed) std::shuffle(order.begin(), order.end(), std::mt19937(static_cast<unsigned>(random.from(0, 1 << 30))));
  int64_t next = size;
  int64_t below = 0;
  int64_t above = 0;
  for (const int axis : order) {
    if (layout == Layout::may_repeat && random.chance(20)) continue;
    int64_t stride = next;
    if (layout != Layout::packed && random.chance(25)) stride += random.from(1, 9);
    const int64_t span = (space.extent(axis) - 1) * stride;
    next = stride * std::max<int64_t>(space.extent(axis), 1);
    const bool reversed = layout != Layout::packed && random.chance(20);
    space.stride(operand, axis) = reversed ? -stride : stride;
    (reversed ? below : above) += std::max<int64_t>(span, 0);
  }
  return {below, above + size};
}

Array make_array(std::pair<int64_t, int64_t> span, Random& random) {
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
  bool with_fill = false;

  Buffers buffers() {
    Buffers buffers;
    buffers.dense = dense.data();
    buffers.indexed = indexed.data();
    buffers.mask = plan.masked ? mask.data() : nullptr;
    buffers.fill = with_fill ? fill.data() : nullptr;
    for (const Array& array : index) buffers.index.push_back(array.data());
    return buffers;
  }
};

struct Wish {
  Direction direction = Direction::gather;
  Rule rule;
  IndexType type = IndexType::i64;
  int64_t item = 4;
  int64_t items = 1;  // of a unit
  int arrays = 1;
  bool masked = false;
  bool with_fill = false;
  bool fill_varies = false;
  bool bad = false;  // some indices may be outside, whatever the rule says about it
  bool plain = false;  // packed dense side and index, as most calls have them
  int folds = 0;
  Dims extent;
};

// A value of the type, in range or out of it.
int64_t choose_value(IndexType type, int64_t extent, Rule rule, bool outside, Random& random) {
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

void store(std::byte* at, IndexType type, int64_t value) {
  visit_index(type, [&]<class Index>() {
    const auto typed = static_cast<Index>(value);
    std::memcpy(at, &typed, sizeof(typed));
  });
}

// Calls visit(offset of every operand) for each point in C order.
template <class Visit>
void for_each_point(const Space& space, Visit visit) {
  const int64_t count = space.count();
  for (int64_t flat = 0; flat < count; ++flat) {
    std::vector<int64_t> offset(static_cast<size_t>(space.operands()), 0);
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

Case make_case(const Wish& wish, Random& random) {
  Case result;
  Plan& plan = result.plan;
  plan.item = wish.item;
  plan.unit = wish.item * wish.items;
  plan.rule = wish.rule;
  plan.masked = wish.masked;
  result.with_fill = wish.with_fill;
  plan.space = Space(wish.extent, kIndex + wish.arrays);

  const Layout loose = wish.plain ? Layout::packed : Layout::any;
  const bool gather = wish.direction == Direction::gather;
  result.dense = make_array(choose_strides(plan.space, kDense, plan.unit, loose, random), random);
  std::pair<int64_t, int64_t> span = {0, plan.unit};
  if (wish.arrays == 0) {  // a copy has to walk its target without meeting a place twice
    span = choose_strides(plan.space, kIndexed, plan.unit, gather ? Layout::may_repeat : Layout::any, random);
  } else if (random.chance(50)) {
    span = choose_strides(plan.space, kIndexed, plan.unit, Layout::may_repeat, random);
  }
  if (wish.masked) result.mask = make_array(choose_strides(plan.space, kMask, 1, wish.plain ? loose : Layout::may_repeat, random), random);
  if (wish.with_fill) {
    std::pair<int64_t, int64_t> fill_span = {0, plan.item};
    if (wish.fill_varies) fill_span = choose_strides(plan.space, kFill, plan.item, Layout::may_repeat, random);
    result.fill = make_array(fill_span, random);
  }

  for (int a = 0; a < wish.arrays; ++a) {
    IndexArray index;
    index.type = a == 0 ? wish.type : static_cast<IndexType>(random.from(0, 7));
    index.axis = a;
    if (wish.folds > 0) {
      int64_t stride = plan.unit;
      index.extent = 1;
      for (int f = 0; f < wish.folds; ++f) {
        const FoldAxis fold{random.from(1, 5), random.chance(30) ? -stride : stride};
        plan.fold.push_back(fold);
        index.extent *= fold.extent;
        (fold.stride < 0 ? span.first : span.second) += (fold.extent - 1) * stride;
        stride = stride * fold.extent + random.from(0, 3);
      }
    } else {
      index.extent = random.chance(8) && wish.bad ? 0 : random.from(1, random.chance(50) ? 9 : 120);
      index.step = plan.unit * random.from(1, 3) * (random.chance(20) ? -1 : 1);
      (index.step < 0 ? span.first : span.second) += std::max<int64_t>(index.extent - 1, 0) * std::abs(index.step);
    }
    plan.index.push_back(index);
    const auto index_span = choose_strides(plan.space, kIndex + a, index_size(index.type),
                                           wish.plain ? loose : Layout::may_repeat, random);
    result.index.push_back(make_array(index_span, random));
  }
  result.indexed = make_array(span, random);

  // Values are written through the geometry, so a repeated index has the one that was written last.
  for_each_point(plan.space, [&](const std::vector<int64_t>& at) {
    if (wish.masked) result.mask.data()[at[kMask]] = static_cast<std::byte>(random.chance(60) ? random.from(1, 255) : 0);
    for (int a = 0; a < wish.arrays; ++a) {
      const IndexArray& index = plan.index[a];
      store(result.index[static_cast<size_t>(a)].data() + at[static_cast<size_t>(kIndex + a)], index.type,
            choose_value(index.type, index.extent, wish.rule, wish.bad, random));
    }
  });
  plan.result_shape = wish.extent;
  plan.index_shape = wish.extent;
  plan.index_space = plan.space;
  plan.finish();
  return result;
}

// The oracle: false where the rule forbids an index.
bool naive(const Plan& plan, const Buffers& buffers, Direction direction) {
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
    for (int64_t i = 0; i < plan.unit; ++i) {
      if (!nowhere) {
        if (direction == Direction::gather) {
          dense[i] = buffers.indexed[offset + i];
        } else {
          buffers.indexed[offset + i] = dense[i];
        }
      } else if (direction == Direction::gather) {
        dense[i] = buffers.fill == nullptr ? std::byte{0} : buffers.fill[at[kFill] + i % plan.item];
      }
    }
  });
  return good;
}

struct Way {
  const char* name;
  cpu::Tuning tuning;
  int threads;
};

// Thresholds that send small cases down every path.
std::vector<Way> ways() {
  Way usual{"usual", {}, 1};
  Way general{"general", {}, 1};
  general.tuning.general = true;
  Way ahead{"ahead", {}, 1};
  ahead.tuning.l2_bytes = 64;
  Way runs{"ahead by runs", {}, 1};
  runs.tuning.l2_bytes = 1024;
  Way stream{"stream", {}, 1};
  stream.tuning.llc_bytes = 2;
  Way both{"ahead and stream, threads", {}, 3};
  both.tuning.l2_bytes = 64;
  both.tuning.llc_bytes = 2;
  Way threads{"threads", {}, 2};
  for (Way* way : {&both, &threads}) {
    way->tuning.min_chunk_bytes = 64;
    way->tuning.min_chunk_points = 16;
    way->tuning.min_piece_bytes = 64;
    way->tuning.serial_points = 0;
    way->tuning.serial_points_far = 0;
    way->tuning.serial_row_bytes = 0;
  }
  return {usual, general, ahead, runs, stream, both, threads};
}

// True if the kernel leaves the same bytes everywhere, and the same outcome, as the oracle.
bool agrees(Case& test, Direction direction, const std::string& level, const Way& way) {
  Array& target = direction == Direction::gather ? test.dense : test.indexed;
  const Bytes before = target.bytes;
  const bool good = naive(test.plan, test.buffers(), direction);
  const Bytes expected = target.bytes;
  target.bytes = before;
  RunOptions options;
  options.threads = way.threads;
  const Outcome outcome = cpu::move_with(cpu::kernels(level), way.tuning, test.plan, test.buffers(), direction, options);
  const bool same = target.bytes == expected;
  const bool guarded = std::equal(before.begin(), before.begin() + kGuard, target.bytes.begin()) &&
                       std::equal(before.end() - kGuard, before.end(), target.bytes.end() - kGuard);
  target.bytes = before;
  if (!good) return outcome == Outcome::bad_index && guarded;
  return outcome == Outcome::done && same;
}

const std::vector<int64_t> kEdges = {1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 513};

Dims choose_extent(int64_t unit, Random& random) {
  const int64_t most = std::max<int64_t>((1 << 17) / std::max<int64_t>(unit, 1), 6);
  const int rank = static_cast<int>(random.from(0, 4));
  Dims extent;
  int64_t points = 1;
  for (int axis = 0; axis < rank; ++axis) {
    const int64_t wanted = random.chance(50) ? random.from(1, 6) : random.pick(kEdges);
    extent.push_back(std::clamp<int64_t>(wanted, 1, std::max<int64_t>(std::min<int64_t>(most, 2000) / points, 1)));
    points *= extent.back();
  }
  return extent;
}

}  // namespace

TEST_CASE("every unit, index type, rule, mask, fill and direction agrees with the oracle on every level") {
  const std::vector<std::pair<int64_t, int64_t>> units = {{0, 1}, {1, 1}, {2, 1}, {3, 1},  {4, 1},  {8, 1},   {4, 3},
                                                          {16, 1}, {8, 3}, {64, 1}, {4, 25}, {4096, 1}, {1, 8}, {2, 8}};
  const std::vector<Way> all_ways = ways();
  for (const std::string& level : levels()) {
    Random random(20240607);
    int64_t runs = 0;
    for (const auto& [item, items] : units) {
      for (int type = 0; type < 8; ++type) {
        for (int bounds = 0; bounds < 6; ++bounds) {
          for (int variant = 0; variant < 16; ++variant) {
            Wish wish;
            wish.item = item;
            wish.items = items;
            wish.type = static_cast<IndexType>(type);
            wish.rule.bounds = static_cast<Bounds>(bounds);
            wish.rule.negative = (variant & 1) != 0 ? Negative::from_end : Negative::out_of_bounds;
            wish.direction = (variant & 2) != 0 ? Direction::gather : Direction::scatter;
            wish.masked = (variant & 4) != 0;
            wish.with_fill = (variant & 8) != 0;
            wish.fill_varies = random.chance(40);
            const bool judged = wish.rule.bounds == Bounds::raise || wish.rule.bounds == Bounds::deferred;
            wish.bad = wish.rule.bounds != Bounds::unchecked && (!judged || random.chance(15));
            wish.plain = random.chance(50);
            wish.arrays = random.chance(75) ? 1 : static_cast<int>(random.from(0, 3));
            wish.folds = wish.arrays == 1 && random.chance(15) ? static_cast<int>(random.from(1, 3)) : 0;
            wish.extent = choose_extent(item * items, random);
            Case test = make_case(wish, random);
            const Way way = random.pick(all_ways);
            ++runs;
            if (agrees(test, wish.direction, level, way)) continue;
            FAIL("level " << level << ", " << way.name << ", unit " << item << "*" << items << ", " << index_name(wish.type)
                          << ", bounds " << bounds << ", variant " << variant << ", arrays " << wish.arrays << ", folds "
                          << wish.folds << ", kind " << kind_name(test.plan.kind));
          }
        }
      }
    }
    REQUIRE(runs == static_cast<int64_t>(units.size()) * 8 * 6 * 16);
  }
}

TEST_CASE("sizes around every block and chunk edge, on every path") {
  for (const std::string& level : levels()) {
    Random random(7);
    for (const Way& way : ways()) {
      for (const int64_t count : {0, 1, 15, 16, 17, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1023, 1025, 4095, 4096, 4097}) {
        for (const int64_t unit : {1, 2, 4, 8, 16, 12, 32, 48, 96, 100, 128, 256}) {
          Wish wish;
          wish.item = unit;
          wish.plain = true;
          wish.rule.bounds = random.pick<Bounds>({Bounds::raise, Bounds::fill, Bounds::clip, Bounds::wrap});
          wish.bad = wish.rule.bounds != Bounds::raise;
          wish.type = random.pick<IndexType>({IndexType::i32, IndexType::i64, IndexType::u8});
          wish.extent = Dims{count};
          Case test = make_case(wish, random);
          INFO(level << ", " << way.name << ", count " << count << ", unit " << unit);
          if (!agrees(test, Direction::gather, level, way)) FAIL("gather");
          if (!agrees(test, Direction::scatter, level, way)) FAIL("scatter");
        }
      }
    }
  }
  SUCCEED("all agree");
}

TEST_CASE("sequential, sorted and equal indices take the same answer from the shortcuts") {
  for (const std::string& level : levels()) {
    for (const Way& way : ways()) {
      for (const int64_t unit : {1, 4, 16, 100, 256}) {
        for (const int pattern : {0, 1, 2, 3}) {
          Random random(11);
          Wish wish;
          wish.item = unit;
          wish.plain = true;
          wish.extent = Dims{700};
          Case test = make_case(wish, random);
          const int64_t extent = 1500;
          test.plan.index[0].extent = extent;
          test.plan.index[0].step = unit;
          test.indexed = make_array({0, extent * unit}, random);
          for (int64_t k = 0; k < 700; ++k) {
            const int64_t value = pattern == 0 ? k + 3 : pattern == 1 ? 2 * k : pattern == 2 ? 5 : (k < 650 ? k : 1499 - k);
            store(test.index[0].data() + 8 * k, IndexType::i64, value);
          }
          INFO(level << ", " << way.name << ", unit " << unit << ", pattern " << pattern);
          REQUIRE(agrees(test, Direction::gather, level, way));
          REQUIRE(agrees(test, Direction::scatter, level, way));
        }
      }
    }
  }
}

TEST_CASE("one bad index anywhere stops the run, unless the mask hides it") {
  for (const std::string& level : levels()) {
    for (const Way& way : ways()) {
      for (const int64_t at : {0, 1, 63, 64, 255, 256, 999}) {
        for (const int64_t value : {int64_t{50}, int64_t{-51}, INT64_MAX, INT64_MIN}) {
          Random random(3);
          Wish wish;
          wish.plain = true;
          wish.masked = true;
          wish.extent = Dims{1000};
          Case test = make_case(wish, random);
          test.plan.index[0].extent = 50;
          test.plan.index[0].step = 4;
          test.indexed = make_array({0, 200}, random);
          for (int64_t k = 0; k < 1000; ++k) store(test.index[0].data() + 8 * k, IndexType::i64, k % 50);
          store(test.index[0].data() + 8 * at, IndexType::i64, value);
          RunOptions options;
          options.threads = way.threads;
          const auto run = [&](const Plan& plan, Direction direction) {
            return cpu::move_with(cpu::kernels(level), way.tuning, plan, test.buffers(), direction, options);
          };
          INFO(level << ", " << way.name << ", at " << at << ", value " << value);
          test.mask.data()[at] = std::byte{1};
          REQUIRE(run(test.plan, Direction::gather) == Outcome::bad_index);
          test.mask.data()[at] = std::byte{0};
          REQUIRE(run(test.plan, Direction::gather) == Outcome::done);
          REQUIRE(run(test.plan, Direction::scatter) == Outcome::done);
          Plan bare = test.plan;
          bare.masked = false;
          REQUIRE(run(bare, Direction::gather) == Outcome::bad_index);
          REQUIRE(run(bare, Direction::scatter) == Outcome::bad_index);
        }
      }
    }
  }
}

TEST_CASE("long units are cut into pieces for the threads") {
  for (const std::string& level : levels()) {
    for (const int64_t unit : {(5 << 20) + 12, 300000}) {
      for (const int64_t item : {unit, int64_t{4}}) {
        for (const bool with_fill : {false, true}) {
          Random random(5);
          Wish wish;
          wish.item = item;
          wish.items = unit / item;
          wish.plain = true;
          wish.bad = true;
          wish.with_fill = with_fill;
          wish.rule.bounds = Bounds::fill;
          wish.extent = Dims{3};
          Case test = make_case(wish, random);
          test.plan.index[0].extent = 2;
          test.plan.index[0].step = unit;
          test.indexed = make_array({0, 2 * unit}, random);
          for (int64_t k = 0; k < 3; ++k) store(test.index[0].data() + 8 * k, IndexType::i64, k);
          for (const int threads : {1, 2, 5}) {
            Way way{"threads", {}, threads};
            REQUIRE(agrees(test, Direction::gather, level, way));
            way.tuning.llc_bytes = 1 << 20;
            REQUIRE(agrees(test, Direction::gather, level, way));
            REQUIRE(agrees(test, Direction::scatter, level, way));
          }
        }
      }
    }
  }
}

TEST_CASE("offsets beyond 32 bits") {
  const size_t size = (size_t{5} << 31) + 4096;  // reserved, of which three pages are touched
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  auto* table = static_cast<std::byte*>(memory);
  Plan plan;
  plan.item = plan.unit = 8;
  plan.space = Space(Dims{3}, 5);
  plan.space.stride(kDense, 0) = 8;
  plan.space.stride(kIndex, 0) = 1;
  plan.index.push_back({IndexType::i8, 0, 6, int64_t{1} << 31});
  plan.index_space = plan.space;
  plan.finish();
  const int8_t index[] = {5, -6, 2};
  for (const int row : {0, 2, 5}) {
    const int64_t value = 1000 + row;
    std::memcpy(table + (int64_t{row} << 31), &value, 8);
  }
  for (const std::string& level : levels()) {
    for (const Way& way : ways()) {
      int64_t result[3] = {};
      Buffers buffers;
      buffers.dense = reinterpret_cast<std::byte*>(result);
      buffers.indexed = table;
      buffers.index.push_back(reinterpret_cast<const std::byte*>(index));
      const Outcome outcome = cpu::move_with(cpu::kernels(level), way.tuning, plan, buffers, Direction::gather, {});
      REQUIRE(outcome == Outcome::done);
      REQUIRE(result[0] == 1005);
      REQUIRE(result[1] == 1000);
      REQUIRE(result[2] == 1002);
    }
  }
  munmap(memory, size);
}

TEST_CASE("more than 2^31 points") {
  Plan plan;  // an empty dtype: nothing to move, but every index counts
  plan.item = plan.unit = 0;
  plan.space = Space(Dims{(int64_t{1} << 31) + 100}, 5);
  plan.index.push_back({IndexType::i64, 0, 4, 0});
  plan.index_space = plan.space;
  plan.finish();
  int64_t index = 3;
  Buffers buffers;
  buffers.index.push_back(reinterpret_cast<const std::byte*>(&index));
  RunOptions options;
  options.threads = 2;
  REQUIRE(cpu::backend().move(plan, buffers, Direction::gather, options) == Outcome::done);
  index = 4;
  REQUIRE(cpu::backend().move(plan, buffers, Direction::gather, options) == Outcome::bad_index);
}

TEST_CASE("an interrupted run stops early and says so") {
  Random random(1);
  Wish wish;
  wish.plain = true;
  wish.extent = Dims{1 << 25};
  wish.type = IndexType::u8;
  wish.item = 1;
  Case test;
  test.plan.item = test.plan.unit = 1;
  test.plan.space = Space(Dims{int64_t{1} << 33}, 5);  // seconds of work on one byte of index and one of result
  test.plan.index.push_back({IndexType::u8, 0, 1, 1});
  test.plan.index_space = test.plan.space;
  test.plan.finish();
  test.dense = make_array({0, 1}, random);
  test.indexed = make_array({0, 1}, random);
  test.index.push_back(make_array({0, 1}, random));
  test.index[0].data()[0] = std::byte{0};
  static std::atomic<int> asked;
  asked = 0;
  RunOptions options;
  options.interrupted = [] { return ++asked >= 2; };
  REQUIRE(cpu::backend().move(test.plan, test.buffers(), Direction::scatter, options) == Outcome::interrupted);
  REQUIRE(asked == 2);
}

TEST_CASE("the backend names its kernel and its threads") {
  Plan plan;
  plan.item = plan.unit = 4;
  plan.space = Space(Dims{1 << 20}, 5);
  plan.space.stride(kDense, 0) = 4;
  plan.space.stride(kIndex, 0) = 8;
  plan.index.push_back({IndexType::i64, 0, 100, 4});
  plan.index_space = plan.space;
  plan.finish();
  const Backend& backend = cpu::backend();
  REQUIRE(backend.kernel(plan, Direction::gather) == host::info().isa + " elements");
  REQUIRE(backend.threads(plan, Direction::gather, 2) == 2);
  REQUIRE(backend.threads(plan, Direction::gather, 1) == 1);
  REQUIRE(backend.threads(plan, Direction::scatter, 2) == 1);
  plan.space = Space(Dims{100}, 5);
  REQUIRE(backend.threads(plan, Direction::gather, 2) == 1);
  REQUIRE(cpu::kernels("sse") == nullptr);
}

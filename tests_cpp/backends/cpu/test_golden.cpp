// test_golden.cpp: how some 500 calls run, and what they leave, compared with golden.txt, which is kept: the kernel and
// the decisions that explain shows, the steps that the call really took (trace.h), and a hash of the bytes it left.
// A change of the decisions changes lines of the file, and a review sees which. The program writes what it found
// into the build folder; GS_GOLDEN=write writes it over the file that is kept.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/kernel_levels.h"
#include "backends/cpu/run.h"
#include "backends/cpu/trace.h"
#include "catch.h"
#include "core/reductions.h"
#include "cpu_cases.h"
#include "plans_by_hand.h"

namespace {

std::mutex lock;
std::vector<std::string> steps;  // in the order in which they were first taken by the calling thread
std::set<std::string> jobs;      // of all threads, in the order of their names: threads take them in any order

void forget() {
  const std::lock_guard guard(lock);
  steps.clear();
  jobs.clear();
}

const char* name_of(gs::cpu::Form form) {
  switch (form) {
    case gs::cpu::Form::elements: return "elements";
    case gs::cpu::Form::vectors: return "vectors";
    case gs::cpu::Form::byte_table: return "byte table";
    default: return "blocks";
  }
}

}  // namespace

namespace gs::cpu {

void trace(const char* step) {
  const std::lock_guard guard(lock);
  if (std::find(steps.begin(), steps.end(), step) == steps.end()) steps.emplace_back(step);
}

void trace(const Job& job) {
  std::string text = name_of(job.form);
  if (job.general) text += " general";
  if (job.ahead == Ahead::units) text += " ahead";
  if (job.ahead == Ahead::points) text += " ahead by points";
  if (job.ahead == Ahead::runs) text += " ahead by runs";
  if (job.stream) text += " stream";
  if (job.to.marks.bits != nullptr) text += " marks";
  if (job.scatter && !job.to.own_all) text += " own";
  const std::lock_guard guard(lock);
  jobs.insert(text);
}

}  // namespace gs::cpu

using namespace gs;
using namespace gs::test;

namespace {

// Numbers that are the same with every standard library, for which its distributions are not.
class Numbers {
 public:
  explicit Numbers(uint64_t seed) : engine_(seed) {}
  int64_t below(int64_t n) { return static_cast<int64_t>(engine_() % static_cast<uint64_t>(std::max<int64_t>(n, 1))); }

 private:
  std::mt19937_64 engine_;
};

enum class Pattern { random, sorted, equal };

struct Named {
  std::string name;
  Plan plan;
  Pattern pattern = Pattern::random;
  bool outside = false;  // some indices are bad
};

struct Move {
  std::string name;
  Direction direction;
  Combine combine = {};
  bool from_base = false;  // into fresh memory, which becomes a copy of another array first
};

struct Limits {
  std::string name;
  cpu::Tuning tuning;
  std::vector<int> threads;
};

// Memory that begins at a cache line: steps depend on whether targets are whole lines.
class Memory {
 public:
  Memory() = default;
  Memory(const Memory&) = delete;  // a copy would lie elsewhere than `data` says
  Memory(Memory&&) = default;
  Memory& operator=(Memory&&) = default;
  explicit Memory(int64_t size) : bytes_(static_cast<std::size_t>(size) + 64), size_(static_cast<std::size_t>(size)) {
    data_ = bytes_.data() + (64 - reinterpret_cast<uintptr_t>(bytes_.data()) % 64) % 64;
  }
  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::byte* begin() const { return data_; }
  std::byte* end() const { return data_ + size_; }

 private:
  Bytes bytes_;  // moves keep its address
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// The arrays of a plan, which lie in one memory each.
struct Arrays {
  Memory dense, indexed, mask;
  std::vector<Memory> index;
  Buffers buffers;
};

int64_t span_of(const Plan& plan, int operand, int64_t item, int64_t& below) {
  int64_t above = item;
  below = 0;
  for (int axis = 0; axis < plan.space.rank(); ++axis) {
    const int64_t reach = (plan.space.extent(axis) - 1) * plan.space.stride(operand, axis);
    (reach < 0 ? below : above) += std::abs(reach);
  }
  return below + above;
}

// Numbers that every sum of them holds exactly in float16 as well, so that no result is infinite.
void fill_values(const Memory& bytes, Number number, Numbers& numbers) {
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(numbers.below(256));
  if (number == Number::f32) {
    for (std::size_t i = 0; i + 4 <= bytes.size(); i += 4) {
      const auto value = static_cast<float>(numbers.below(2000) - 1000) / 8.0f;
      std::memcpy(bytes.data() + i, &value, 4);
    }
  }
}

Arrays arrays_of(const Named& named, Number number, Numbers& numbers) {
  const Plan& plan = named.plan;
  Arrays arrays;
  int64_t below = 0;
  arrays.dense = Memory(span_of(plan, kDense, plan.unit, below));
  arrays.buffers.dense = arrays.dense.data() + below;
  const Span span = indexed_span(plan);
  arrays.indexed = Memory(span.high - span.low);
  arrays.buffers.indexed = arrays.indexed.data() - span.low;
  fill_values(arrays.dense, number, numbers);
  fill_values(arrays.indexed, number, numbers);
  if (plan.masked) {
    arrays.mask = Memory(span_of(plan, kMask, 1, below));
    for (std::byte& byte : arrays.mask) byte = static_cast<std::byte>(numbers.below(3) != 0);
    arrays.buffers.mask = arrays.mask.data() + below;
  }
  for (int a = 0; a < plan.index.size(); ++a) {
    const IndexArray& index = plan.index[a];
    const int64_t size = index_size(index.type);
    const Memory& memory = arrays.index.emplace_back(span_of(plan, kIndex + a, size, below));
    const int64_t count = static_cast<int64_t>(memory.size()) / size;
    const int64_t often = numbers.below(index.extent);
    for (int64_t i = 0; i < count; ++i) {
      int64_t value = numbers.below(index.extent);
      if (named.pattern == Pattern::sorted) value = i * index.extent / count;
      if (named.pattern == Pattern::equal) value = often;
      if (named.outside && numbers.below(50) == 0) value = index.extent + numbers.below(9);
      store(memory.data() + i * size, index.type, value);
    }
    arrays.buffers.index.push_back(memory.data() + below);
  }
  return arrays;
}

std::string hash_of(const Memory& bytes) {
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const std::byte byte : bytes) hash = (hash ^ static_cast<uint64_t>(byte)) * 1099511628211u;
  std::ostringstream text;
  text << std::hex << hash;
  return text.str();
}

std::string joined(const auto& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text.empty() ? "nothing" : text;
}

std::string explained(const cpu::Tuning& tuning, const Plan& plan, const Move& move, int threads) {
  std::vector<std::string> parts;
  for (const Decision& each :
       cpu::decisions_of(*cpu::kernels_of("baseline"), tuning, plan, move.direction, move.combine, threads)) {
    const char* const why = each.threshold != nullptr ? each.threshold : each.reason;
    parts.push_back(std::string(each.name) + " " + each.chosen + (why == nullptr ? "" : " (" + std::string(why) + ")"));
  }
  return joined(parts);
}

std::vector<Named> plans() {
  std::vector<Named> all;
  const auto add = [&](std::string name, const Plan& plan, Pattern pattern = Pattern::random) {
    all.push_back({std::move(name), plan, pattern, false});
  };
  add("take 100", take_plan(100));
  add("take 40000 of 1000", take_plan(40000, 4, IndexType::i64, 1000));
  add("take 40000 of 1000 sorted", take_plan(40000, 4, IndexType::i64, 1000), Pattern::sorted);
  add("take 40000 of 1000 equal", take_plan(40000, 4, IndexType::i32, 1000), Pattern::equal);
  add("take 40000 of 90000 i32", take_plan(40000, 4, IndexType::i32, 90000));
  add("take 40000 of 200 u8", take_plan(40000, 4, IndexType::u8, 200));
  Plan rows = take_plan(3000, 128, IndexType::i64, 5000);
  rows.item = 4;
  add("rows 3000 of 5000 x 128 bytes", rows);
  add("rows 3000 of 5000 x 128 bytes sorted", rows, Pattern::sorted);
  Plan odd = take_plan(3000, 20, IndexType::i64, 500);
  odd.item = 4;
  add("rows 3000 of 500 x 20 bytes", odd);
  Plan few = take_plan(4, 1 << 16, IndexType::i64, 8);
  few.item = 4;
  add("rows 4 of 8 x 64 KiB", few);
  add("each row its own indices", rows_plan(64, 700, 300));
  add("each row its own indices, 3 items", rows_plan(64, 300, 200, 3));
  add("along the first axis, C order", gather_plan(300, 400, 200));
  add("along 0 of 200 x 200, F source", along_plan(200, 0, Order::f, Order::c));
  add("along 1 of 200 x 200, F index", along_plan(200, 1, Order::c, Order::f));
  add("flat 200 x 200, F result", flat_plan(200, 200, Order::f, Order::c));
  return all;
}

// The plans under other rules, and with a mask.
std::vector<Named> ruled_plans() {
  std::vector<Named> all;
  for (const auto& [word, bounds] : {std::pair("clip", Bounds::clip),
                                     {"wrap", Bounds::wrap},
                                     {"fill", Bounds::fill},
                                     {"raise", Bounds::raise},
                                     {"unchecked", Bounds::unchecked}}) {
    for (const int64_t unit : {4, 64}) {
      Plan plan = take_plan(20000, unit, IndexType::i64, 900);
      plan.item = 4;
      plan.rule.bounds = bounds;
      plan.finish();
      all.push_back({std::string(word) + ", units of " + std::to_string(unit), plan, Pattern::random,
                     bounds != Bounds::unchecked});
      plan.masked = true;
      plan.space.stride(kMask, 0) = 1;
      plan.index_space = plan.space;
      plan.finish();
      all.push_back({std::string(word) + " masked, units of " + std::to_string(unit), plan, Pattern::random, false});
    }
  }
  return all;
}

std::vector<Limits> limits() {
  Limits usual{"usual", {}, {2}};
  Limits small{"small limits", {}, {1, 3}};
  cpu::Tuning& tuning = small.tuning;
  tuning.l2_bytes = 4096;
  tuning.far_bytes = tuning.far_vector_bytes = tuning.far_target_bytes = tuning.far_element_bytes = 1;
  tuning.stream_bytes = tuning.stream_late_bytes = 4096;
  tuning.min_chunk_bytes = 64;
  tuning.min_chunk_points = 16;
  tuning.min_piece_bytes = 64;
  tuning.min_slice_bytes = 8;
  tuning.serial_points = tuning.serial_points_far = 0;
  tuning.serial_row_bytes = tuning.serial_near_bytes = 0;
  tuning.bitmap_share = 0;
  tuning.walk_points = 1;
  tuning.tile_bytes = 2048;
  tuning.totals_window = 300;
  tuning.flags_window = 700;
  Limits ranges{"ranges", {}, {12}};
  ranges.tuning.serial_points = ranges.tuning.serial_points_far = 0;
  ranges.tuning.serial_row_bytes = ranges.tuning.serial_near_bytes = 0;
  ranges.tuning.min_chunk_bytes = 64;
  ranges.tuning.min_chunk_points = 16;
  ranges.tuning.min_piece_bytes = INT64_MAX / 4;
  ranges.tuning.min_slice_bytes = INT64_MAX;
  ranges.tuning.partition_points = 2000;
  ranges.tuning.list_points = 400;
  ranges.tuning.span_points = 64;
  return {usual, small, ranges};
}

const std::vector<Move> kMoves = {
    {"gather", Direction::gather},
    {"scatter", Direction::scatter},
    {"scatter, from a base", Direction::scatter, {}, true},
    {"add float32", Direction::scatter, {Reduce::add, Number::f32, true}},
    {"mean float32", Direction::scatter, {Reduce::mean, Number::f32, true}},
    {"max float32 without the input", Direction::scatter, {Reduce::max, Number::f32, false}},
};

// Three lines for a call: its name, what explain says of it, the steps that it took and a hash of what it left.
std::string line_of(const Named& named, const Move& move, const Limits& limits, int threads, uint64_t seed) {
  Numbers numbers(seed);
  const bool reduces = move.combine.reduce != Reduce::set;
  Arrays arrays = arrays_of(named, reduces ? Number::f32 : Number::u8, numbers);
  const std::string kernel =
      cpu::kernel_name(*cpu::kernels_of("baseline"), limits.tuning, named.plan, move.direction, move.combine, threads);
  const std::string words = explained(limits.tuning, named.plan, move, threads);
  const Bytes dense(arrays.dense.begin(), arrays.dense.end());
  const Bytes indexed(arrays.indexed.begin(), arrays.indexed.end());
  std::string left;
  std::string taken;
  static const std::vector<std::string> all = levels();
  for (const std::string& level : all) {
    std::memcpy(arrays.dense.data(), dense.data(), dense.size());
    std::memcpy(arrays.indexed.data(), indexed.data(), indexed.size());
    if (move.from_base) {
      std::memset(arrays.indexed.data(), 0, indexed.size());
      arrays.buffers.base = indexed.data();
      arrays.buffers.base_bytes = static_cast<int64_t>(indexed.size());
    }
    forget();
    const bool gathers = move.direction == Direction::gather;
    const RunOptions options{threads, nullptr};
    const cpu::Kernels& kernels = *cpu::kernels_of(level);
    const Outcome outcome =
        !gathers && reduces
            ? cpu::reduce_with(kernels, limits.tuning, named.plan, arrays.buffers, move.combine, options)
            : cpu::move_with(kernels, limits.tuning, named.plan, arrays.buffers, move.direction, options);
    const Memory& bytes = gathers ? arrays.dense : arrays.indexed;
    // What a call with a bad index has written by then depends on threads and levels.
    const std::string now = outcome == Outcome::done ? hash_of(bytes) : "bad index";
    if (level == "baseline") {
      left = now;
      taken = joined(steps) + "; " + joined(jobs);
    }
    REQUIRE(left == now);
  }
  return named.name + " | " + move.name + " | " + limits.name + " | " + std::to_string(threads) + "\n    " + kernel +
         " | " + words + "\n    " + taken + " | " + left + "\n";
}

}  // namespace

TEST_CASE("calls run as they did, and explain says of them what it said") {
  std::string found;
  int64_t calls = 0;
  uint64_t seed = 0;
  for (const Named& named : plans()) {
    ++seed;
    for (const Move& move : kMoves) {
      for (const Limits& own : limits()) {
        for (const int threads : own.threads) found += line_of(named, move, own, threads, seed), ++calls;
      }
    }
  }
  for (const Named& named : ruled_plans()) {
    ++seed;
    for (const Move& move : {kMoves[0], kMoves[1], kMoves[3]}) {
      found += line_of(named, move, limits()[0], 1, seed);
      found += line_of(named, move, limits()[1], 3, seed);
      calls += 2;
    }
  }
  Limits tiles{"tiles", {}, {1, 3}};
  tiles.tuning.far_bytes = tiles.tuning.far_target_bytes = 1;
  for (const Pattern pattern : {Pattern::random, Pattern::sorted}) {
    ++seed;
    const std::string name = pattern == Pattern::sorted ? "columns, whose index follows rows" : "columns";
    const Named named{name, gather_plan(512, 512, 512), pattern};
    for (const Move& move : {kMoves[0], kMoves[1], kMoves[3]}) {
      for (const int threads : tiles.threads) found += line_of(named, move, tiles, threads, seed), ++calls;
    }
  }
  REQUIRE(calls > 300);
  const std::string kept = GS_GOLDEN_FILE;
  std::ofstream(GS_FOUND_FILE) << found;
  const char* const wish = std::getenv("GS_GOLDEN");
  if (wish != nullptr && std::string(wish) == "write") std::ofstream(kept) << found;
  std::stringstream expected;
  expected << std::ifstream(kept).rdbuf();
  std::istringstream was(expected.str());
  std::istringstream is(found);
  std::string call, before, now;
  while (std::getline(is, now)) {
    REQUIRE(std::getline(was, before));
    if (!now.starts_with("    ")) call = now;
    INFO(call);
    REQUIRE(now == before);
  }
  REQUIRE_FALSE(std::getline(was, before));
}

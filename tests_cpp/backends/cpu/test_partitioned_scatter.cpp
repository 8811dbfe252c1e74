// test_partitioned_scatter.cpp: the work of a scatter does not grow with the number of threads: how often indices are
// read, and how evenly the ranges divide the points.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <numeric>
#include <thread>
#include <utility>

#include "backends/cpu/form.h"
#include "backends/cpu/partitioned_scatter.h"
#include "cpu_cases.h"

using namespace gs;
using namespace gs::test;

namespace {

std::atomic<int64_t> points_read;

// A kernel that counts the points whose indices it reads.
bool counting_run(const cpu::Job& job, int64_t first, int64_t last) {
  if (job.step != cpu::JobStep::finish && job.to.base == nullptr) points_read += last - first;
  return cpu::kernels_of("baseline")->run(job, first, last);
}
const cpu::Kernels counting_kernels = baseline_with(counting_run);

// The index array that another thread would change.
std::vector<int64_t>* changed_index = nullptr;
std::atomic<bool> is_changed;

// A kernel that changes all indices after they were read for the marks.
bool changing_run(const cpu::Job& job, int64_t first, int64_t last) {
  if (job.step == cpu::JobStep::move && job.to.base == nullptr && !is_changed.exchange(true)) {
    std::fill(changed_index->begin(), changed_index->end(), 0);
  }
  return cpu::kernels_of("baseline")->run(job, first, last);
}
const cpu::Kernels changing_kernels = baseline_with(changing_run);

// A kernel that counts the runs that mark targets.
std::atomic<int> shares_marked;
bool mark_counting_run(const cpu::Job& job, int64_t first, int64_t last) {
  shares_marked += job.step == cpu::JobStep::mark;
  return cpu::kernels_of("baseline")->run(job, first, last);
}
const cpu::Kernels mark_counting_kernels = baseline_with(mark_counting_run);

// A kernel that counts the rows that move, as it finds them in the kept targets.
std::atomic<int64_t> rows_moved;
bool row_counting_run(const cpu::Job& job, int64_t first, int64_t last) {
  if (job.step == cpu::JobStep::move) {
    const auto* const slot = reinterpret_cast<const uint32_t*>(job.index[0].data);
    rows_moved += std::count_if(slot + first, slot + last, [](uint32_t one) { return one != cpu::kNowhereSlot; });
  }
  return cpu::kernels_of("baseline")->run(job, first, last);
}
const cpu::Kernels row_counting_kernels = baseline_with(row_counting_run);

// A kernel that takes longer than the time between two polls of Ctrl-C.
std::atomic<int> polls;
bool slow_run(const cpu::Job& job, int64_t first, int64_t last) {
  std::this_thread::sleep_for(std::chrono::milliseconds(11));
  return cpu::kernels_of("baseline")->run(job, first, last);
}
const cpu::Kernels slow_kernels = baseline_with(slow_run);

// Units of `unit` bytes into `slots` slots, by one index array, or by two for coordinates.
struct Points {
  Points(int64_t count, int64_t unit, int64_t slots, int arrays, Random& random)
      : index(static_cast<std::size_t>(count)), values(static_cast<std::size_t>(count * unit)) {
    plan.item = std::min<int64_t>(unit, 4);
    plan.unit = unit;
    plan.space = Space(Dims{count}, kIndex + arrays);
    plan.space.stride(kDense, 0) = unit;
    for (int a = 0; a < arrays; ++a) {
      plan.space.stride(kIndex + a, 0) = 8;
      IndexArray array;
      array.axis = a;
      array.extent = a == 0 ? slots : 1;
      array.step = a == 0 ? unit : unit * slots;
      plan.index.push_back(array);
    }
    plan.result_shape = plan.index_shape = Dims{count};
    plan.index_space = plan.space;
    for (int64_t& one : index) one = random.from(0, slots - 1);
    zeros.resize(index.size());
    random.fill(values);
    target.resize(static_cast<std::size_t>(slots * unit));
  }
  Buffers buffers() {
    Buffers buffers;
    buffers.dense = values.data();
    buffers.indexed = target.data();
    buffers.index.push_back(reinterpret_cast<const std::byte*>(index.data()));
    if (plan.index.size() > 1) buffers.index.push_back(reinterpret_cast<const std::byte*>(zeros.data()));
    return buffers;
  }

  Plan plan;
  std::vector<int64_t> index;
  std::vector<int64_t> zeros;
  Bytes values;
  Bytes target;
};

// The number of times that each index is read, on average.
double reads(Points& points, const Combine& combine, int threads) {
  cpu::Tuning tuning;
  tuning.min_slice_bytes = INT64_MAX;
  points_read = 0;
  const RunOptions options{threads, nullptr};
  const Outcome outcome =
      combine.reduce == Reduce::set
          ? cpu::move_with(counting_kernels, tuning, points.plan, points.buffers(), Direction::scatter, options)
          : cpu::reduce_with(counting_kernels, tuning, points.plan, points.buffers(), combine, options);
  REQUIRE(outcome == Outcome::done);
  return static_cast<double>(points_read) / static_cast<double>(points.plan.space.count());
}

}  // namespace

TEST_CASE("indices are not read more often with more threads, but for the first few") {
  Random random(1);
  const Combine set{};
  const Combine add{Reduce::add, Number::f32, true};
  const Combine mean{Reduce::mean, Number::f32, true};
  for (const int arrays : {1, 2}) {
    Points elements(300000, 4, 5000, arrays, random);
    Points rows(20000, 128, 7000, arrays, random);
    elements.plan.finish();
    rows.plan.finish();
    Points apart(20000, 128, 20000, arrays, random);
    apart.plan.finish();
    for (std::size_t k = 0; k < apart.index.size(); ++k) apart.index[k] = static_cast<int64_t>(k);
    for (const int threads : {1, 2, 3, 4, 8, 16, 64}) {
      INFO(arrays << " index arrays, " << threads << " threads");
      const int most = threads <= cpu::kReadAllThreads ? threads : 1;
      for (const Combine& combine : {set, add, mean}) REQUIRE(reads(elements, combine, threads) == most);
      REQUIRE(reads(rows, add, threads) == most);
      REQUIRE(reads(rows, set, threads) <= 2);  // once to see which rows win their targets
      REQUIRE(reads(apart, set, threads) <= 2);
    }
  }
}

TEST_CASE("rows go where their marks are, even if the indices change meanwhile") {
  Random random(4);
  for (const bool repeats : {false, true}) {
    for (const auto& [has_base, threads] : {std::pair(false, 2), {true, 2}, {false, 4}, {true, 4}}) {
      Points points(20000, 128, 30000, 1, random);
      points.plan.finish();
      if (!repeats) std::iota(points.index.begin(), points.index.end(), 7);
      const Bytes base(points.target.size(), std::byte{0x11});
      Bytes expected = base;
      for (std::size_t k = 0; k < points.index.size(); ++k) {
        std::memcpy(&expected[static_cast<std::size_t>(points.index[k]) * 128], &points.values[k * 128], 128);
      }
      std::fill(points.target.begin(), points.target.end(), std::byte{0x22});
      if (!has_base) points.target = base;
      Buffers buffers = points.buffers();
      if (has_base) buffers.base = base.data();
      if (has_base) buffers.base_bytes = static_cast<int64_t>(base.size());
      changed_index = &points.index;
      is_changed = false;
      cpu::Tuning tuning;
      const Outcome outcome =
          cpu::move_with(changing_kernels, tuning, points.plan, buffers, Direction::scatter, {threads, nullptr});
      INFO("repeats " << repeats << ", base " << has_base << ", " << threads << " threads");
      REQUIRE(outcome == Outcome::done);
      REQUIRE(points.index[100] == 0);
      REQUIRE((points.target == expected));
    }
  }
}

TEST_CASE("of rows that meet only the last one of each target moves, whatever the number of threads") {
  Random random(7);
  for (const int arrays : {1, 2}) {
    for (const int64_t round : {int64_t{1000}, cpu::Tuning{}.round_points}) {
      Points points(20000, 128, 7000, arrays, random);
      points.plan.finish();
      Bytes expected = points.target;
      for (std::size_t k = 0; k < points.index.size(); ++k) {
        std::memcpy(&expected[static_cast<std::size_t>(points.index[k]) * 128], &points.values[k * 128], 128);
      }
      std::vector<int64_t> targets = points.index;
      std::sort(targets.begin(), targets.end());
      const int64_t distinct = std::unique(targets.begin(), targets.end()) - targets.begin();
      cpu::Tuning tuning;
      tuning.round_points = round;
      for (const int threads : {2, 3, 16, 64}) {
        INFO(arrays << " index arrays, rounds of " << round << ", " << threads << " threads");
        std::fill(points.target.begin(), points.target.end(), std::byte{});
        rows_moved = 0;
        REQUIRE(cpu::move_with(row_counting_kernels, tuning, points.plan, points.buffers(), Direction::scatter,
                               {threads, nullptr}) == Outcome::done);
        REQUIRE(rows_moved == distinct);
        REQUIRE((points.target == expected));
      }
    }
  }
}

TEST_CASE("so many threads mark targets that their bitmaps are short beside the points") {
  Random random(5);
  cpu::Tuning tuning;
  tuning.bitmap_share = 0;
  const auto marking = [&](int64_t slots, int threads) {
    Points points(2000, 32, slots, 1, random);
    points.plan.finish();
    shares_marked = 0;
    const RunOptions options{threads, nullptr};
    REQUIRE(cpu::move_with(mark_counting_kernels, tuning, points.plan, points.buffers(), Direction::scatter, options) ==
            Outcome::done);
    return shares_marked.load();
  };
  tuning.serial_row_bytes = tuning.serial_near_bytes = 0;
  tuning.min_chunk_bytes = 64;
  tuning.min_slice_bytes = INT64_MAX;
  // 2000 points have 8 bytes each, a bitmap slots / 8 + 8.
  REQUIRE(marking(8 * (8000 - 8), 2) == 2);
  REQUIRE(marking(8 * 8000, 2) == 1);
  REQUIRE(marking(8 * (4000 - 8), 16) == 4);
  REQUIRE(marking(8 * 4000, 16) == 3);
  REQUIRE(marking(100, 16) == 16);
}

TEST_CASE("marks stop at Ctrl-C before a row moves") {
  Random random(6);
  Points points(20000, 128, 20000, 1, random);
  std::iota(points.index.begin(), points.index.end(), 0);
  points.plan.finish();
  const Bytes before = points.target;
  cpu::Tuning tuning;
  tuning.round_points = 1000;
  for (const int threads : {2, 4}) {
    polls = 0;
    // The thread that asks waits 10 ms between two questions, so that the kernel must take that long.
    const RunOptions options{threads, [] { return ++polls > 0; }};
    const Outcome outcome =
        cpu::move_with(slow_kernels, tuning, points.plan, points.buffers(), Direction::scatter, options);
    REQUIRE(outcome == Outcome::interrupted);
    REQUIRE(polls > 0);
    REQUIRE((points.target == before));
  }
}

TEST_CASE("ranges hold about equally many points, wherever the targets lie") {
  Random random(2);
  for (const int64_t slots : {100, 5000, 1 << 20}) {
    for (const bool squared : {false, true}) {
      Points points(1 << 18, 4, slots, 1, random);
      if (squared) {  // most targets at low positions
        for (int64_t& one : points.index) one = one * one / slots;
      }
      points.plan.finish();
      const int threads = 8;
      const auto samples = cpu::sample_targets(points.plan, points.buffers(), threads);
      REQUIRE(std::is_sorted(samples.begin(), samples.end()));
      REQUIRE(samples.size() >= static_cast<std::size_t>(threads));
      const auto bounds = cpu::bounds_of_ranges(samples, {}, threads);
      REQUIRE(bounds.size() == static_cast<std::size_t>(threads) + 1);
      REQUIRE(std::is_sorted(bounds.begin(), bounds.end()));
      // The share of the points below the middle sample.
      const auto base = reinterpret_cast<uint64_t>(points.target.data());
      const int64_t middle = static_cast<int64_t>(samples[samples.size() / 2] - base) / 4;
      int64_t below = 0;
      for (const int64_t one : points.index) below += one < middle;
      const double share = static_cast<double>(below) / static_cast<double>(points.index.size());
      INFO(slots << " slots, squared " << squared);
      REQUIRE(share > 0.4);
      REQUIRE(share < 0.6);
    }
  }
}

TEST_CASE("slots are numbers of 32 bits, or none") {
  Random random(3);
  Points points(100, 4, 50, 1, random);
  REQUIRE(cpu::has_slots(points.plan));
  points.plan.index[0].extent = int64_t{1} << 33;
  REQUIRE_FALSE(cpu::has_slots(points.plan));
  points.plan.index[0].extent = 50;
  points.plan.space.stride(kIndexed, 0) = 2;  // not a whole number of steps
  REQUIRE_FALSE(cpu::has_slots(points.plan));
  Points coordinates(100, 4, 50, 2, random);
  REQUIRE_FALSE(cpu::has_slots(coordinates.plan));
}

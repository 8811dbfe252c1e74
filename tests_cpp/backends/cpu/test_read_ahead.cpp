// test_read_ahead.cpp: which pages of a mapped file are in memory before its plan runs, and plans that run in parts.
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/read_ahead.h"
#include "core/error.h"
#include "mapped_file.h"
#include "plans_by_hand.h"

using namespace gs;
using namespace gs::test;

namespace {

constexpr int64_t kRow = 1024;
constexpr int64_t kRows = 128 * 1024;  // 128 MiB

std::vector<int64_t> random_rows(int64_t count, uint64_t state = 1) {
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    rows.push_back(static_cast<int64_t>((state >> 33) % kRows));
  }
  return rows;
}

// A take of rows from a file, each of which begins with its number.
struct TakeFromFile {
  MappedFile file{kRow * kRows};
  std::vector<int64_t> rows;
  std::vector<std::byte> result;
  Plan plan;
  Buffers buffers;

  explicit TakeFromFile(int64_t count) : rows(random_rows(count)), result(static_cast<std::size_t>(count * kRow)) {
    for (const int64_t row : rows) file.write(row * kRow, &row, sizeof(row));
    plan = take_plan(count, kRow, IndexType::i64, kRows);
    buffers.dense = result.data();
    buffers.indexed = file.data();
    buffers.index = {reinterpret_cast<const std::byte*>(rows.data())};
    host::forget_mappings();
  }
  bool is_right() const {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      int64_t number = 0;
      std::memcpy(&number, result.data() + i * kRow, sizeof(number));
      if (number != rows[i]) return false;
    }
    return true;
  }
  // Whether the page of every row in [begin, end) is in memory within some seconds.
  bool has_pages(std::size_t begin, std::size_t end) const {
    for (int tries = 0; tries < 200; ++tries) {
      const std::vector<int64_t> pages = file.resident();
      bool has = true;
      for (std::size_t i = begin; i < end && has; ++i) {
        has = std::binary_search(pages.begin(), pages.end(), rows[i] * kRow / kFilePage);
      }
      if (has) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
};

const RunOptions kOptions{2};

}  // namespace

TEST_CASE("the pages of a cold file are asked for before the first point moves") {
  TakeFromFile take(500);
  if (!take.file.drop()) {
    WARN("skipped: this file system keeps its pages in memory");
    return;
  }
  int moves = 0;
  const Outcome outcome = cpu::run_with_pages(take.plan, take.buffers, kOptions, cpu::Parts::contiguous,
                                              [&](const Plan& plan, const Buffers& buffers, const RunOptions& options) {
                                                ++moves;
                                                REQUIRE(plan == take.plan);
                                                REQUIRE(take.has_pages(0, take.rows.size()));
                                                REQUIRE(take.file.resident().size() <= 500);
                                                return cpu::backend().move(plan, buffers, Direction::gather, options);
                                              });
  REQUIRE(outcome == Outcome::done);
  REQUIRE(moves == 1);
  REQUIRE(take.is_right());
}

// Moves rows of a cold file part by part. Returns whether the pages of each part were there before the part before it
// moved.
bool has_parts_ahead(TakeFromFile& take) {
  REQUIRE(take.file.drop());
  host::forget_mappings();
  std::size_t moved = 0;
  std::size_t parts = 0;
  bool has_all = true;
  const auto move = [&](const Plan& plan, const Buffers& buffers, const RunOptions& options) {
    const auto points = static_cast<std::size_t>(plan.space.count());
    const std::size_t ahead = std::min(moved + 2 * points, take.rows.size());
    REQUIRE(buffers.dense == take.result.data() + moved * kRow);
    has_all = has_all && take.has_pages(moved, ahead);
    if (parts == 0) REQUIRE(take.file.resident().size() <= 3 * points);
    moved += points;
    ++parts;
    return cpu::backend().move(plan, buffers, Direction::gather, options);
  };
  REQUIRE(cpu::run_with_pages(take.plan, take.buffers, kOptions, cpu::Parts::contiguous, move, 100 * kFilePage) ==
          Outcome::done);
  REQUIRE(moved == 500);
  REQUIRE(parts >= 10);
  REQUIRE(take.is_right());
  return has_all;
}

TEST_CASE("pages that do not fit are asked for part by part, each before the part before it moves") {
  TakeFromFile take(500);
  if (!take.file.drop()) {
    WARN("skipped: this file system keeps its pages in memory");
    return;
  }
  // The system may drop a request while its disk is busy, as in one of forty runs beside three others.
  REQUIRE((has_parts_ahead(take) || has_parts_ahead(take)));
  // A plan that cannot be divided runs as it is.
  REQUIRE(take.file.drop());
  host::forget_mappings();
  int wholes = 0;
  const auto count = [&](const Plan& plan, const Buffers&, const RunOptions&) {
    wholes += plan == take.plan ? 1 : 0;
    return Outcome::done;
  };
  REQUIRE(cpu::run_with_pages(take.plan, take.buffers, kOptions, cpu::Parts::one, count, 100 * kFilePage) ==
          Outcome::done);
  REQUIRE(wholes == 1);
}

TEST_CASE("parts are slices of inner axes where the outer ones are few") {
  const MappedFile file(kRow * kRows);
  if (!file.drop()) {
    WARN("skipped: this file system keeps its pages in memory");
    return;
  }
  const int64_t columns = 3;
  const std::vector<int64_t> rows = random_rows(2 * columns);
  std::vector<std::byte> result(static_cast<std::size_t>(2 * columns * 4));
  Buffers buffers;
  buffers.dense = result.data();
  buffers.indexed = file.data();
  buffers.index = {reinterpret_cast<const std::byte*>(rows.data())};
  const Plan plan = gather_plan(2, kRow * kRows / (columns * 4), columns);
  host::forget_mappings();
  std::vector<int64_t> starts;
  const auto move = [&](const Plan& part, const Buffers& memory, const RunOptions&) {
    REQUIRE(part.space.count() == 1);
    starts.push_back((memory.dense - result.data()) / 4);
    return Outcome::done;
  };
  REQUIRE(cpu::run_with_pages(plan, buffers, kOptions, cpu::Parts::contiguous, move, kFilePage) == Outcome::done);
  REQUIRE(starts == std::vector<int64_t>{0, 1, 2, 3, 4, 5});
}

TEST_CASE("memory, small files and files in memory are left alone") {
  std::vector<std::byte> memory(static_cast<std::size_t>(65 << 20));
  TakeFromFile take(100);
  int moves = 0;
  const auto move = [&](const Plan&, const Buffers&, const RunOptions&) {
    ++moves;
    return Outcome::bad_index;  // whatever a move returns is returned
  };
  Buffers buffers = take.buffers;
  buffers.indexed = memory.data();
  const Plan plan = take_plan(100, kRow, IndexType::i64, 65 * 1024);
  REQUIRE(cpu::is_worth_a_lookup(plan));
  REQUIRE(cpu::run_with_pages(plan, buffers, kOptions, cpu::Parts::one, move) == Outcome::bad_index);
  const Plan small = take_plan(100, kRow, IndexType::i64, 63 * 1024);
  REQUIRE_FALSE(cpu::is_worth_a_lookup(small));
  for (const int64_t row : take.rows)
    REQUIRE(static_cast<const volatile std::byte*>(take.file.data())[row * kRow] >= std::byte{0});
  const std::size_t before = take.file.resident().size();
  REQUIRE(cpu::run_with_pages(take.plan, take.buffers, kOptions, cpu::Parts::one, move) == Outcome::bad_index);
  REQUIRE(take.file.resident().size() == before);
  REQUIRE(moves == 2);
}

TEST_CASE("a truncated file is an error before anything moves") {
  TakeFromFile take(100);
  take.file.truncate(kRow * 1000);
  host::forget_mappings();
  const auto move = [&](const Plan&, const Buffers&, const RunOptions&) -> Outcome { throw std::bad_alloc(); };
  REQUIRE_THROWS_AS(cpu::run_with_pages(take.plan, take.buffers, kOptions, cpu::Parts::one, move), FileError);
  REQUIRE_FALSE(cpu::run_small_with_pages(take.plan, take.buffers, [] { return true; }));
}

TEST_CASE("the backend moves rows from cold files into memory and back") {
  for (const Direction direction : {Direction::gather, Direction::scatter}) {
    TakeFromFile take(5000);
    take.file.drop();
    REQUIRE(cpu::backend().move(take.plan, take.buffers, Direction::gather, kOptions) == Outcome::done);
    REQUIRE(take.is_right());
    if (direction == Direction::gather) continue;
    std::vector<std::byte> values(take.result.size());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::byte>(i / kRow % 251);
    take.file.drop();
    host::forget_mappings();
    Buffers buffers = take.buffers;
    buffers.dense = values.data();
    REQUIRE(cpu::backend().move(take.plan, buffers, Direction::scatter, kOptions) == Outcome::done);
    REQUIRE(cpu::backend().move(take.plan, take.buffers, Direction::gather, kOptions) == Outcome::done);
    for (std::size_t i = 0; i < take.rows.size(); ++i) {  // of duplicates, the last one
      std::size_t last = i;
      for (std::size_t j = i; j < take.rows.size(); ++j) last = take.rows[j] == take.rows[i] ? j : last;
      REQUIRE(take.result[i * kRow + 1] == static_cast<std::byte>(last % 251));
    }
  }
}

// test_map_reader.cpp: selections from maps and masks, compared with loops, on both backends and with several threads.
#include <random>

#include "catch.h"
#include "reference.h"
#include "table/host_selection.h"
#include "table/take.h"

using namespace gs;
using namespace gs::table;

namespace {

std::vector<table::Sharing> all_sharings() {
  std::vector<table::Sharing> sharings;
  for (const int threads : {1, 2, 5}) {
    RunOptions options;
    options.threads = threads;
    sharings.push_back({cpu::backend(), options});
  }
  sharings.push_back({reference::backend(), {}});
  return sharings;
}

template <class Index>
MapPart part_of(const std::vector<Index>& map, IndexType type) {
  return {reinterpret_cast<const std::byte*>(map.data()), sizeof(Index), type, static_cast<int64_t>(map.size()), {}};
}

MapPart part_of(const std::vector<int64_t>& map) {
  return part_of(map, IndexType::i64);
}

std::vector<int64_t> positions_of(const HostSelection& selection) {
  std::vector<int64_t> positions(static_cast<std::size_t>(selection.count()));
  selection.positions(all_sharings()[1], positions.data());
  return positions;
}

std::vector<std::byte> bytes_of(const std::vector<bool>& values) {
  std::vector<std::byte> bytes;
  for (const bool value : values) bytes.push_back(std::byte{value});
  return bytes;
}

MaskPart part_of(const std::vector<std::byte>& mask) {
  MaskPart part;
  part.data = mask.data();
  part.count = static_cast<int64_t>(mask.size());
  return part;
}

HostSelection gather(const Sharing& sharing, std::vector<MapPart> map, ChunkLengths lengths, Bounds bounds) {
  return {sharing, RowRequest::gather(std::move(lengths), bounds), {.map = std::move(map)}};
}

HostSelection scatter(const Sharing& sharing, std::vector<MapPart> map, ChunkLengths target, ChunkLengths source,
                      bool one_row) {
  return {sharing, RowRequest::scatter(std::move(target), std::move(source), one_row), {.map = std::move(map)}};
}

HostSelection mask_scatter(const Sharing& sharing, std::vector<MaskPart> mask, ChunkLengths target, ChunkLengths source,
                           bool one_row) {
  return {sharing, RowRequest::mask_scatter(std::move(target), std::move(source), one_row), {.mask = std::move(mask)}};
}

HostSelection filter(const Sharing& sharing, std::vector<MaskPart> mask, ChunkLengths lengths) {
  return {sharing, RowRequest::filter(std::move(lengths)), {.mask = std::move(mask)}};
}

HostSelection choose(const Sharing& sharing, std::vector<MaskPart> mask, ChunkLengths first, ChunkLengths second) {
  return {sharing, RowRequest::choose(std::move(first), std::move(second)), {.mask = std::move(mask)}};
}

const std::vector<table::ChunkLengths> kTables = {
    {10}, {0, 7, 0, 3}, {1, 1, 1, 1, 1, 1, 1}, {5000000000, 0, 100}, {100000}};

}  // namespace

TEST_CASE("a gather's rows are the map's, negative ones from the end, in chunks of any length") {
  std::mt19937_64 random(1);
  for (const table::Sharing& sharing : all_sharings()) {
    for (const table::ChunkLengths& lengths : kTables) {
      const int64_t rows = row_count(lengths);
      for (const int64_t count : {0, 1, 63, 64, 65, 1000, 70000}) {
        std::vector<int64_t> map;
        std::vector<int64_t> expected;
        for (int64_t i = 0; i < count; ++i) {
          const auto row = static_cast<int64_t>(random() % static_cast<uint64_t>(rows));
          map.push_back(random() % 2 == 0 ? row : row - rows);
          expected.push_back(row);
        }
        const auto half = static_cast<std::ptrdiff_t>(count / 3);  // a map in two parts
        const std::vector<int64_t> first(map.begin(), map.begin() + half);
        const std::vector<int64_t> second(map.begin() + half, map.end());
        const HostSelection selection = gather(sharing, {part_of(first), part_of(second)}, lengths, Bounds::raise);
        REQUIRE(selection.count() == count);
        REQUIRE(selection.missing() == 0);
        REQUIRE(positions_of(selection) == expected);
      }
    }
  }
}

TEST_CASE("rows outside: the first one is named, or the row is missing") {
  for (const table::Sharing& sharing : all_sharings()) {
    std::vector<int64_t> map(70000, 3);
    map[69999] = 10;
    map[40001] = -11;
    map[40002] = INT64_MIN;
    try {
      gather(sharing, {part_of(map)}, {6, 4}, Bounds::raise);
      FAIL("nothing was thrown");
    } catch (const BadRow& bad) {
      REQUIRE(bad.position == 40001);
      REQUIRE(static_cast<int64_t>(bad.bits) == -11);
      REQUIRE(bad.count == 3);
      REQUIRE(bad.size == 10);
      REQUIRE(bad.total == 70000);
    }
    const HostSelection nullified = gather(sharing, {part_of(map)}, {6, 4}, Bounds::fill);
    REQUIRE(nullified.missing() == 3);
    const std::vector<int64_t> positions = positions_of(nullified);
    REQUIRE(positions[40001] == -1);
    REQUIRE(positions[40002] == -1);
    REQUIRE(positions[69999] == -1);
    REQUIRE(positions[0] == 3);
    const HostSelection unchecked = gather(sharing, {part_of(map)}, {6, 4}, Bounds::unchecked);
    for (const int64_t position : positions_of(unchecked)) REQUIRE((position >= 0 && position < 10));
  }
}

TEST_CASE("unsigned values are compared at full width and never count from the end") {
  const table::Sharing sharing = all_sharings()[0];
  const std::vector<uint64_t> map = {1, UINT64_MAX, (uint64_t{1} << 32) + 1};
  const HostSelection selection = gather(sharing, {part_of(map, IndexType::u64)}, {5}, Bounds::fill);
  REQUIRE(positions_of(selection) == std::vector<int64_t>{1, -1, -1});
  const std::vector<uint8_t> bytes = {255, 4};
  REQUIRE(positions_of(gather(sharing, {part_of(bytes, IndexType::u8)}, {256}, Bounds::raise)) ==
          std::vector<int64_t>{255, 4});
  const std::vector<int8_t> small = {-1, 4};
  REQUIRE(positions_of(gather(sharing, {part_of(small, IndexType::i8)}, {256}, Bounds::raise)) ==
          std::vector<int64_t>{255, 4});
}

TEST_CASE("nulls come before rows outside, and an empty table has only missing rows") {
  for (const table::Sharing& sharing : all_sharings()) {
    const std::vector<int64_t> map = {9, 0, 1};
    const std::byte present[] = {std::byte{0b101}};
    MapPart part = part_of(map);
    part.nulls.bits = present;
    REQUIRE_THROWS_AS(gather(sharing, {part}, {2}, Bounds::raise), NullRow);
    REQUIRE_THROWS_AS(gather(sharing, {part}, {2}, Bounds::unchecked), NullRow);
    REQUIRE(positions_of(gather(sharing, {part}, {2}, Bounds::fill)) == std::vector<int64_t>{-1, -1, 1});
    REQUIRE(positions_of(gather(sharing, {part}, {0}, Bounds::fill)) == std::vector<int64_t>{-1, -1, -1});
    REQUIRE(positions_of(gather(sharing, {part}, {}, Bounds::fill)) == std::vector<int64_t>{-1, -1, -1});
    REQUIRE_THROWS_AS(gather(sharing, {part_of(map)}, {0}, Bounds::unchecked), BadRow);
  }
}

TEST_CASE("a scatter's rows are the target's, except for those in the map, of which the last is kept") {
  std::mt19937_64 random(2);
  for (const table::Sharing& sharing : all_sharings()) {
    for (const int64_t rows : {1, 64, 1000, 100000}) {
      for (const int64_t count : {int64_t{0}, int64_t{1}, rows / 20, rows, 2 * rows}) {
        for (const bool one_row : {false, true}) {
          std::vector<int64_t> map;
          std::vector<int64_t> expected(static_cast<std::size_t>(rows));
          for (int64_t i = 0; i < rows; ++i) expected[static_cast<std::size_t>(i)] = i;
          for (int64_t i = 0; i < count; ++i) {
            const auto row = static_cast<int64_t>(random() % static_cast<uint64_t>(rows));
            map.push_back(i % 2 == 0 ? row : row - rows);
            expected[static_cast<std::size_t>(row)] = rows + (one_row ? 0 : i);
          }
          const int64_t source = one_row ? 1 : count + 3;
          const HostSelection selection =
              scatter(sharing, {part_of(map)}, {rows / 3, rows - rows / 3}, {source}, one_row);
          REQUIRE(positions_of(selection) == expected);
        }
      }
    }
    REQUIRE_THROWS_AS(scatter(sharing, {part_of(std::vector<int64_t>{0, 1})}, {5}, {1}, false), InvalidArgument);
    REQUIRE_THROWS_AS(scatter(sharing, {part_of(std::vector<int64_t>{5})}, {5}, {1}, false), BadRow);
  }
}

TEST_CASE("masks: rows in order, one row for all, rows that stay, rows of one side or the other") {
  std::mt19937_64 random(3);
  for (const table::Sharing& sharing : all_sharings()) {
    for (const int64_t rows : {0, 1, 63, 64, 65, 5000, 70000}) {
      for (const int percent : {0, 3, 50, 100}) {
        std::vector<bool> mask;
        for (int64_t i = 0; i < rows; ++i) mask.push_back(static_cast<int>(random() % 100) < percent);
        const std::vector<std::byte> bytes = bytes_of(mask);
        const std::vector<MaskPart> parts = {part_of(bytes)};
        std::vector<int64_t> scattered;
        std::vector<int64_t> one;
        std::vector<int64_t> kept;
        std::vector<int64_t> chosen;
        int64_t next = rows;
        for (int64_t i = 0; i < rows; ++i) {
          const bool set = mask[static_cast<std::size_t>(i)];
          scattered.push_back(set ? next++ : i);
          one.push_back(set ? rows : i);
          if (set) kept.push_back(i);
          chosen.push_back(set ? i : rows + i);
        }
        const int64_t source = static_cast<int64_t>(kept.size());
        const table::ChunkLengths target = {rows / 2, rows - rows / 2};
        REQUIRE(positions_of(mask_scatter(sharing, parts, target, {source}, false)) == scattered);
        REQUIRE(positions_of(mask_scatter(sharing, parts, target, {1}, true)) == one);
        REQUIRE(positions_of(filter(sharing, parts, target)) == kept);
        REQUIRE(positions_of(choose(sharing, parts, target, {rows})) == chosen);
        REQUIRE_THROWS_AS(filter(sharing, parts, {rows + 1}), InvalidArgument);
        if (source > 0) {
          REQUIRE_THROWS_AS(mask_scatter(sharing, parts, target, {source - 1}, false), InvalidArgument);
        }
      }
    }
  }
}

TEST_CASE("slices of picks are the same rows") {
  const table::Sharing sharing = all_sharings()[0];
  std::vector<int64_t> map;
  for (int64_t i = 0; i < 300; ++i) map.push_back(i % 7 == 0 ? 1000 : (i * 37) % 90);
  const HostSelection by_row = gather(sharing, {part_of(map)}, {40, 50}, Bounds::fill);
  const HostSelection by_range = scatter(sharing, {part_of(std::vector<int64_t>{5, 60, 61})}, {100, 200}, {3}, false);
  for (const HostSelection* selection : {&by_row, &by_range}) {
    const Picks whole = selection->picks(sharing);
    std::vector<std::pair<int32_t, int64_t>> rows;
    for_each_run(whole, 0, whole.count, [&](int32_t piece, int64_t start, int64_t, int64_t length) {
      for (int64_t k = 0; k < length; ++k) rows.push_back({piece, piece == kMissing ? 0 : start + k});
    });
    for (const int64_t begin : {0, 1, 63, 64, 100}) {
      for (const int64_t length : {1, 64, 65, 130}) {
        const PickSlice slice(whole, begin, length);
        int64_t at = begin;
        for_each_run(slice.picks(), 0, length, [&](int32_t piece, int64_t start, int64_t, int64_t n) {
          for (int64_t k = 0; k < n; ++k, ++at) {
            REQUIRE(rows[static_cast<std::size_t>(at)] ==
                    std::pair<int32_t, int64_t>(piece, piece == kMissing ? 0 : start + k));
          }
        });
        REQUIRE(at == begin + length);
      }
    }
  }
}

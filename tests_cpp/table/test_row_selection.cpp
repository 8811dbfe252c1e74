// test_row_selection.cpp: row selections of every kind for tables in host memory and on emulated GPUs, against loops.
#include <random>
#include <thread>

#include "catch.h"
#include "reference.h"
#include "table/device/device_context.h"
#include "table/device/device_take.h"
#include "table/device/upload.h"
#include "table/row_errors.h"
#include "table/row_selection.h"

using namespace gs;
using namespace gs::table;

namespace {

// A backend, and the device that the tables of a test lie on.
struct Target {
  Sharing sharing;
  int device;
};

std::vector<Target> all_targets() {
  static const bool has_gpus = (offer_devices(&reference::devices()), true);
  REQUIRE(has_gpus);
  RunOptions several;
  several.threads = 5;
  return {{{cpu::backend(), {}}, kHost},
          {{cpu::backend(), several}, kHost},
          {{reference::backend(), {}}, kHost},
          {{cpu::backend(), {}}, 0},
          {{cpu::backend(), {}}, 1}};
}

const Target& host_target() {
  static const Target target = all_targets()[0];
  return target;
}

Target gpu_target(int device) {
  return all_targets()[static_cast<std::size_t>(3 + device)];
}

template <class T>
arrow::Buffer buffer_of(const std::vector<T>& values) {
  const NewBuffer fresh = allocate(static_cast<int64_t>(values.size() * sizeof(T)));
  if (!values.empty()) std::memcpy(fresh.data, values.data(), values.size() * sizeof(T));
  return fresh.buffer;
}

Frame on_device(const Target& target, const Frame& frame) {
  return target.device == kHost ? frame : upload(DeviceContext(target.sharing, target.device), frame);
}

arrow::Type integer_type(const char* format, IndexType integer) {
  arrow::Type type;
  type.format = format;
  type.layout = arrow::Layout::fixed;
  type.width = index_size(integer);
  type.integer = integer;
  type.is_integer = true;
  type.flags = 2;
  return type;
}

// A column of int64 with chunks of these lengths, whose values are first, first + 1 and so on.
Frame column_of(const ChunkLengths& lengths, int64_t first = 0) {
  Frame frame;
  frame.data.type = std::make_shared<const arrow::Type>(integer_type("l", IndexType::i64));
  for (const int64_t length : lengths) {
    std::vector<int64_t> values;
    for (int64_t i = 0; i < length; ++i) values.push_back(first++);
    arrow::Array chunk;
    chunk.length = length;
    chunk.first = buffer_of(values);
    frame.data.chunks.push_back(chunk);
  }
  return frame;
}

// The values of a column of int64; -1 for a null.
std::vector<int64_t> values_of(const Target& target, const Frame& column) {
  std::vector<int64_t> values;
  REQUIRE(column.device == target.device);
  for (const arrow::Array& chunk : column.data.chunks) {
    std::vector<int64_t> own(static_cast<std::size_t>(chunk.length));
    std::vector<std::byte> valid(static_cast<std::size_t>(chunk.length + 7) / 8, std::byte{0xFF});
    const auto read = [&](void* to, const std::byte* from, std::size_t bytes) {
      if (bytes == 0 || from == nullptr) return;
      if (target.device == kHost) {
        std::memcpy(to, from, bytes);
      } else {
        DeviceContext(target.sharing, target.device).machine().read(to, from, static_cast<int64_t>(bytes));
      }
    };
    REQUIRE(chunk.offset == 0);
    read(own.data(), chunk.first.data, own.size() * 8);
    read(valid.data(), chunk.validity.data, valid.size());
    for (int64_t i = 0; i < chunk.length; ++i) {
      values.push_back(bit_at(valid.data(), i) ? own[static_cast<std::size_t>(i)] : -1);
    }
  }
  return values;
}

std::vector<int64_t> positions_of(const Target& target, const RowSelection& selection) {
  std::vector<int64_t> positions(static_cast<std::size_t>(selection.count()));
  selection.positions(target.sharing, positions.data());
  return positions;
}

// Checks a selection by its numbers and by the rows that it takes; `expected` are numbers among all rows.
void check(const Target& target, const RowRequest& request, const RowMap& map, const std::vector<int64_t>& expected) {
  const RowSelection selection(target.sharing, request, map, target.device);
  REQUIRE(selection.device() == target.device);
  REQUIRE(selection.count() == static_cast<int64_t>(expected.size()));
  REQUIRE(selection.missing() == std::count(expected.begin(), expected.end(), -1));
  REQUIRE(selection.lengths() == request.lengths());
  const Frame first = on_device(target, column_of(request.first));
  const Frame second = on_device(target, column_of(request.second, row_count(request.first)));
  const Frame* const other = request.second.empty() ? nullptr : &second;
  REQUIRE(values_of(target, selection.take(target.sharing, first, other, true)) == expected);
  REQUIRE(positions_of(target, selection) == expected);
}

template <class Error>
void refuse(const Target& target, const RowRequest& request, const RowMap& map) {
  REQUIRE_THROWS_AS(RowSelection(target.sharing, request, map, target.device), Error);
}

template <class Index>
MapPart part_of(const std::vector<Index>& map, IndexType type) {
  return {reinterpret_cast<const std::byte*>(map.data()), sizeof(Index), type, static_cast<int64_t>(map.size()), {}};
}

MapPart part_of(const std::vector<int64_t>& map) {
  return part_of(map, IndexType::i64);
}

MaskPart mask_part_of(const std::vector<std::byte>& bytes) {
  MaskPart part;
  part.data = bytes.data();
  part.count = static_cast<int64_t>(bytes.size());
  return part;
}

MaskPart mask_part_of(const std::vector<uint64_t>& words, int64_t offset, int64_t count) {
  MaskPart part;
  part.data = reinterpret_cast<const std::byte*>(words.data());
  part.is_bits = true;
  part.offset = offset;
  part.count = count;
  return part;
}

const ChunkLengths kTable = {40, 0, 50, 10};  // 100 rows

template <class Index>
void check_maps_of(IndexType type) {
  std::mt19937_64 random(static_cast<uint64_t>(type) + 1);
  for (const Target& target : all_targets()) {
    std::vector<Index> inside;
    std::vector<Index> any;
    std::vector<int64_t> rows;
    std::vector<int64_t> resolved;
    std::vector<int64_t> none_negative;
    for (int i = 0; i < 300; ++i) {
      const auto row = static_cast<int64_t>(random() % 100);
      const bool from_end = std::is_signed_v<Index> && random() % 2 == 0;
      inside.push_back(static_cast<Index>(from_end ? row - 100 : row));
      rows.push_back(row);
      const auto value = static_cast<Index>(random());
      any.push_back(value);
      const bool negative = std::is_signed_v<Index> && static_cast<int64_t>(value) < 0;
      const bool huge = !negative && static_cast<uint64_t>(value) >= 100;
      const bool low = negative && static_cast<int64_t>(value) < -100;
      resolved.push_back(huge || low ? -1 : negative ? static_cast<int64_t>(value) + 100 : static_cast<int64_t>(value));
      none_negative.push_back(huge || negative ? -1 : static_cast<int64_t>(value));
    }
    for (const Bounds bounds : {Bounds::raise, Bounds::fill, Bounds::unchecked}) {
      check(target, RowRequest::gather(kTable, bounds), {.map = {part_of(inside, type)}}, rows);
    }
    const RowMap map{.map = {part_of(any, type)}};
    check(target, RowRequest::gather(kTable, Bounds::fill), map, resolved);
    check(target, RowRequest::gather(kTable, Bounds::fill, Negative::out_of_bounds), map, none_negative);
    // Of a bad index, `unchecked` takes any row, and the others as they are.
    const RowSelection unchecked(target.sharing, RowRequest::gather(kTable, Bounds::unchecked), map, target.device);
    const std::vector<int64_t> positions = positions_of(target, unchecked);
    for (std::size_t i = 0; i < positions.size(); ++i) {
      REQUIRE((resolved[i] < 0 ? positions[i] >= 0 && positions[i] < 100 : positions[i] == resolved[i]));
    }
  }
}

}  // namespace

TEST_CASE("maps of each index type, under each policy") {
  check_maps_of<int8_t>(IndexType::i8);
  check_maps_of<int16_t>(IndexType::i16);
  check_maps_of<int32_t>(IndexType::i32);
  check_maps_of<int64_t>(IndexType::i64);
  check_maps_of<uint8_t>(IndexType::u8);
  check_maps_of<uint16_t>(IndexType::u16);
  check_maps_of<uint32_t>(IndexType::u32);
  check_maps_of<uint64_t>(IndexType::u64);
}

TEST_CASE("the first bad index is reported, and nulls come before it") {
  for (const Target& target : all_targets()) {
    std::vector<int64_t> map(5000, 3);
    map[4000] = 100;
    map[4001] = -101;
    try {
      RowSelection(target.sharing, RowRequest::gather(kTable, Bounds::raise), {.map = {part_of(map)}}, target.device);
      FAIL("nothing was thrown");
    } catch (const BadRow& bad) {
      REQUIRE(bad.position == 4000);
      REQUIRE(bad.bits == 100);
      REQUIRE(bad.size == 100);
      REQUIRE(bad.count == 2);
      REQUIRE(bad.total == 5000);
    }
    std::vector<std::byte> valid(5000, std::byte{1});
    valid[4500] = std::byte{0};
    RowMap with_null{.map = {part_of(map)}};
    with_null.map[0].nulls.bytes = valid.data();
    refuse<NullRow>(target, RowRequest::gather(kTable, Bounds::raise), with_null);
    refuse<NullRow>(target, RowRequest::gather(kTable, Bounds::unchecked), with_null);
    refuse<NullRow>(target, RowRequest::scatter(kTable, {5000}, false), with_null);
    refuse<BadRow>(target, RowRequest::scatter(kTable, {5000}, false), {.map = {part_of(map)}});
    std::vector<int64_t> expected(5000, 3);
    expected[4000] = expected[4001] = expected[4500] = -1;
    check(target, RowRequest::gather(kTable, Bounds::fill), with_null, expected);
  }
}

TEST_CASE("a scatter keeps the last of several entries, and without nulls and bad indices if it drops") {
  std::mt19937_64 random(2);
  for (const Target& target : all_targets()) {
    for (const int64_t count : {0, 1, 7, 90, 250}) {
      for (int form = 0; form < 8; ++form) {
        const bool one_row = (form & 1) != 0;
        const Bounds bounds = (form & 2) != 0 ? Bounds::fill : Bounds::raise;
        const Negative negative = (form & 4) != 0 ? Negative::out_of_bounds : Negative::from_end;
        std::vector<int64_t> map;
        std::vector<std::byte> valid;
        std::vector<int64_t> expected(100);
        for (int64_t i = 0; i < 100; ++i) expected[static_cast<std::size_t>(i)] = i;
        for (int64_t i = 0; i < count; ++i) {
          const auto row = static_cast<int64_t>(random() % 100);
          const bool drops = bounds == Bounds::fill && random() % 2 == 0;
          const int64_t inside = negative == Negative::from_end && i % 3 == 0 ? row - 100 : row;
          valid.push_back(std::byte{!drops || i % 2 == 0});
          map.push_back(!drops || i % 2 == 1 ? inside : negative == Negative::from_end ? 100 + row : -1 - row);
          if (!drops) expected[static_cast<std::size_t>(row)] = 100 + (one_row ? 0 : i);
        }
        const ChunkLengths source = one_row ? ChunkLengths{1} : ChunkLengths{count / 2, count - count / 2 + 3};
        MapPart entries = part_of(map);
        entries.nulls.bytes = valid.data();
        check(target, RowRequest::scatter(kTable, source, one_row, bounds, negative), {.map = {entries}}, expected);
      }
    }
    const std::vector<int64_t> last = {-1};
    refuse<BadRow>(target, RowRequest::scatter({9}, {1}, false, {}, Negative::out_of_bounds), {.map = {part_of(last)}});
  }
}

TEST_CASE("masks of bits and of bytes, with nulls, for each kind of selection") {
  std::mt19937_64 random(3);
  for (const Target& target : all_targets()) {
    for (const int percent : {0, 4, 50, 100}) {
      std::vector<uint64_t> words(2);
      std::vector<std::byte> bytes;
      std::vector<std::byte> valid;
      std::vector<bool> mask;
      constexpr int64_t kOffset = 5;
      constexpr int64_t kBits = 61;
      for (int64_t i = 0; i < 100; ++i) {
        const bool is_true = static_cast<int>(random() % 100) < percent;
        if (i < kBits) {
          words[static_cast<std::size_t>(i + kOffset) / 64] |= uint64_t{is_true} << ((i + kOffset) % 64);
          mask.push_back(is_true);
        } else {
          const bool is_valid = random() % 5 != 0;
          bytes.push_back(std::byte{is_true});
          valid.push_back(std::byte{is_valid});
          mask.push_back(is_true && is_valid);
        }
      }
      RowMap map{.mask = {mask_part_of(words, kOffset, kBits), mask_part_of(bytes)}};
      map.mask[1].nulls.bytes = valid.data();
      std::vector<int64_t> kept;
      std::vector<int64_t> scattered;
      std::vector<int64_t> one;
      std::vector<int64_t> chosen;
      int64_t next = 100;
      for (int64_t i = 0; i < 100; ++i) {
        const bool is_true = mask[static_cast<std::size_t>(i)];
        if (is_true) kept.push_back(i);
        scattered.push_back(is_true ? next++ : i);
        one.push_back(is_true ? 100 : i);
        chosen.push_back(is_true ? i : 100 + i);
      }
      const auto true_rows = static_cast<int64_t>(kept.size());
      check(target, RowRequest::filter(kTable), map, kept);
      check(target, RowRequest::mask_scatter(kTable, {0, true_rows}, false), map, scattered);
      check(target, RowRequest::mask_scatter(kTable, {1}, true), map, one);
      check(target, RowRequest::choose(kTable, {100}), map, chosen);
      if (true_rows > 0) {
        refuse<InvalidArgument>(target, RowRequest::mask_scatter(kTable, {true_rows - 1}, false), map);
      }
    }
  }
}

TEST_CASE("empty maps, empty tables and tables without a chunk") {
  for (const Target& target : all_targets()) {
    const std::vector<int64_t> nothing;
    const std::vector<int64_t> one = {0};
    check(target, RowRequest::gather(kTable, Bounds::raise), {}, nothing);
    check(target, RowRequest::gather(kTable, Bounds::raise), {.map = {part_of(nothing)}}, nothing);
    check(target, RowRequest::gather({0}, Bounds::raise), {.map = {part_of(nothing)}}, nothing);
    check(target, RowRequest::gather({0}, Bounds::fill), {.map = {part_of(one)}}, {-1});
    refuse<BadRow>(target, RowRequest::gather({0}, Bounds::raise), {.map = {part_of(one)}});
    refuse<BadRow>(target, RowRequest::gather({}, Bounds::unchecked), {.map = {part_of(one)}});
    check(target, RowRequest::scatter({0}, {4}, false), {.map = {part_of(nothing)}}, nothing);
    check(target, RowRequest::scatter({0}, {4}, false, Bounds::fill), {.map = {part_of(one)}}, nothing);
    check(target, RowRequest::filter({0}), {}, nothing);
    check(target, RowRequest::choose({0}, {0}), {}, nothing);
  }
}

TEST_CASE("counts of rows that do not fit are refused, on the host and on a GPU with one text") {
  const auto text = [](const Target& target, const RowRequest& request, const RowMap& map) -> std::string {
    try {
      RowSelection(target.sharing, request, map, target.device);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "";
  };
  const std::vector<int64_t> two = {0, 1};
  const std::vector<std::byte> three(3, std::byte{1});
  const RowMap map{.map = {part_of(two)}};
  const RowMap mask{.mask = {mask_part_of(three)}};
  for (const Target& target : all_targets()) {
    REQUIRE(text(target, RowRequest::scatter({9}, {1}, false), map) == "the map has 2 rows, the source only 1");
    const RowRequest whole{.kind = SelectionKind::scatter, .first = {9}, .second = {4}, .whole = true};
    REQUIRE(text(target, whole, map).ends_with("rows of the source, the last of which would be lost: give source[:2]"));
    REQUIRE(text(target, RowRequest::scatter({9}, {2}, true), map).ends_with("source of one row, got 2 rows"));
    REQUIRE(text(target, RowRequest::filter({4}), mask) == "the mask has length 3, the table has length 4");
    REQUIRE(text(target, RowRequest::mask_scatter({2}, {3}, false), mask).ends_with("the target has length 2"));
    REQUIRE(text(target, RowRequest::mask_scatter({3}, {2}, false), mask) ==
            "the mask has 3 true rows, the source only 2 rows");
    REQUIRE(text(target, RowRequest::choose({2}, {2}), mask) == "the mask has length 3, each side has length 2");
    REQUIRE(text(target, RowRequest::choose({3}, {2}), mask) == "the two sides have 3 and 2 rows");
    // A mask where the kind needs a map, and the other way round, is an error of the caller's code.
    refuse<std::logic_error>(target, RowRequest::gather({3}, Bounds::raise), mask);
    refuse<std::logic_error>(target, RowRequest::filter({2}), map);
  }
}

TEST_CASE("a selection takes rows of tables on its own device only") {
  const std::vector<int64_t> rows = {2, 0, 1};
  const RowRequest request = RowRequest::gather({3}, Bounds::raise);
  const RowMap map{.map = {part_of(rows)}};
  const auto targets = {host_target(), gpu_target(0), gpu_target(1)};
  for (const Target& made : targets) {
    const RowSelection selection(made.sharing, request, map, made.device);
    for (const Target& used : targets) {
      const Frame frame = on_device(used, column_of({3}));
      if (used.device == made.device) {
        REQUIRE(values_of(used, selection.take(used.sharing, frame, nullptr, false)) == rows);
      } else {
        REQUIRE_THROWS_AS(selection.take(used.sharing, frame, nullptr, false), InvalidArgument);
      }
    }
  }
  for (const int unknown : {-2, 2}) {
    refuse<device::DeviceError>({host_target().sharing, unknown}, request, map);
  }
  const RowSelection scattered(host_target().sharing, RowRequest::scatter({3}, {3}, false), map, kHost);
  const Frame here = column_of({3});
  const Frame there = on_device(gpu_target(0), here);
  REQUIRE_THROWS_AS(scattered.take(host_target().sharing, here, &there, false), InvalidArgument);
  REQUIRE_THROWS_AS(scattered.take(host_target().sharing, there, &here, false), InvalidArgument);
  REQUIRE_THROWS_AS(scattered.take(host_target().sharing, there, &there, false), InvalidArgument);
  // The host does not take rows of types that the kernels lack from memory of a GPU.
  arrow::Type type = integer_type("l", IndexType::i64);
  type.layout = arrow::Layout::sparse_union;
  Frame foreign = there;
  foreign.data.type = std::make_shared<const arrow::Type>(type);
  const RowSelection on_gpu(gpu_target(0).sharing, request, map, 0);
  REQUIRE_THROWS_AS(on_gpu.take(gpu_target(0).sharing, foreign, nullptr, false), DataTypeError);
}

TEST_CASE("a map lies in host memory or on the device of the table") {
  const std::vector<int64_t> rows = {2, 0, 1};
  Frame column = column_of({3});
  column.data.chunks[0].first = buffer_of(rows);
  const RowRequest request = RowRequest::gather({3}, Bounds::raise);
  const auto targets = {host_target(), gpu_target(0), gpu_target(1)};
  for (const Target& target : targets) {
    for (const Target& other : targets) {
      const Frame there = on_device(other, column);
      const RowMap map = map_of(there);
      REQUIRE(map.device == other.device);
      if (other.device == kHost || other.device == target.device) {
        check(target, request, map, rows);
      } else {
        refuse<InvalidArgument>(target, request, map);
      }
    }
  }
}

TEST_CASE("items of plain arrays: rows of the chunks, and zero bytes for missing rows") {
  const std::vector<int32_t> first = {10, 11, 12};
  const std::vector<int32_t> second = {13, 14};
  const std::vector<int64_t> map = {4, 9, 0, 3};
  for (const Target& target : all_targets()) {
    const RowSelection selection(target.sharing, RowRequest::gather({3, 2}, Bounds::fill), {.map = {part_of(map)}},
                                 target.device);
    const arrow::Buffer items = selection.take_items(
        target.sharing,
        {reinterpret_cast<const std::byte*>(first.data()), reinterpret_cast<const std::byte*>(second.data())}, 4);
    const std::vector<int32_t> expected = {14, 0, 10, 13};
    REQUIRE(std::memcmp(items.data, expected.data(), 16) == 0);
  }
}

TEST_CASE("several threads use the host's copy of one selection") {
  std::vector<int64_t> map(20000);
  for (std::size_t i = 0; i < map.size(); ++i) map[i] = static_cast<int64_t>(i * 37 % 100);
  for (const Target& target : {all_targets()[2], gpu_target(0)}) {
    const RowSelection selection(target.sharing, RowRequest::gather(kTable, Bounds::raise), {.map = {part_of(map)}},
                                 target.device);
    std::vector<std::vector<int64_t>> found(8, std::vector<int64_t>(map.size()));
    std::vector<std::thread> threads;
    for (std::vector<int64_t>& own : found) {
      threads.emplace_back([&] {
        for (int i = 0; i < 3; ++i) selection.positions(target.sharing, own.data());
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const std::vector<int64_t>& own : found) REQUIRE(own == map);
  }
}

// test_device_table.cpp: device kernels for rows of tables with 32- and 64-bit row numbers, compared with the host.
#include <random>

#include "arrow/values.h"
#include "backends/device/queue.h"
#include "backends/reference/host_machine.h"
#include "backends/reference/reference_backend.h"
#include "catch.h"
#include "table/device/device_take.h"
#include "table/host_selection.h"
#include "table/row_errors.h"
#include "table/take_frame.h"

using namespace gs;
using namespace gs::table;

namespace {

const Sharing& sharing() {
  static const Sharing instance = [] {
    reference::run_on(reference::devices());
    return Sharing{reference::backend(), {}};
  }();
  return instance;
}

// Row numbers of 64 bits from the first row on.
struct WideNumbers {
  explicit WideNumbers(bool is_wide) : before(wide_rows) {
    if (is_wide) wide_rows = 0;
  }
  ~WideNumbers() { wide_rows = before; }
  int64_t before;
};

std::vector<int64_t> positions(const HostSelection& selection) {
  std::vector<int64_t> found(static_cast<std::size_t>(selection.count()));
  selection.positions(sharing(), found.data());
  return found;
}

template <class T>
Buffer buffer_of(const std::vector<T>& values) {
  const NewBuffer fresh = allocate(static_cast<int64_t>(values.size() * sizeof(T)));
  if (!values.empty()) std::memcpy(fresh.data, values.data(), values.size() * sizeof(T));
  return fresh.buffer;
}

Type type_of(Layout layout, const char* format, int64_t width, std::vector<Type> children = {}) {
  Type type;
  type.layout = layout;
  type.format = format;
  type.width = width;
  type.flags = 2;
  type.children = std::move(children);
  return type;
}

// Lists of pairs of strings.
struct Nested {
  Nested(std::mt19937_64& random, int64_t rows) {
    Type pair = type_of(Layout::fixed_list, "+w:2", 0, {type_of(Layout::binary, "u", 4)});
    pair.list_size = 2;
    frame.data.type = std::make_shared<const Type>(type_of(Layout::list, "+L", 8, {pair}));
    std::vector<int64_t> lists{0};
    for (int64_t i = 0; i < rows; ++i) lists.push_back(lists.back() + static_cast<int64_t>(random() % 4));
    const int64_t texts = lists.back() * 2;
    std::vector<int32_t> ends{0};
    for (int64_t i = 0; i < texts; ++i) ends.push_back(ends.back() + static_cast<int32_t>(random() % 30));
    std::vector<char> characters(static_cast<std::size_t>(ends.back()));
    for (char& character : characters) character = static_cast<char>('a' + random() % 26);
    std::vector<uint64_t> bits(static_cast<std::size_t>(texts) / 64 + 1);
    for (uint64_t& word : bits) word = random() | random();
    Array text;
    text.length = texts;
    text.nulls = -1;
    text.validity = buffer_of(bits);
    text.first = buffer_of(ends);
    text.second = buffer_of(characters);
    text.reach = ends.back();
    Array pairs;
    pairs.length = lists.back();
    pairs.children.push_back(text);
    Array column;
    column.length = rows;
    column.first = buffer_of(lists);
    column.reach = lists.back();
    column.children.push_back(pairs);
    frame.data.chunks.push_back(column);
  }
  Frame frame;
};

std::vector<std::string> values_of(const Frame& frame) {
  std::vector<std::string> values;
  for (const Array& chunk : frame.data.chunks) {
    for (int64_t row = 0; row < chunk.length; ++row) {
      append_value(*frame.data.type, chunk, row, values.emplace_back());
    }
  }
  return values;
}

}  // namespace

TEST_CASE("selections are those of the host, whatever the width of their numbers") {
  std::mt19937_64 random(1);
  const DeviceContext worker(sharing(), kHost);
  const table::ChunkLengths target{70, 0, 130};
  const table::ChunkLengths source{300};
  for (const bool is_wide : {false, true}) {
    const WideNumbers wide(is_wide);
    std::vector<int32_t> map(250);
    for (int32_t& value : map) value = static_cast<int32_t>(random() % 400) - 200;
    std::vector<uint64_t> bits(8);
    for (uint64_t& word : bits) word = random();
    const auto* data = reinterpret_cast<const std::byte*>(map.data());
    const auto* mask_bits = reinterpret_cast<const std::byte*>(bits.data());
    const std::vector<MapPart> inside{{data, 4, IndexType::i32, 100, {}}, {data + 400, 4, IndexType::i32, 150, {}}};
    std::vector<MapPart> odd = inside;
    odd[1].nulls.bits = mask_bits;
    odd[1].nulls.offset = 5;
    const std::vector<MaskPart> mask{{mask_bits, true, 3, 1, 90, {}}, {data, false, 0, 4, 110, {}}};

    const auto same = [&](const RowRequest& request, const RowMap& given) {
      const DeviceSelection found(worker, request, given);
      const HostSelection expected(sharing(), request, given);
      REQUIRE((found.rows().wide != nullptr) == is_wide);
      REQUIRE(found.count() == expected.count());
      REQUIRE(found.missing() == expected.missing());
      REQUIRE(found.lengths() == expected.lengths());
      REQUIRE(found.numbers(worker) == positions(expected));
    };
    same(RowRequest::gather(target, Bounds::raise), {.map = inside});
    same(RowRequest::gather(target, Bounds::fill, Negative::out_of_bounds), {.map = odd});
    for (const bool one_row : {false, true}) {
      const table::ChunkLengths from = one_row ? table::ChunkLengths{1} : source;
      same(RowRequest::scatter(target, from, one_row), {.map = inside});
      same(RowRequest::mask_scatter(target, from, one_row), {.mask = mask});
    }
    same(RowRequest::filter(target), {.mask = mask});
    same(RowRequest::choose(target, {200}), {.mask = mask});
    const auto made = [&](const RowRequest& request, const RowMap& given) {
      return DeviceSelection(worker, request, given).count();
    };
    REQUIRE_THROWS_AS(made(RowRequest::gather(target, Bounds::raise), {.map = odd}), NullRow);
    REQUIRE_THROWS_AS(made(RowRequest::gather({150}, Bounds::raise), {.map = inside}), BadRow);
    REQUIRE_THROWS_AS(made(RowRequest::mask_scatter(target, {20}, false), {.mask = mask}), InvalidArgument);
    REQUIRE_THROWS_AS(made(RowRequest::filter({199}), {.mask = mask}), InvalidArgument);
  }
}

TEST_CASE("lists of lists of texts, with numbers of 32 and 64 bits and rows that are missing") {
  std::mt19937_64 random(2);
  const DeviceContext worker(sharing(), kHost);
  const Nested nested(random, 150);
  std::vector<int64_t> map(400);
  for (int64_t& value : map) value = static_cast<int64_t>(random() % 180);
  const std::vector<MapPart> parts{{reinterpret_cast<const std::byte*>(map.data()), 8, IndexType::i64, 400, {}}};
  const RowRequest request = RowRequest::gather({150}, Bounds::fill);
  const HostSelection host(sharing(), request, {.map = parts});
  const std::vector<std::string> expected = values_of(take_rows(sharing(), host, nested.frame, nullptr, true));
  for (const bool is_wide : {false, true}) {
    const WideNumbers wide(is_wide);
    const int64_t before = kernel_takes();
    const DeviceSelection rows(worker, request, {.map = parts});
    REQUIRE(values_of(take_rows(worker, rows, nested.frame, nullptr, true)) == expected);
    REQUIRE(kernel_takes() == before + 1);
  }
}

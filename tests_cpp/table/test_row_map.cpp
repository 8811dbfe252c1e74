// test_row_map.cpp: columns as maps and masks: addresses, nulls, devices and refused types.
#include "catch.h"
#include "core/error.h"
#include "table/row_errors.h"
#include "table/row_map.h"

using namespace gs;
using namespace gs::table;

namespace {

const std::byte kData[64] = {};
const std::byte kValid[8] = {};

arrow::Type type_of(arrow::Layout layout, const char* format) {
  arrow::Type type;
  type.layout = layout;
  type.format = format;
  return type;
}

arrow::Type int32_type() {
  arrow::Type type = type_of(arrow::Layout::fixed, "i");
  type.width = 4;
  type.integer = IndexType::i32;
  type.is_integer = true;
  return type;
}

// Two chunks; the first begins at row 3 of its buffers and has a validity bitmap.
Frame column_of(const arrow::Type& type, int device) {
  arrow::Array first;
  first.offset = 3;
  first.length = 5;
  first.first.data = kData;
  first.validity.data = kValid;
  arrow::Array second;
  second.length = 2;
  second.first.data = kData + 40;
  Frame column;
  column.data.type = std::make_shared<const arrow::Type>(type);
  column.data.chunks = {first, second};
  column.device = device;
  return column;
}

}  // namespace

TEST_CASE("a column of integers as a map") {
  for (const int device : {kHost, 1}) {
    const RowMap map = map_of(column_of(int32_type(), device));
    REQUIRE(map.device == device);
    REQUIRE_FALSE(map.stream);
    REQUIRE(map.count() == 7);
    REQUIRE(map.mask.empty());
    REQUIRE(map.map.size() == 2);
    REQUIRE(map.map[0].data == kData + 12);
    REQUIRE(map.map[0].stride == 4);
    REQUIRE(map.map[0].type == IndexType::i32);
    REQUIRE(map.map[0].nulls.bits == kValid);
    REQUIRE(map.map[0].nulls.offset == 3);
    REQUIRE(map.map[1].data == kData + 40);
    REQUIRE(map.map[1].nulls.bits == nullptr);
  }
}

TEST_CASE("a column of booleans as a mask") {
  const RowMap mask = mask_of(column_of(type_of(arrow::Layout::bits, "b"), 1));
  REQUIRE(mask.device == 1);
  REQUIRE(mask.count() == 7);
  REQUIRE(mask.map.empty());
  REQUIRE(mask.mask.size() == 2);
  REQUIRE(mask.mask[0].is_bits);
  REQUIRE(mask.mask[0].data == kData);
  REQUIRE(mask.mask[0].offset == 3);
  REQUIRE(mask.mask[0].nulls.bits == kValid);
  REQUIRE(mask.mask[1].offset == 0);
  REQUIRE(mask.mask[1].count == 2);
}

TEST_CASE("columns of other types are neither maps nor masks") {
  REQUIRE_THROWS_AS(map_of(column_of(type_of(arrow::Layout::bits, "b"), kHost)), IndexTypeError);
  REQUIRE_THROWS_AS(mask_of(column_of(int32_type(), kHost)), DataTypeError);
  arrow::Type number = int32_type();
  number.is_integer = false;
  number.format = "f";
  REQUIRE_THROWS_AS(map_of(column_of(number, kHost)), IndexTypeError);
  arrow::Type keys = int32_type();
  keys.dictionary = std::make_shared<const arrow::Type>(int32_type());
  REQUIRE_THROWS_AS(map_of(column_of(keys, kHost)), IndexTypeError);
}

TEST_CASE("a count of values beyond 64 bits is refused") {
  RowMap map;
  MapPart part;
  part.count = INT64_MAX;
  map.map = {part, part};
  REQUIRE_THROWS_AS(map.count(), ShapeError);
}

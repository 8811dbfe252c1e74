// test_type.cpp: formats that mean one type compare as equal, and all others as different.
#include "arrow/array.h"
#include "arrow/read_format.h"
#include "catch.h"

using namespace gs::arrow;

namespace {

Type type_of(const char* format) {
  Type type;
  read_format(format, type, Path{nullptr, "column", "a"});
  return type;
}

bool same(const char* first, const char* second) {
  const bool found = same_type(type_of(first), type_of(second));
  REQUIRE(found == same_type(type_of(second), type_of(first)));
  return found;
}

}  // namespace

TEST_CASE("128 bits are the default of a decimal, whatever its scale is") {
  REQUIRE(same("d:5,2", "d:5,2,128"));
  REQUIRE(same("d:5,128", "d:5,128,128"));
  REQUIRE(same("d:5,-128", "d:5,-128,128"));
  REQUIRE(same("d:5,128,64", "d:5,128,64"));
}

TEST_CASE("a scale of 128 is not a width of 128 bits") {
  REQUIRE_FALSE(same("d:5,128", "d:5,2"));
  REQUIRE_FALSE(same("d:5,128", "d:5,12"));
  REQUIRE_FALSE(same("d:5,128", "d:5,128,256"));
  REQUIRE_FALSE(same("d:5,2,128", "d:5,2,256"));
  REQUIRE(type_name(type_of("d:5,128")) == "decimal128(5, 128)");
  REQUIRE(type_name(type_of("d:5,128,256")) == "decimal256(5, 128)");
}

TEST_CASE("formats that are no decimals are compared as they are") {
  REQUIRE(same("w:128", "w:128"));
  REQUIRE_FALSE(same("w:128", "w:12"));
  REQUIRE_FALSE(same("tsu:a,128", "tsu:a"));
}

// test_one_or_many.cpp: the vector that stores one entry inline and several on the heap.
#include <vector>

#include "catch.h"
#include "core/one_or_many.h"

using gs::OneOrMany;

namespace {

OneOrMany<int> numbers(std::size_t count, int first) {
  OneOrMany<int> list;
  list.resize(count);
  for (std::size_t i = 0; i < count; ++i) list[i] = first + static_cast<int>(i);
  return list;
}

std::vector<int> entries(const OneOrMany<int>& list) {
  return {list.begin(), list.end()};
}

}  // namespace

TEST_CASE("a copy has the entries of its source, and keeps them", "[one_or_many]") {
  const std::size_t from = GENERATE(0u, 1u, 2u, 5u);
  const std::size_t to = GENERATE(0u, 1u, 2u, 5u);
  OneOrMany<int> source = numbers(from, 10);
  std::vector<int> expected;
  for (std::size_t i = 0; i < from; ++i) expected.push_back(10 + static_cast<int>(i));
  const OneOrMany<int> made = source;
  OneOrMany<int> assigned = numbers(to, 70);
  assigned = source;
  for (int& entry : source) entry = -1;
  for (const OneOrMany<int>& copy : {made, assigned}) {
    REQUIRE(copy.size() == from);
    REQUIRE(entries(copy) == expected);
    for (std::size_t i = 0; i < from; ++i) REQUIRE(copy[i] == expected[i]);
  }
  REQUIRE(entries(source) == std::vector<int>(from, -1));
}

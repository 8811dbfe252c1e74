// test_kernel_levels.cpp: each instruction set level has kernels of its own, compiled for that level.
#include <set>

#include "backends/cpu/kernel_levels.h"
#include "cpu_cases.h"

using namespace gs;
using namespace gs::test;

TEST_CASE("the kernels of a level name that level, and no two levels share one") {
  std::set<const void*> runs;
  std::set<const void*> columns;
  for (const std::string& level : levels()) {
    const cpu::Kernels* const kernels = cpu::kernels_of(level);
    REQUIRE(kernels != nullptr);
    REQUIRE(kernels->level == level);
    REQUIRE(runs.insert(reinterpret_cast<const void*>(kernels->run)).second);
    REQUIRE(columns.insert(reinterpret_cast<const void*>(kernels->columns->items)).second);
  }
  REQUIRE_FALSE(runs.empty());
}

TEST_CASE("an unknown level has no kernels") {
  for (const char* level : {"", "sse", "v1", "V3", "baseline "}) REQUIRE(cpu::kernels_of(level) == nullptr);
}

namespace {

// Moves 19 units (two turns of the unrolled loop, and a rest) and compares them with a loop. Some indices are equal, of
// which the last one wins in a scatter.
template <class Index>
void check_short_move(const std::string& level, IndexType type, int64_t unit) {
  INFO(level << ", " << index_name(type) << ", unit " << unit);
  const cpu::ShortMove move = cpu::kernels_of(level)->short_move(type, unit);
  REQUIRE(move.gather != nullptr);
  REQUIRE(move.scatter != nullptr);
  constexpr int64_t kExtent = 23;
  Random random(5);
  std::vector<Index> index;
  for (int i = 0; i < 19; ++i) index.push_back(static_cast<Index>(random.from(-kExtent, kExtent - 1)));
  const auto count = static_cast<int64_t>(index.size());
  const auto* indices = reinterpret_cast<const std::byte*>(index.data());
  Array source = make_array({0, kExtent * unit}, random);
  Array result = make_array({0, count * unit}, random);
  Bytes expected = result.bytes;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t value = index[static_cast<size_t>(i)];
    std::memcpy(expected.data() + result.origin + i * unit,
                source.data() + (value < 0 ? value + kExtent : value) * unit, static_cast<size_t>(unit));
  }
  REQUIRE(move.allows(indices, count, kExtent));
  REQUIRE(move.gather(result.data(), source.data(), indices, count, kExtent));
  REQUIRE((result.bytes == expected));
  Array values = make_array({0, count * unit}, random);
  index[17] = index[3];
  expected = source.bytes;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t value = index[static_cast<size_t>(i)];
    std::memcpy(expected.data() + source.origin + (value < 0 ? value + kExtent : value) * unit,
                values.data() + i * unit, static_cast<size_t>(unit));
  }
  const Bytes given = values.bytes;
  REQUIRE(move.scatter(values.data(), source.data(), indices, count, kExtent));
  REQUIRE((source.bytes == expected));
  REQUIRE((values.bytes == given));
  for (const int64_t outside : {kExtent, -kExtent - 1}) {
    for (const size_t at : {0, 7, 8, 18}) {
      const Index kept = index[at];
      index[at] = static_cast<Index>(outside);
      REQUIRE_FALSE(move.allows(indices, count, kExtent));
      REQUIRE_FALSE(move.gather(result.data(), source.data(), indices, count, kExtent));
      REQUIRE_FALSE(move.scatter(values.data(), source.data(), indices, count, kExtent));
      index[at] = kept;
    }
  }
}

}  // namespace

TEST_CASE("every level has short moves of small units by 32- and 64-bit indices, and no others") {
  for (const std::string& level : levels()) {
    for (const int64_t unit : {1, 2, 4, 8, 16}) {
      check_short_move<int32_t>(level, IndexType::i32, unit);
      check_short_move<int64_t>(level, IndexType::i64, unit);
      REQUIRE(cpu::kernels_of(level)->short_move(IndexType::u8, unit).gather == nullptr);
      REQUIRE(cpu::kernels_of(level)->short_move(IndexType::u64, unit).gather == nullptr);
    }
    for (const int64_t unit : {0, 3, 12, 32}) {
      REQUIRE(cpu::kernels_of(level)->short_move(IndexType::i64, unit).gather == nullptr);
    }
  }
}

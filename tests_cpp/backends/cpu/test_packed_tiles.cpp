// test_packed_tiles.cpp: gathers by tiles when there is no memory for the tiles: the result is complete all the same.
#include <sys/resource.h>

#include <vector>

#include "backends/cpu/column_tiles.h"
#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/kernel_levels.h"
#include "backends/cpu/packed_tiles.h"
#include "catch.h"
#include "host/memory_pool.h"
#include "plans_by_hand.h"

using namespace gs;
using namespace gs::test;

namespace {

constexpr int64_t kSide = 1024;

enum class Memory { enough, none };

// Whether a gather of a square array along axis 0 is right, with or without memory for tiles.
bool gathers(const Plan& plan, Order order, const cpu::Tuning& tuning, Memory memory) {
  std::vector<float> source(kSide * kSide);
  std::vector<int64_t> index(source.size());
  std::vector<float> result(source.size(), -1);
  for (std::size_t k = 0; k < source.size(); ++k) {
    source[k] = static_cast<float>(k);
    index[k] = static_cast<int64_t>(k * 7919 % kSide);
  }
  Buffers buffers;
  buffers.dense = reinterpret_cast<std::byte*>(result.data());
  buffers.indexed = reinterpret_cast<std::byte*>(source.data());
  buffers.index.push_back(reinterpret_cast<const std::byte*>(index.data()));
  host::trim();
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
  const rlimit none{1, before.rlim_max};
  if (memory == Memory::none) setrlimit(RLIMIT_AS, &none);
  const bool has_memory = cpu::tile_memory(int64_t{1} << 20) != nullptr;
  host::trim();
  const Outcome outcome =
      cpu::move_with(*cpu::kernels_of("baseline"), tuning, plan, buffers, Direction::gather, {1, nullptr});
  setrlimit(RLIMIT_AS, &before);
  if (has_memory != (memory == Memory::enough) || outcome != Outcome::done) return false;
  for (int64_t row = 0; row < kSide; ++row) {
    for (int64_t column = 0; column < kSide; ++column) {
      const int64_t at = order == Order::c ? row * kSide + column : column * kSide + row;
      const int64_t wanted = index[static_cast<std::size_t>(at)] * kSide + column;
      if (result[static_cast<std::size_t>(row * kSide + column)] != static_cast<float>(wanted)) return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("tiles are packed where there is memory for them, and gathered in place where there is none") {
  cpu::Tuning tuning;
  tuning.l2_bytes = int64_t{1} << 20;
  tuning.far_bytes = 1;
  const Plan columns = gather_plan(kSide, kSide, kSide);
  REQUIRE(cpu::column_tiling_of(columns, tuning).columns > 0);
  const Plan index = along_plan(kSide, 0, Order::c, Order::f);
  const std::optional<cpu::Tiling> tiling = cpu::tiling_of(index, tuning, Direction::gather);
  REQUIRE((tiling && tiling->is_tiled));
  REQUIRE(gathers(columns, Order::c, tuning, Memory::enough));
  REQUIRE(gathers(index, Order::f, tuning, Memory::enough));
// Sanitizers need memory of their own at any time, so that a process without any would end.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
  REQUIRE(gathers(columns, Order::c, tuning, Memory::none));
  REQUIRE(gathers(index, Order::f, tuning, Memory::none));
#endif
}

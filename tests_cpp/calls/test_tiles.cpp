// test_tiles.cpp: checks that tiles cover a result once, and gathers tile by tile with races and interrupts.
#include "call_double.h"
#include "calls/gather.h"
#include "calls/make_plan.h"
#include "calls/tiles.h"
#include "core/error.h"
#include "host/progress.h"

namespace gs::test {
namespace {

using Values = std::vector<int64_t>;

// out[i][j] = input[index[i][j]][j], in tiles.
struct Tiled {
  static constexpr int64_t kRows = 7;
  static constexpr int64_t kColumns = 5;
  Values input, index, out = Values(kRows * kColumns, -1);
  Request request;
  ScriptedBackend backend;

  explicit Tiled(Dims tile) {
    for (int64_t i = 0; i < 9 * kColumns; ++i) input.push_back(1000 + i);
    for (int64_t i = 0; i < kRows * kColumns; ++i) index.push_back((i * 7) % 9);
    request.planner = Planner::along_axis;
    request.axis = 0;
    request.rule = {Bounds::raise, Negative::out_of_bounds};
    request.tile = tile;
  }
  Views views() {
    Views views;
    views.input = contiguous_view(reinterpret_cast<std::byte*>(input.data()), Dims{9, kColumns}, 8);
    views.indices.resize(1);
    static_cast<ArrayView&>(views.indices[0]) =
        contiguous_view(reinterpret_cast<std::byte*>(index.data()), Dims{kRows, kColumns}, 8);
    return views;
  }
  Values expected() const {
    Values values;
    for (int64_t i = 0; i < kRows * kColumns; ++i) {
      values.push_back(input[static_cast<std::size_t>(index[static_cast<std::size_t>(i)] * kColumns + i % kColumns)]);
    }
    return values;
  }
  CallResult run(TestContext& context) {
    const Views all = views();
    return run_gather(context, request, make_plan(request, all), all, reinterpret_cast<std::byte*>(out.data()));
  }
};

TEST_CASE("tiles cover every element of the result once, in row-major order") {
  Tiled tiled(Dims{1, 1});
  const Views views = tiled.views();
  constexpr int64_t kColumns = Tiled::kColumns;
  const ArrayView result =
      contiguous_view(reinterpret_cast<std::byte*>(tiled.out.data()), Dims{Tiled::kRows, kColumns}, 8);
  for (const Dims& tile : {Dims{1, 1}, Dims{3, 2}, Dims{7, 5}, Dims{9, 3}, Dims{2, 100}}) {
    std::vector<int> visits(tiled.out.size());
    int64_t before = -1;
    const int64_t count = tile_count(result.extent, tile);
    for (int64_t number = 0; number < count; ++number) {
      const Tile box = tile_at(views.input, views.indices[0], result, 0, tile, number);
      const int64_t corner = (box.result.data - result.data) / 8;
      REQUIRE(corner > before);
      before = corner;
      // The columns of the tile, and the axis from its start.
      REQUIRE(box.input.data == views.input.data + 8 * (corner % kColumns));
      REQUIRE(box.input.extent[0] == 9);
      REQUIRE(box.index.data - views.indices[0].data == 8 * corner);
      REQUIRE((box.index.extent == box.result.extent));
      for (int64_t i = 0; i < box.result.extent[0]; ++i) {
        for (int64_t j = 0; j < box.result.extent[1]; ++j)
          ++visits[static_cast<std::size_t>(corner + i * kColumns + j)];
      }
    }
    REQUIRE(visits == std::vector<int>(visits.size(), 1));
  }
  REQUIRE_THROWS_AS(tile_count(Dims{4, 7}, Dims{4}), ShapeError);
  REQUIRE_THROWS_AS(tile_count(Dims{4, 7}, Dims{4, 0}), ShapeError);
}

TEST_CASE("a tiled gather gives what a loop gives, whatever the tiles") {
  Tiled tiled(GENERATE(Dims{1, 1}, Dims{2, 3}, Dims{7, 5}, Dims{100, 2}, Dims{3, 100}));
  TestContext context(tiled.backend);
  CHECK(tiled.run(context).ending == Ending::done);
  CHECK(tiled.out == tiled.expected());
  const Dims shape{Tiled::kRows, Tiled::kColumns};
  CHECK(static_cast<int64_t>(tiled.backend.steps.size()) == tile_count(shape, tiled.request.tile));
}

TEST_CASE("a bad index of any tile is located in the whole index array") {
  Tiled tiled(Dims{2, 2});
  tiled.index[23] = 9;
  tiled.index[33] = -1;  // this rule forbids negative indices
  TestContext context(tiled.backend);
  const CallResult result = tiled.run(context);
  REQUIRE(result.ending == Ending::bad_index);
  CHECK(result.bad->flat == 23);
  CHECK(result.bad->count == 2);
}

TEST_CASE("an index of a tile that turns bad for a moment repeats the gather") {
  Tiled tiled(Dims{2, 2});
  const Values expected = tiled.expected();
  int moves = 0;
  tiled.backend.before = [&](Step step) {
    if (step == Step::move && ++moves == 4) tiled.index[20] = 77;
    if (step == Step::first_outside) tiled.index[20] = (20 * 7) % 9;
  };
  TestContext context(tiled.backend);
  CHECK(tiled.run(context).ending == Ending::done);
  CHECK(tiled.out == expected);
}

TEST_CASE("a tiled gather of many tiles is interrupted between tiles") {
  // 4 x 1500 tiles of one item each, so that the lock is released.
  Values input(9, 3), index(6000, 4), out(6000, 0);
  Views views;
  views.input = view_of(input.data(), 9);
  views.indices.resize(1);
  views.indices[0] = index_of(index.data(), 6000);
  Request request;
  request.planner = Planner::along_axis;
  request.axis = 0;
  request.tile = Dims{1};
  ScriptedBackend backend;
  TestContext context(backend);
  const std::size_t at = GENERATE(1, 1500);
  backend.before = [&](Step) { TestContext::interrupt = backend.steps.size() >= at; };
  host::Progress::current() = {};
  const CallResult result =
      run_gather(context, request, make_plan(request, views), views, reinterpret_cast<std::byte*>(out.data()));
  CHECK(result.ending == Ending::interrupted);
  CHECK(host::Progress::current().done == static_cast<double>(backend.steps.size()) / 6000);
  CHECK(backend.steps.size() == (at == 1 ? 1024 : 2048));  // every 1024 tiles there is a poll
}

}  // namespace
}  // namespace gs::test

// packed_tiles.h: packs the tiles of a tiling, and moves independent points tile by tile.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "backends/backend.h"
#include "backends/cpu/box_copy.h"
#include "backends/cpu/kernels/level.h"
#include "backends/cpu/tiling.h"
#include "host/memory_pool.h"

namespace gs::cpu {

struct ReleaseTile {
  void operator()(std::byte* memory) const noexcept { host::release(memory); }
};
using TileMemory = std::unique_ptr<std::byte, ReleaseTile>;

// Memory for a tile, or none if there is no more. Then its operands stay where they are: the call is slower, but it
// does not fail when a part of the destination is written already.
TileMemory tile_memory(int64_t bytes);

// Packs one tile of a tiling after the other into memory of its own, for one thread.
class TilePacker {
 public:
  TilePacker(const Tiling& tiling, const Buffers& buffers, Direction direction);

  // Packs what the tile reads. From then on `plan` and `buffers` are those of the tile.
  void load(int64_t number);
  // Copies what a gather has written to the tile to where it belongs.
  void store() const;

  bool has_memory() const { return memory_ != nullptr; }
  const Plan& plan() const { return plan_; }
  const Buffers& buffers() const { return own_; }

 private:
  // Replaces an operand of the tile by a packed one at `target`.
  void pack(int operand, const std::byte* source, std::byte* target);

  const Tiling& tiling_;
  const Buffers& all_;
  Direction direction_;
  TileMemory memory_;
  Plan plan_;
  Buffers own_;
  std::byte* dense_ = nullptr;  // where the packed dense side belongs
  Box dense_box_;               // from the packed dense side to there
};

// The plan of the points [first, last), if they are all points at some coordinates of the first axis. Adjusts the
// addresses in `buffers` to it.
std::optional<Plan> whole_rows(const Plan& plan, Buffers& buffers, int64_t first, int64_t last);

// Moves the points of a tiling on this thread. `stream`: results are written with streaming stores where that is
// possible. Returns false if the rule forbids an index.
bool move_tiles(const Kernels& kernels, const Tuning& tuning, const Tiling& tiling, const Buffers& buffers,
                Direction direction, bool stream);

// Moves independent points on so many threads.
Outcome move_packed_tiles(const Kernels& kernels, const Tuning& tuning, const Tiling& tiling, const Buffers& buffers,
                          Direction direction, bool stream, int threads, bool (*interrupted)());

}  // namespace gs::cpu

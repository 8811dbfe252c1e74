// memory.cpp: implements memory.h.
#include "table/memory.h"

#include "backends/table_tuning.h"

namespace gs::table {
namespace {

struct alignas(64) Line {
  std::byte bytes[64];
};

// Empty buffers point to these zeros: some readers reject null pointers, and an array without rows has one offset, 0.
alignas(64) constexpr std::byte kNothing[64] = {};

// The block of this thread that short buffers are cut from.
struct Block {
  int scopes = 0;
  int64_t used = 0;
  std::shared_ptr<Line[]> lines;
};
thread_local Block common;

NewBuffer cut(int64_t lines) {
  if (common.lines == nullptr || common.used + lines > kBlockLines) {
    common.lines = std::make_shared_for_overwrite<Line[]>(static_cast<std::size_t>(kBlockLines));
    common.used = 0;
  }
  NewBuffer fresh;
  fresh.data = common.lines[common.used].bytes;
  fresh.buffer = {common.lines, fresh.data};
  common.used += lines;
  return fresh;
}

}  // namespace

CommonBlocks::CommonBlocks() {
  common.scopes += 1;
}

CommonBlocks::~CommonBlocks() {
  common.scopes -= 1;
  common.lines.reset();
}

NewBuffer allocate(int64_t bytes) {
  NewBuffer fresh;
  if (bytes == 0) {
    fresh.buffer.data = kNothing;
    return fresh;
  }
  if (common.scopes > 0 && bytes <= kMostCut) return cut(lines_for(bytes));
  const auto lines = static_cast<std::size_t>(lines_for(bytes));
  if (bytes <= kMostShared) {
    const auto block = std::make_shared_for_overwrite<Line[]>(lines);
    fresh.data = block[0].bytes;
    fresh.buffer.owner = block;
  } else {
    void* const block = host::allocate(lines * 64);
    fresh.buffer.owner = std::shared_ptr<void>(block, host::release);
    fresh.data = static_cast<std::byte*>(block);
  }
  fresh.buffer.data = fresh.data;
  return fresh;
}

NewBuffer allocate_zeros(int64_t bytes) {
  NewBuffer fresh = allocate(bytes);
  if (bytes > 0) std::memset(fresh.data, 0, static_cast<std::size_t>(lines_for(bytes) * 64));
  return fresh;
}

}  // namespace gs::table

// memory.cpp: see memory.h.
#include "table/memory.h"

namespace gs::table {
namespace {

struct alignas(64) Line {
  std::byte bytes[64];
};

constexpr int64_t kOneBlock = int64_t{64}
                              << 10;  // up to here, one allocation serves the bytes and their count of owners

// What empty buffers point to: some readers refuse null pointers, and the offsets of no rows are a single 0.
alignas(64) constexpr std::byte kNothing[64] = {};

}  // namespace

NewBuffer allocate(int64_t bytes) {
  NewBuffer fresh;
  if (bytes == 0) {
    fresh.buffer.data = kNothing;
    return fresh;
  }
  const auto lines = static_cast<std::size_t>(lines_for(bytes));
  if (bytes <= kOneBlock) {
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

// memory.h: allocates the buffers of results and the temporary memory of a call.
#pragma once

#include <cstring>
#include <new>
#include <utility>

#include "arrow/load.h"
#include "core/checked.h"
#include "host/memory_pool.h"
#include "host/scratch.h"
#include "table/arrow_names.h"

namespace gs::table {

// A result buffer with write access. It is aligned to cache lines and padded to a multiple of their size, so that whole
// words may be written at its end.
struct NewBuffer {
  Buffer buffer;
  std::byte* data = nullptr;
};
NewBuffer allocate(int64_t bytes);
NewBuffer allocate_zeros(int64_t bytes);

// While an object of this class exists, short buffers that its thread allocates lie side by side in common blocks. A
// block lives as long as one of its buffers, so the scope is for the buffers of one small result.
class CommonBlocks {
 public:
  CommonBlocks();
  CommonBlocks(const CommonBlocks&) = delete;
  CommonBlocks& operator=(const CommonBlocks&) = delete;
  ~CommonBlocks();
};

// The bytes of `count` values of `width` bytes. The product can overflow, because a map of stride 0 needs no memory and
// may therefore have any length.
inline int64_t bytes_of_values(int64_t count, int64_t width) {
  int64_t bytes = 0;
  if (__builtin_mul_overflow(count, width, &bytes)) throw ShapeError("the result would have more than 2**63 bytes");
  return bytes;
}
inline int64_t lines_for(int64_t bytes) {
  return bytes / 64 + (bytes % 64 != 0 ? 1 : 0);
}

using host::Scratch;

// Prefetches a cache line. Without the empty asm statement, the compiler treats a function that only prefetches as free
// of effects and removes its calls.
inline void prefetch(const void* address) {
  asm volatile("");
  __builtin_prefetch(address, 0, 2);
}
inline void prefetch(uintptr_t address) {
  prefetch(reinterpret_cast<const void*>(address));
}

}  // namespace gs::table

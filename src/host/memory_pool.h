// memory_pool.h: allocates host memory for results and recycles it to avoid repeated page faults.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gs::host {

// Returns memory that is aligned to 64 bytes; throws std::bad_alloc. Memory of 256 KiB or more comes from a
// process-wide pool of recycled blocks, which are aligned to 2 MiB and advised as huge pages if they have at least 2
// MiB. GS_POOL=0 turns the pool off. Any thread may allocate and release.
void* allocate(std::size_t bytes);
void release(void* block) noexcept;

// Returns all cached blocks to the system, and the number of their bytes to the caller.
std::size_t trim();

struct PoolState {
  std::size_t cached_bytes = 0;  // bytes of released blocks that are kept for reuse
  std::size_t used_bytes = 0;    // bytes of allocated blocks
  std::size_t limit_bytes = 0;   // upper limit of cached_bytes
  bool enabled = true;
};
PoolState pool_state();

}  // namespace gs::host

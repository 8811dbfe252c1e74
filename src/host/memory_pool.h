// memory_pool.h: memory for results on the host, recycled so that large results do not pay for page faults again.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gs::host {

// 64-byte aligned; throws std::bad_alloc. From 256 KiB on it comes from a process-wide pool of warm blocks (2 MiB
// aligned and advised as huge pages from 2 MiB on); GS_POOL=0 turns the pool off. Any thread may allocate and release.
void* allocate(std::size_t bytes);
void release(void* block) noexcept;

// Gives cached blocks back to the system; returns how many bytes.
std::size_t trim();

struct PoolState {
  std::size_t cached_bytes = 0;  // in blocks that wait for reuse
  std::size_t used_bytes = 0;    // in blocks handed out
  std::size_t limit_bytes = 0;   // most that is kept cached
  bool enabled = true;
};
PoolState pool_state();

}  // namespace gs::host

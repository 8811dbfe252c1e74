// zero_pages.cpp: gives whole pages back to the system, on Linux.
#include "host/zero_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

namespace gs::host {

void zero_pages(void* memory, std::size_t bytes) noexcept {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t first = (begin + page - 1) / page * page;
  const std::uintptr_t last = (begin + bytes) / page * page;
  // Pages that are locked in memory stay.
  if (first >= last || madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED) != 0) {
    std::memset(memory, 0, bytes);
    return;
  }
  std::memset(memory, 0, first - begin);
  std::memset(reinterpret_cast<void*>(last), 0, begin + bytes - last);
}

}  // namespace gs::host

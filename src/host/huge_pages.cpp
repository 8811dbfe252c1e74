// huge_pages.cpp: the hint for huge pages on Linux.
#include "host/huge_pages.h"

#include <sys/mman.h>

#include <cstdint>

namespace gs::host {

void prefer_huge_pages(void* memory, std::size_t bytes) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t first = (begin + kHugePage - 1) / kHugePage * kHugePage;
  const std::uintptr_t last = (begin + bytes) / kHugePage * kHugePage;
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
}

}  // namespace gs::host

// zero_pages.cpp: maps anonymous private pages, on Linux.
#include "host/zero_pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace gs::host {

ZeroPages::ZeroPages(std::size_t bytes) : bytes_(std::max<std::size_t>(bytes, 1)) {
  void* const pages = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  data_ = static_cast<std::byte*>(pages);
}

ZeroPages::~ZeroPages() {
  munmap(data_, bytes_);
}

void ZeroPages::clear() noexcept {
  // Pages that are locked in memory stay.
  if (madvise(data_, bytes_, MADV_DONTNEED) != 0) std::memset(data_, 0, bytes_);
}

}  // namespace gs::host

// zero_pages.h: memory of zeroed pages, of which those that are never touched cost nothing.
#pragma once

#include <cstddef>

namespace gs::host {

class ZeroPages {
 public:
  explicit ZeroPages(std::size_t bytes);  // throws std::bad_alloc
  ZeroPages(const ZeroPages&) = delete;
  ZeroPages& operator=(const ZeroPages&) = delete;
  ~ZeroPages();

  std::byte* data() const { return data_; }
  // Makes all bytes zero again. Pages go back to the system, so that the cost is that of the touched ones.
  void clear() noexcept;

 private:
  std::byte* data_;
  std::size_t bytes_;
};

}  // namespace gs::host

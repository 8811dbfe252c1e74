// page_list.h: collects the pages of a mapped file that a call will read, and asks the system for them in file order.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace gs::host {

class PageList {
 public:
  // For the pages of [first, first + bytes), none of them wanted. No more than `most` bytes are read that no caller
  // wants. Throws std::bad_alloc.
  PageList(const std::byte* first, int64_t bytes, int64_t most);

  // Adds the pages of these bytes, which lie in the range of the list. Any thread may call it.
  void add(const std::byte* first, int64_t bytes);

  int64_t wanted() const { return wanted_.load(std::memory_order_relaxed); }
  // Whether so many pages are wanted that one read of the file from front to back takes less time.
  bool is_dense() const { return wanted() > dense_from_; }
  // The bytes that `request` asks for.
  int64_t bytes() const { return (is_dense() ? pages_ : wanted()) * kPage; }

  // Asks for the wanted pages in ascending order, neighbours together; of a dense list, for all pages. `stop` (may be
  // null) is polled every few milliseconds. Returns false if it stopped.
  bool request(bool (*stop)()) const;

 private:
  static constexpr int64_t kPage = 4096;  // larger pages of the system are asked for several times
  static constexpr int64_t kDense = 8;
  struct FreeWords {
    void operator()(uint64_t* words) const noexcept;
  };
  // The first page from `page` on that is wanted or, for `inverted` of all ones, that is not wanted.
  int64_t find(int64_t page, uint64_t inverted) const;

  std::byte* begin_;
  int64_t pages_;
  int64_t dense_from_;
  std::unique_ptr<uint64_t[], FreeWords> words_;  // a bit for each page
  std::atomic<int64_t> wanted_ = 0;
};

// Memory that the pages of files may take during a call: a quarter of what this process can still get.
int64_t page_budget();

}  // namespace gs::host

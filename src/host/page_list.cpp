// page_list.cpp: a bitmap of pages, which sorts and merges them, and the advice to the system to read them.
#include "host/page_list.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>
#include <string>

#include "host/interrupt_poller.h"
#include "host/settings.h"

namespace gs::host {
namespace {

// Linux reads no more than the read-ahead size of the device at one request, which is 128 KiB unless it was changed.
constexpr int64_t kMostPagesAsked = 32;
constexpr int64_t kUnknownMemory = int64_t{1} << 30;
constexpr int64_t kPartOfMemory = 4;

}  // namespace

void PageList::FreeWords::operator()(uint64_t* words) const noexcept {
  std::free(words);
}

PageList::PageList(const std::byte* first, int64_t bytes, int64_t most) {
  const auto begin = reinterpret_cast<uintptr_t>(first) & ~static_cast<uintptr_t>(kPage - 1);
  begin_ = reinterpret_cast<std::byte*>(begin);
  pages_ = (first + bytes - begin_ + kPage - 1) / kPage;
  dense_from_ = pages_ * kPage <= most ? pages_ / kDense : pages_;
  // The zeros of calloc take memory only where pages are added.
  words_.reset(static_cast<uint64_t*>(std::calloc(static_cast<std::size_t>(pages_ / 64 + 1), sizeof(uint64_t))));
  if (words_ == nullptr) throw std::bad_alloc();
}

void PageList::add(const std::byte* first, int64_t bytes) {
  if (bytes <= 0) return;
  int64_t page = (first - begin_) / kPage;
  const int64_t last = (first + bytes - 1 - begin_) / kPage;
  int64_t added = 0;
  while (page <= last) {
    const int64_t count = std::min<int64_t>(64 - page % 64, last + 1 - page);
    const uint64_t bits = (~uint64_t{0} >> (64 - count)) << (page % 64);
    const std::atomic_ref<uint64_t> word(words_[static_cast<std::size_t>(page / 64)]);
    if ((word.load(std::memory_order_relaxed) & bits) != bits) {
      added += std::popcount(bits & ~word.fetch_or(bits, std::memory_order_relaxed));
    }
    page += count;
  }
  if (added > 0) wanted_.fetch_add(added, std::memory_order_relaxed);
}

int64_t PageList::find(int64_t page, uint64_t inverted) const {
  while (page < pages_) {
    const uint64_t rest = (words_[static_cast<std::size_t>(page / 64)] ^ inverted) >> (page % 64);
    if (rest != 0) return std::min(page + std::countr_zero(rest), pages_);
    page = (page / 64 + 1) * 64;
  }
  return pages_;
}

bool PageList::request(bool (*stop)()) const {
  InterruptPoller poller(stop);
  static const auto kSystemPage = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const bool asks_for_all = is_dense();
  for (int64_t page = asks_for_all ? 0 : find(0, 0); page < pages_; page = asks_for_all ? pages_ : find(page, 0)) {
    const int64_t end = asks_for_all ? pages_ : find(page, ~uint64_t{0});
    for (; page < end; page = std::min(page + kMostPagesAsked, end)) {
      if (!poller.proceed()) return false;
      const int64_t count = std::min(kMostPagesAsked, end - page);
      const auto first = reinterpret_cast<uintptr_t>(begin_ + page * kPage);
      const uintptr_t whole = first & ~(kSystemPage - 1);  // systems may have larger pages
      madvise(reinterpret_cast<void*>(whole), first - whole + static_cast<uintptr_t>(count * kPage), MADV_WILLNEED);
    }
  }
  return true;
}

int64_t page_budget() {
  const std::string facts = read_file("/proc/meminfo");
  const std::string name = "MemAvailable:";
  const std::size_t at = facts.find(name);
  int64_t bytes = kUnknownMemory;
  if (at != std::string::npos) bytes = std::strtoll(facts.c_str() + at + name.size(), nullptr, 10) * 1024;
  const int64_t quota = quota_memory(read_file("/proc/self/cgroup"), "/sys/fs/cgroup");
  if (quota > 0) bytes = std::min(bytes, quota);
  return bytes / kPartOfMemory;
}

}  // namespace gs::host

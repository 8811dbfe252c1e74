// bus_guard.cpp: the handler of SIGBUS, the ranges that calls read, and the pages that are replaced.
#include "host/bus_guard.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>

namespace gs::host {
namespace {

// The handler may run at any access to memory, so all state is static and of fixed size, behind a lock that spins. The
// lock is never held while file memory is accessed, so no thread can wait for itself.
struct Range {
  uintptr_t begin = 0;
  uintptr_t end = 0;  // 0: the place is free
  std::atomic<bool> failed = false;

  bool meets(uintptr_t low, uintptr_t high) const { return begin < high && low < end; }
};

struct Replaced {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  void* file = nullptr;  // a second mapping of these pages of the file
};

constexpr int kNoPlace = -1;
constexpr int kSinglePages = 16;
std::array<Range, 64> ranges;
std::array<Replaced, 1024> replaced;
std::size_t replaced_count = 0;
std::atomic_flag is_locked;
uintptr_t page_bytes = 4096;
struct sigaction before{};

class SpinLock {
 public:
  SpinLock() {
    while (is_locked.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~SpinLock() { is_locked.clear(std::memory_order_release); }
  SpinLock(const SpinLock&) = delete;
  SpinLock& operator=(const SpinLock&) = delete;
};

// Puts zeros in place of the pages [begin, end), and keeps their mapping elsewhere. The call is made without the C
// library, whose mremap passes an address with MREMAP_FIXED alone.
bool replace(uintptr_t begin, uintptr_t end) {
  const std::size_t bytes = end - begin;
  if (replaced_count == replaced.size()) return false;
  const long moved = syscall(SYS_mremap, begin, bytes, bytes, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, 0);
  if (moved == -1) return false;
  auto* const file = reinterpret_cast<void*>(moved);
  const int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
  if (mmap(reinterpret_cast<void*>(begin), bytes, PROT_READ | PROT_WRITE, how, -1, 0) == MAP_FAILED) {
    munmap(file, bytes);
    return false;
  }
  replaced[replaced_count++] = {begin, end, file};
  for (Range& range : ranges) {
    if (range.meets(begin, end)) range.failed = true;
  }
  return true;
}

const Replaced* replaced_at(uintptr_t page) {
  for (std::size_t r = 0; r < replaced_count; ++r) {
    if (replaced[r].begin <= page && page < replaced[r].end) return &replaced[r];
  }
  return nullptr;
}

// Replaces the pages of [low, high) that are not replaced yet.
void replace_rest(uintptr_t low, uintptr_t high) {
  for (uintptr_t at = low; at < high;) {
    if (const Replaced* const pages = replaced_at(at)) {
      at = pages->end;
      continue;
    }
    uintptr_t end = high;
    for (std::size_t r = 0; r < replaced_count; ++r) {
      if (replaced[r].begin > at) end = std::min(end, replaced[r].begin);
    }
    replace(at, end);
    at = end;
  }
}

// Whether the page of an address that cannot be read lies in a range and now holds zeros. A range that has lost many
// pages loses the rest too: a truncated file may lack millions of pages, and each replacement takes a mapping.
bool cover(uintptr_t address) {
  const uintptr_t page = address & ~(page_bytes - 1);
  const SpinLock lock;
  uintptr_t low = UINTPTR_MAX;
  uintptr_t high = 0;
  for (const Range& range : ranges) {
    if (!range.meets(address, address + 1)) continue;
    low = std::min(low, range.begin & ~(page_bytes - 1));
    high = std::max(high, (range.end + page_bytes - 1) & ~(page_bytes - 1));
  }
  if (high == 0) return false;
  if (replaced_at(page) != nullptr) return true;  // by another thread, just now
  const auto lost = std::count_if(replaced.begin(), replaced.begin() + replaced_count,
                                  [&](const Replaced& pages) { return low < pages.end && pages.begin < high; });
  if (lost >= kSinglePages) replace_rest(low, high);
  return replaced_at(page) != nullptr || replace(page, page + page_bytes);
}

void pass_on(int number, siginfo_t* info, void* context) {
  if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(number, info, context);
  const bool was_sent = info->si_code <= 0;
  if (before.sa_handler == SIG_IGN && was_sent) return;
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(number);
  signal(number, SIG_DFL);
  raise(number);  // delivered when the handler returns
}

void handle(int number, siginfo_t* info, void* context) {
  const int error = errno;
  if (info->si_code <= 0 || !cover(reinterpret_cast<uintptr_t>(info->si_addr))) pass_on(number, info, context);
  errno = error;
}

// The threads of the ranges, and perhaps of the lock, do not exist in a child.
void begin_child() {
  for (Range& range : ranges) range.end = 0;
  is_locked.clear();
}

void install() {
  page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  pthread_atfork(nullptr, nullptr, begin_child);
  struct sigaction action{};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, &before);
}

}  // namespace

BusGuard::BusGuard(const std::byte* first, int64_t bytes) : place_(kNoPlace) {
  static std::once_flag installed;
  std::call_once(installed, install);
  const auto begin = reinterpret_cast<uintptr_t>(first);
  const uintptr_t end = begin + static_cast<uintptr_t>(bytes);
  const SpinLock lock;
  for (std::size_t place = 0; place < ranges.size(); ++place) {
    if (ranges[place].end != 0) continue;
    ranges[place].begin = begin;
    ranges[place].end = end;
    ranges[place].failed = false;
    for (std::size_t r = 0; r < replaced_count; ++r) {
      if (ranges[place].meets(replaced[r].begin, replaced[r].end)) ranges[place].failed = true;
    }
    place_ = static_cast<int>(place);
    return;
  }
}

BusGuard::~BusGuard() {
  if (place_ == kNoPlace) return;
  const SpinLock lock;
  ranges[static_cast<std::size_t>(place_)].end = 0;
  std::size_t kept = 0;
  for (std::size_t r = 0; r < replaced_count; ++r) {
    const Replaced& pages = replaced[r];
    const bool is_read = std::any_of(ranges.begin(), ranges.end(),
                                     [&](const Range& range) { return range.meets(pages.begin, pages.end); });
    if (is_read) {
      replaced[kept++] = pages;
      continue;
    }
    const std::size_t bytes = pages.end - pages.begin;
    mremap(pages.file, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, reinterpret_cast<void*>(pages.begin));
  }
  replaced_count = kept;
}

bool BusGuard::has_failed() const {
  return place_ != kNoPlace && ranges[static_cast<std::size_t>(place_)].failed;
}

}  // namespace gs::host

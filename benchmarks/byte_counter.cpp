// byte_counter.cpp: counts the bytes that a process has allocated, now and at most. LD_PRELOAD loads it before glibc.
#include <malloc.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

// The functions of glibc that the ones below replace.
extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* block, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void* block);
}

namespace {

// Constant initialisation, because allocations precede all dynamic initialisation.
constinit std::atomic<int64_t> live_bytes = 0;
constinit std::atomic<int64_t> peak_bytes = 0;

// The usable size includes what glibc rounds up, and it is known again when the block is released.
void* added(void* block) {
  if (block == nullptr) return nullptr;
  const auto bytes = static_cast<int64_t>(malloc_usable_size(block));
  const int64_t now = live_bytes.fetch_add(bytes) + bytes;
  int64_t peak = peak_bytes.load();
  while (now > peak && !peak_bytes.compare_exchange_weak(peak, now)) {
  }
  return block;
}

void subtract(void* block) {
  if (block != nullptr) live_bytes.fetch_sub(static_cast<int64_t>(malloc_usable_size(block)));
}

}  // namespace

extern "C" {

void* malloc(size_t bytes) {
  return added(__libc_malloc(bytes));
}

void* calloc(size_t count, size_t bytes) {
  return added(__libc_calloc(count, bytes));
}

// While a block moves, both copies count, because both exist.
void* realloc(void* block, size_t bytes) {
  const int64_t before = block == nullptr ? 0 : static_cast<int64_t>(malloc_usable_size(block));
  void* const moved = __libc_realloc(block, bytes);
  if (moved == nullptr && bytes != 0) return nullptr;  // the old block is still allocated
  added(moved);
  live_bytes.fetch_sub(before);
  return moved;
}

void* memalign(size_t alignment, size_t bytes) {
  return added(__libc_memalign(alignment, bytes));
}

void* aligned_alloc(size_t alignment, size_t bytes) {
  return memalign(alignment, bytes);
}

int posix_memalign(void** target, size_t alignment, size_t bytes) {
  void* const block = memalign(alignment, bytes);
  if (block == nullptr) return ENOMEM;
  *target = block;
  return 0;
}

void free(void* block) {
  subtract(block);
  __libc_free(block);
}

int64_t gs_live_bytes() {
  return live_bytes.load();
}

int64_t gs_peak_bytes() {
  return peak_bytes.load();
}

void gs_reset_peak() {
  peak_bytes.store(live_bytes.load());
}
}

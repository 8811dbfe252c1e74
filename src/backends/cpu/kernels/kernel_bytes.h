// kernel_bytes.h: addresses, copies of a few bytes and prefetches for all kernels. Included by the sources that are
// compiled once for every instruction set level.
#pragma once

#include "backends/cpu/kernels/job.h"
#include "backends/cpu/kernels/prefetch_distances.h"

namespace gs::cpu::GS_ISA {
namespace {

inline constexpr int64_t kLine = 64;

inline Address address_of(const void* pointer) {
  return reinterpret_cast<Address>(pointer);
}
inline std::byte* pointer_to(Address address) {
  return reinterpret_cast<std::byte*>(address);
}

// Forces the compiler to use the values in this private copy from here on instead of reading the array again: another
// thread may write to the array meanwhile, and the values that are checked must be the values that are used.
inline void pin_copy(const void* block) {
  asm volatile("" : : "r"(block) : "memory");
}

template <class T>
inline T read(const std::byte* source) {
  T value;
  __builtin_memcpy(&value, source, sizeof(T));
  return value;
}

inline void copy_line(std::byte* target, const std::byte* source) {
  __builtin_memcpy(target, source, kLine);
}

// Copies any number of bytes without a loop over single bytes: the last of its fixed-size copies overlaps the one
// before.
inline void copy_bytes(std::byte* target, const std::byte* source, int64_t n) {
  if (n >= kLine) {
    for (int64_t i = 0; i < n - kLine; i += kLine) copy_line(target + i, source + i);
    copy_line(target + n - kLine, source + n - kLine);
  } else if (n >= 32) {
    __builtin_memcpy(target, source, 32);
    __builtin_memcpy(target + n - 32, source + n - 32, 32);
  } else if (n >= 16) {
    __builtin_memcpy(target, source, 16);
    __builtin_memcpy(target + n - 16, source + n - 16, 16);
  } else if (n >= 8) {
    __builtin_memcpy(target, source, 8);
    __builtin_memcpy(target + n - 8, source + n - 8, 8);
  } else if (n >= 4) {
    __builtin_memcpy(target, source, 4);
    __builtin_memcpy(target + n - 4, source + n - 4, 4);
  } else if (n >= 2) {
    __builtin_memcpy(target, source, 2);
    __builtin_memcpy(target + n - 2, source + n - 2, 2);
  } else if (n == 1) {
    *target = *source;
  }
}

struct Sized {
  int64_t unit;
  void operator()(std::byte* target, const std::byte* source) const { copy_bytes(target, source, unit); }
};
// Without this statement the compiler assumes that a function that only prefetches has no effect, and removes its
// calls.
inline void keep_prefetches() {
  asm volatile("");
}

// Prefetches a line into L2.
inline void prefetch(Address address) {
  __builtin_prefetch(pointer_to(address), 0, 2);
}

// Prefetches a line into L1.
inline void prefetch_near(Address address) {
  __builtin_prefetch(pointer_to(address), 0, 3);
}

// Prefetches what a later group of a check reads, because the hardware prefetcher keeps only half as many lines in
// flight.
inline void prefetch_checked(const std::byte* source, int64_t bytes) {
  keep_prefetches();
  for (int64_t i = 0; i < bytes; i += kLine) prefetch_near(address_of(source) + static_cast<uint64_t>(kCheckAhead + i));
}

inline void prefetch_unit(Address address, int64_t unit) {
  keep_prefetches();
  if (address == 0) return;
  for (Address line = address & ~static_cast<Address>(kLine - 1); line < address + static_cast<Address>(unit);
       line += kLine) {
    prefetch(line);
  }
}

}  // namespace
}  // namespace gs::cpu::GS_ISA

// thread.h: the threads, warps, atomics and statuses that kernel bodies use, on a GPU and on the emulated GPU.
//
// A body is a plain struct of parameters with one of two call operators:
//   GS_HD void operator()(Thread thread) const;   independent threads
//   GS_HD void operator()(Warp warp) const;       32 lanes in step; code that differs per lane is passed to each()
// Bodies stride over their work by the size of the grid, so any grid is correct. They must not rely on an order of
// blocks.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "backends/device/bodies/unroll.h"
#include "core/hd.h"

namespace gs::device {

inline constexpr int kBlockThreads = 256;
inline constexpr int kLanes = 32;

GS_HD inline int count_bits(uint32_t word) {
#ifdef __CUDA_ARCH__
  return __popc(word);
#else
  return std::popcount(word);
#endif
}

// The number of the lowest bit that is set; one is.
GS_HD inline int lowest_bit(uint32_t word) {
  return count_bits((word & (~word + 1)) - 1);
}

// One of `count` threads of a launch, numbered across blocks. Neighbouring lanes of a warp have neighbouring numbers.
struct Thread {
  int64_t number = 0;
  int64_t count = 1;
};

// One of `count` warps. On the host a warp is one thread that runs all lanes one after the other.
class Warp {
 public:
  GS_HD Warp(int64_t number, int64_t count) : number_(number), count_(count) {}
  GS_HD int64_t number() const { return number_; }
  GS_HD int64_t count() const { return count_; }

  // Calls use(lane) for all lanes.
  template <class Use>
  GS_HD void each(Use&& use) const {
#ifdef __CUDA_ARCH__
    use(lane());
#else
    for (int i = 0; i < kLanes; ++i) use(i);
#endif
  }

  // Bit `lane` of the result is ask(lane); every lane gets the result.
  template <class Ask>
  GS_HD uint32_t ballot(Ask&& ask) const {
#ifdef __CUDA_ARCH__
    return __ballot_sync(0xFFFFFFFFu, ask(lane()));
#else
    uint32_t bits = 0;
    for (int i = 0; i < kLanes; ++i) bits |= static_cast<uint32_t>(ask(i) ? 1 : 0) << i;
    return bits;
#endif
  }

  // The sum of ask(lane) over all lanes; every lane gets the sum.
  template <class Ask>
  GS_HD int64_t sum(Ask&& ask) const {
#ifdef __CUDA_ARCH__
    long long total = ask(lane());
    for (int apart = kLanes / 2; apart > 0; apart /= 2) total += __shfl_xor_sync(0xFFFFFFFFu, total, apart);
#else
    int64_t total = 0;
    for (int i = 0; i < kLanes; ++i) total += ask(i);
#endif
    return total;
  }

  // Calls use() on one lane.
  template <class Use>
  GS_HD void once(Use&& use) const {
#ifdef __CUDA_ARCH__
    if (lane() == 0) use();
#else
    use();
#endif
  }

 private:
#ifdef __CUDA_ARCH__
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % kLanes; }
#endif
  int64_t number_;
  int64_t count_;
};

// One value for each lane of a warp, which all lanes can read. On a GPU all lanes have to call `of` together.
template <class T>
class Lanes {
 public:
#ifdef __CUDA_ARCH__
  GS_HD T& own(int) { return value_; }
  GS_HD T of(int lane) const {
    constexpr int kShuffles = (sizeof(T) + 3) / 4;
    uint32_t parts[kShuffles] = {};
    std::memcpy(parts, &value_, sizeof(T));
    GS_UNROLL
    for (int i = 0; i < kShuffles; ++i) parts[i] = __shfl_sync(0xFFFFFFFFu, parts[i], lane);
    T value;
    std::memcpy(&value, parts, sizeof(T));
    return value;
  }

 private:
  T value_ = {};
#else
  T& own(int lane) { return value_[lane]; }
  T of(int lane) const { return value_[lane]; }

 private:
  T value_[kLanes] = {};
#endif
};

// These functions are atomic on a GPU. The reference backend runs the threads of a launch one after the other, so plain
// accesses suffice there. Each function returns the previous value.
GS_HD inline uint64_t atomic_max(uint64_t* target, uint64_t value) {
#ifdef __CUDA_ARCH__
  return atomicMax(reinterpret_cast<unsigned long long*>(target), static_cast<unsigned long long>(value));
#else
  const uint64_t before = *target;
  if (value > before) *target = value;
  return before;
#endif
}

GS_HD inline uint32_t atomic_max(uint32_t* target, uint32_t value) {
#ifdef __CUDA_ARCH__
  return atomicMax(target, value);
#else
  const uint32_t before = *target;
  if (value > before) *target = value;
  return before;
#endif
}

GS_HD inline uint32_t atomic_or(uint32_t* target, uint32_t bits) {
#ifdef __CUDA_ARCH__
  return atomicOr(target, bits);
#else
  const uint32_t before = *target;
  *target = before | bits;
  return before;
#endif
}

GS_HD inline uint64_t atomic_add(uint64_t* target, uint64_t value) {
#ifdef __CUDA_ARCH__
  return atomicAdd(reinterpret_cast<unsigned long long*>(target), static_cast<unsigned long long>(value));
#else
  const uint64_t before = *target;
  *target = before + value;
  return before;
#endif
}

// Reads what other threads of the launch may write meanwhile.
template <class T>
GS_HD inline T read_now(const T* at) {
  return *const_cast<const volatile T*>(at);
}

// The bad points of a launch: their number, and the lowest of their flat positions. `lowest` holds ~flat, so that
// zeroed memory is a clean status and the lowest flat position is found by a maximum.
struct Status {
  uint64_t lowest = 0;
  uint64_t count = 0;

  GS_HD bool is_clean() const { return lowest == 0; }
  GS_HD int64_t first() const { return static_cast<int64_t>(~lowest); }
  GS_HD void report(int64_t flat) {
    const uint64_t mark = ~static_cast<uint64_t>(flat);
#ifdef __CUDA_ARCH__
    // A plain read comes first: once a position at least as low is stored, threads no longer contend for the word.
    if (read_now(&lowest) >= mark) {
      atomic_add(&count, 1);
      return;
    }
#endif
    atomic_max(&lowest, mark);
    atomic_add(&count, 1);
  }
};

}  // namespace gs::device

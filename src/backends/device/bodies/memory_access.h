// memory_access.h: loads and stores words of 1 to 16 bytes, with cache hints, and loads indices of any type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "backends/device/bodies/unroll.h"
#include "core/hd.h"
#include "core/index_type.h"

namespace gs::device {

struct alignas(16) Pair {
  uint64_t low = 0;
  uint64_t high = 0;
};

// The type of a word of so many bytes: our own, and the one that the device's intrinsics take.
template <int kBytes>
struct WordOf;
#define GS_WORD(kBytes, Ours, Native) \
  template <>                         \
  struct WordOf<kBytes> {             \
    using type = Ours;                \
    using native_type = Native;       \
  };
GS_WORD(1, uint8_t, unsigned char)
GS_WORD(2, uint16_t, unsigned short)
GS_WORD(4, uint32_t, unsigned int)
GS_WORD(8, uint64_t, unsigned long long)
#undef GS_WORD
template <>
struct WordOf<16> {
  using type = Pair;
#ifdef __CUDACC__
  using native_type = ulonglong2;
#endif
};
template <int kBytes>
using Word = typename WordOf<kBytes>::type;

#ifdef __CUDA_ARCH__
template <int kBytes>
__device__ const typename WordOf<kBytes>::native_type* native(const std::byte* at) {
  return reinterpret_cast<const typename WordOf<kBytes>::native_type*>(at);
}
template <int kBytes, class Native>
__device__ Word<kBytes> from_native(Native value) {
  if constexpr (kBytes == 16) {
    return {value.x, value.y};
  } else {
    return value;
  }
}
template <int kBytes>
__device__ typename WordOf<kBytes>::native_type to_native(Word<kBytes> word) {
  if constexpr (kBytes == 16) {
    return {word.low, word.high};
  } else {
    return word;
  }
}
#endif

// On a device, every address that is passed to these functions must be a multiple of kBytes.

// Loads from memory that many threads read and no thread of the launch writes to.
template <int kBytes>
GS_HD inline Word<kBytes> load_shared(const std::byte* at) {
#ifdef __CUDA_ARCH__
  return from_native<kBytes>(__ldg(native<kBytes>(at)));
#else
  Word<kBytes> word;
  std::memcpy(&word, at, kBytes);
  return word;
#endif
}

// As load_shared, for memory that is read once, so that it is not worth a place in the caches.
template <int kBytes>
GS_HD inline Word<kBytes> load_stream(const std::byte* at) {
#ifdef __CUDA_ARCH__
  return from_native<kBytes>(__ldcs(native<kBytes>(at)));
#else
  return load_shared<kBytes>(at);
#endif
}

// Loads from memory that the launch writes to.
template <int kBytes>
GS_HD inline Word<kBytes> load_plain(const std::byte* at) {
#ifdef __CUDA_ARCH__
  return from_native<kBytes>(*native<kBytes>(at));
#else
  return load_shared<kBytes>(at);
#endif
}

template <int kBytes>
GS_HD inline void store_plain(std::byte* at, Word<kBytes> word) {
#ifdef __CUDA_ARCH__
  *reinterpret_cast<typename WordOf<kBytes>::native_type*>(at) = to_native<kBytes>(word);
#else
  std::memcpy(at, &word, kBytes);
#endif
}

template <int kBytes>
GS_HD inline void store_stream(std::byte* at, Word<kBytes> word) {
#ifdef __CUDA_ARCH__
  __stcs(reinterpret_cast<typename WordOf<kBytes>::native_type*>(at), to_native<kBytes>(word));
#else
  store_plain<kBytes>(at, word);
#endif
}

GS_HD inline bool is_aligned(const std::byte* at, int bytes) {
  return (reinterpret_cast<uintptr_t>(at) & static_cast<uintptr_t>(bytes - 1)) == 0;
}

// Loads or stores a value at any address, byte by byte. The accesses are volatile on a device, so that no compiler may
// merge them with the aligned access of another branch: nvcc 13.0 did so for all GPUs before Blackwell, and a
// misaligned access ends the context there. `.ci/check_unaligned` counts these accesses in the PTX.
template <class T>
GS_HD inline T load_bytes(const std::byte* at) {
  T value;
#ifdef __CUDA_ARCH__
  unsigned char bytes[sizeof(T)];
  GS_UNROLL
  for (std::size_t b = 0; b < sizeof(T); ++b) bytes[b] = reinterpret_cast<const volatile unsigned char*>(at)[b];
  std::memcpy(&value, bytes, sizeof(T));
#else
  std::memcpy(&value, at, sizeof(T));
#endif
  return value;
}
template <class T>
GS_HD inline void store_bytes(std::byte* at, T value) {
#ifdef __CUDA_ARCH__
  unsigned char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  GS_UNROLL
  for (std::size_t b = 0; b < sizeof(T); ++b) reinterpret_cast<volatile unsigned char*>(at)[b] = bytes[b];
#else
  std::memcpy(at, &value, sizeof(T));
#endif
}

// As load_shared, at any address.
template <int kBytes>
GS_HD inline Word<kBytes> load_anywhere(const std::byte* at) {
  return is_aligned(at, kBytes) ? load_shared<kBytes>(at) : load_bytes<Word<kBytes>>(at);
}

// Pins an index in a register, so that the value that is checked is the value that is used, even if another thread
// writes to the array meanwhile.
GS_HD inline uint64_t pinned(uint64_t bits) {
#ifdef __CUDA_ARCH__
  asm volatile("" : "+l"(bits));
#else
  asm volatile("" : "+r"(bits));
#endif
  return bits;
}

// The form of an index array is its IndexType, plus this bit if its addresses may be unaligned.
inline constexpr uint32_t kAnyAddress = 8;

// The bytes of an index as they lie in memory. No instruction uses them here, so that no thread waits for the load.
GS_HD inline uint64_t load_raw_index(uint32_t form, const std::byte* at) {
  const int size = 1 << (form & 3);
  uint64_t bits = 0;
  if ((form & kAnyAddress) != 0) {
    for (int b = 0; b < size; ++b) bits |= uint64_t{load_shared<1>(at + b)} << (8 * b);
  } else {
    switch (form & 3) {
      case 0: bits = load_shared<1>(at); break;
      case 1: bits = load_shared<2>(at); break;
      case 2: bits = load_shared<4>(at); break;
      default: bits = load_shared<8>(at);
    }
  }
  return pinned(bits);
}

// The value of such bytes in 64 bits, sign-extended if the type is signed.
GS_HD inline uint64_t extended_index(uint32_t form, uint64_t bits) {
  const int unused = 64 - (8 << (form & 3));
  const bool has_sign = (form & 4) == 0;
  return has_sign ? static_cast<uint64_t>(static_cast<int64_t>(bits << unused) >> unused) : bits;
}

}  // namespace gs::device

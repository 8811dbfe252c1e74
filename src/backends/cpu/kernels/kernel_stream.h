// kernel_stream.h: writes whole cache lines with streaming stores. Included by the sources that are compiled once for
// every instruction set level.
#pragma once

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "backends/cpu/kernels/kernel_bytes.h"

namespace gs::cpu::GS_ISA {
namespace {

// `target` is aligned to a cache line.
inline void stream_line(std::byte* target, const std::byte* source) {
#if defined(__AVX512F__)
  _mm512_stream_si512(reinterpret_cast<__m512i*>(target), _mm512_loadu_si512(source));
#elif defined(__AVX__)
  for (int i = 0; i < 64; i += 32) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(target + i),
                        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source + i)));
  }
#elif defined(__SSE2__)
  for (int i = 0; i < 64; i += 16) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(target + i),
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + i)));
  }
#else
  copy_line(target, source);
#endif
}

inline void finish_streaming() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

// Whole lines of the target are written with streaming stores, the rest at both ends with ordinary stores.
inline void stream_bytes(std::byte* target, const std::byte* source, int64_t n) {
  const int64_t head = static_cast<int64_t>(-address_of(target) & (kLine - 1));
  if (n < head + kLine) return copy_bytes(target, source, n);
  copy_bytes(target, source, head);
  int64_t i = head;
  for (; i + kLine <= n; i += kLine) stream_line(target + i, source + i);
  copy_bytes(target + i, source + i, n - i);
}

}  // namespace
}  // namespace gs::cpu::GS_ISA

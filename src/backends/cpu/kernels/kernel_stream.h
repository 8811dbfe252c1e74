// kernel_stream.h: writes whole cache lines with streaming stores. Included by the sources that are compiled once for
// every instruction set level.
#pragma once

#include "backends/cpu/kernels/simd.h"

namespace gs::cpu::GS_ISA {
namespace {

// Whole lines of the target are written with streaming stores, the rest at both ends with ordinary stores.
inline void stream_bytes(std::byte* target, const std::byte* source, int64_t n) {
  const int64_t head = static_cast<int64_t>(-address_of(target) & (kLine - 1));
  if (n < head + kLine) return copy_bytes(target, source, n);
  copy_bytes(target, source, head);
  int64_t i = head;
  for (; i + kLine <= n; i += kLine) Simd::stream_line(target + i, source + i);
  copy_bytes(target + i, source + i, n - i);
}

}  // namespace
}  // namespace gs::cpu::GS_ISA

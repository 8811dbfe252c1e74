// kernel_index_span.cpp: finds the lowest and the highest of some indices. Compiled once for every instruction set
// level, in a namespace of its own, under the rules that kernel_blocks.cpp states.
#include "backends/cpu/kernels/job.h"

namespace gs::cpu::GS_ISA {
namespace {

template <class Index>
IndexSpan span_of(const std::byte* index, int64_t n) {
  const auto at = [&](int64_t k) {
    Index value;
    __builtin_memcpy(&value, index + k * static_cast<int64_t>(sizeof(Index)), sizeof(Index));
    return value;
  };
  Index lowest = at(0);
  Index highest = lowest;
  for (int64_t k = 1; k < n; ++k) {
    const Index here = at(k);
    lowest = here < lowest ? here : lowest;
    highest = here > highest ? here : highest;
  }
  // An index that no int64 holds lies outside of every array, as the largest int64 does.
  constexpr auto kLargest = static_cast<uint64_t>(INT64_MAX);
  const auto clamped = [](Index value) {
    return sizeof(Index) == 8 && Index(-1) > 0 && static_cast<uint64_t>(value) > kLargest ? INT64_MAX
                                                                                          : static_cast<int64_t>(value);
  };
  return {clamped(lowest), clamped(highest)};
}

}  // namespace

IndexSpan index_span(const std::byte* index, IndexType type, int64_t n) {
  constexpr decltype(&span_of<int8_t>) forms[] = {span_of<int8_t>,   span_of<int16_t>, span_of<int32_t>,
                                                  span_of<int64_t>,  span_of<uint8_t>, span_of<uint16_t>,
                                                  span_of<uint32_t>, span_of<uint64_t>};
  return forms[static_cast<int>(type)](index, n);
}

}  // namespace gs::cpu::GS_ISA

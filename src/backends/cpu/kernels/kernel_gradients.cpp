// kernel_gradients.cpp: the arithmetic of gradients of minima, maxima and products, row by row. Compiled once for every
// instruction set level, in a namespace of its own, under the rules that kernel_blocks.cpp states.
#include <type_traits>

#include "backends/cpu/kernels/kernel_stream.h"
#include "backends/gradient_kernels.h"
#include "core/combine.h"

namespace gs::cpu::GS_ISA {
namespace {

constexpr int64_t kLongestRow = 1024;   // bytes of a row that are prefetched ..
constexpr int64_t kPointsAhead = 8;     // .. so many points ahead
constexpr int64_t kUnitsAhead = 3;      // the same of targets
constexpr int64_t kStagedBytes = 1024;  // that are written to the nearest cache before they are streamed

template <class T>
using Count = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;

template <class T>
GS_INLINE T at(const std::byte* items, int64_t i) {
  return load_number<T>(items + i * static_cast<int64_t>(sizeof(T)));
}
template <class T>
GS_INLINE void put(std::byte* items, int64_t i, T value) {
  store_number(items + i * static_cast<int64_t>(sizeof(T)), value);
}

template <class T>
GS_INLINE bool is_same(T a, T b) {
  return ((a == b) | ((a != a) & (b != b))) != 0;
}

GS_INLINE void prefetch_row(const std::byte* row, int64_t bytes) {
  for (int64_t byte = 0; byte < bytes; byte += kLine) __builtin_prefetch(row + byte);
}

// Calls body(value, target, items, unit) for each point: the offsets of its values and of its targets. Single items
// have a loop of their own.
template <class T, class Body>
GS_INLINE void each_row(const GradientBlock& block, const std::byte* other, Body body) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(T));
  if (block.items == 1) {
    for (int64_t j = 0; j < block.points; ++j) {
      const uint32_t point = block.point[j];
      const uint32_t unit = block.unit[point];
      body(point * kSize, unit * kSize, int64_t{1}, unit);
    }
    return;
  }
  const int64_t bytes = block.items * kSize;
  const int64_t granule = block.granule * kSize;
  const bool ahead = bytes <= kLongestRow;
  for (int64_t j = 0; j < block.points; ++j) {
    if (ahead && j + kPointsAhead < block.points) {
      prefetch_row(block.values + block.point[j + kPointsAhead] * bytes, bytes);
      const int64_t later = block.unit[block.point[j + kUnitsAhead]] * granule;
      prefetch_row(block.results + later, bytes);
      prefetch_row(other + later, bytes);
    }
    const uint32_t point = block.point[j];
    const uint32_t unit = block.unit[point];
    body(point * bytes, unit * granule, block.items, unit);
  }
}

// Calls body(to, first, items) for parts of a row, and writes what it writes to `to` to the row.
template <class T, class Body>
GS_INLINE void write_row(std::byte* row, int64_t items, bool streams, Body body) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(T));
  if (!streams || items * kSize < kLine) return body(row, int64_t{0}, items);
  alignas(64) std::byte stage[kStagedBytes];
  constexpr int64_t kStaged = kStagedBytes / kSize;
  for (int64_t first = 0; first < items; first += kStaged) {
    const int64_t n = items - first < kStaged ? items - first : kStaged;
    body(stage, first, n);
    stream_bytes(row + first * kSize, stage, n * kSize);
  }
}

template <class T>
void count_ties(const GradientBlock& block, std::byte* counts) {
  each_row<T>(block, counts, [&](int64_t value, int64_t target, int64_t items, uint32_t) {
    const std::byte* const __restrict values = block.values + value;
    const std::byte* const __restrict results = block.results + target;
    std::byte* const __restrict count = counts + target;
#if !defined(__clang__)
#pragma GCC ivdep
#endif
    for (int64_t i = 0; i < items; ++i) {
      const Count<T> is_tie = is_same(at<T>(values, i), at<T>(results, i)) ? 1 : 0;
      put(count, i, at<Count<T>>(count, i) + is_tie);
    }
  });
}

template <class T>
void take_shares(const GradientBlock& block, const std::byte* shares, std::byte* to) {
  each_row<T>(block, shares, [&](int64_t value, int64_t target, int64_t items, uint32_t) {
    write_row<T>(to + value, items, block.stream, [&](std::byte* row, int64_t first, int64_t n) {
      constexpr auto kSize = static_cast<int64_t>(sizeof(T));
      const std::byte* const values = block.values + value + first * kSize;
      const std::byte* const results = block.results + target + first * kSize;
      const std::byte* const share = shares + target + first * kSize;
#if !defined(__clang__)
#pragma GCC ivdep
#endif
      for (int64_t i = 0; i < n; ++i) {
        const T own = at<T>(share, i);  // read in any case: a branch could not be predicted
        put(row, i, is_same(at<T>(values, i), at<T>(results, i)) ? own : T{0});
      }
    });
  });
  if (block.stream) Simd::finish_streaming();
}

// `kTakesPart`: whether the elements take part in the reduction.
template <class T, bool kTakesPart>
GS_INLINE void divide_all(const std::byte* gradients, const std::byte* counts, const std::byte* results,
                          const std::byte* own, std::byte* shares, std::byte* to, int64_t items) {
#if !defined(__clang__)
#pragma GCC ivdep
#endif
  for (int64_t i = 0; i < items; ++i) {
    const auto count = at<Count<T>>(counts, i);
    bool is_tie = count == 0;
    if constexpr (kTakesPart) is_tie = is_same(at<T>(own, i), at<T>(results, i));
    const Count<T> one = is_tie ? 1 : 0;
    const T share = at<T>(gradients, i) / static_cast<T>(count + one);
    put(shares, i, share);
    put(to, i, is_tie ? share : T{0});
  }
}

template <class T>
void divide(const std::byte* gradients, const std::byte* counts, const std::byte* results, const std::byte* own,
            std::byte* shares, std::byte* to, int64_t items) {
  if (own == nullptr) return divide_all<T, false>(gradients, counts, results, own, shares, to, items);
  divide_all<T, true>(gradients, counts, results, own, shares, to, items);
}

template <class T>
bool multiply_others(const GradientBlock& block, const std::byte* gradients, std::byte* to) {
  bool has_zero = false;
  each_row<T>(block, gradients, [&](int64_t value, int64_t target, int64_t items, uint32_t) {
    write_row<T>(to + value, items, block.stream, [&](std::byte* row, int64_t first, int64_t n) {
      constexpr auto kSize = static_cast<int64_t>(sizeof(T));
      const std::byte* const values = block.values + value + first * kSize;
      const std::byte* const results = block.results + target + first * kSize;
      const std::byte* const gradient = gradients + target + first * kSize;
      Count<T> zeros = 0;
#if !defined(__clang__)
#pragma GCC ivdep
#endif
      for (int64_t i = 0; i < n; ++i) {
        const T own = at<T>(values, i);
        zeros |= own == 0 ? 1 : 0;
        put(row, i, canonical(at<T>(gradient, i) * (at<T>(results, i) / own)));
      }
      has_zero = has_zero || zeros != 0;
    });
  });
  if (block.stream) Simd::finish_streaming();
  return has_zero;
}

template <class T>
void fill(std::byte* products, const std::byte* own, int64_t items) {
  for (int64_t i = 0; i < items; ++i) put(products, i, own == nullptr ? T{1} : at<T>(own, i));
}

template <class T>
void count_zeros(const GradientBlock& block, std::byte* counts, uint8_t* marks) {
  each_row<T>(block, counts, [&](int64_t value, int64_t target, int64_t items, uint32_t unit) {
    Count<T> zeros = 0;
    for (int64_t i = 0; i < items; ++i) {
      const Count<T> is_zero = at<T>(block.values + value, i) == 0 ? 1 : 0;
      zeros |= is_zero;
      put(counts + target, i, at<Count<T>>(counts + target, i) + is_zero);
    }
    if (zeros != 0) marks[unit] = 1;
  });
}

template <class T>
void multiply_nonzeros(const GradientBlock& block, const uint8_t* marks, std::byte* products) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(T));
  for (int64_t j = 0; j < block.points; ++j) {
    const uint32_t unit = block.unit[block.point[j]];
    if (marks[unit] == 0) continue;
    const std::byte* const values = block.values + block.point[j] * block.items * kSize;
    std::byte* const product = products + unit * block.granule * kSize;
    for (int64_t i = 0; i < block.items; ++i) {
      const T own = at<T>(values, i);
      put(product, i, canonical(at<T>(product, i) * (own == 0 ? T{1} : own)));
    }
  }
}

template <class T>
void multiply_zeros(const GradientBlock& block, const std::byte* counts, const std::byte* products,
                    const std::byte* gradients, std::byte* to) {
  each_row<T>(block, counts, [&](int64_t value, int64_t target, int64_t items, uint32_t) {
    for (int64_t i = 0; i < items; ++i) {
      if (at<T>(block.values + value, i) != 0 || at<T>(block.values + value, i) != at<T>(block.values + value, i)) {
        continue;
      }
      const auto zeros = at<Count<T>>(counts + target, i);
      const T product = at<T>(products + target, i);
      const T others = zeros == 1 ? product : zeros == 2 ? product * T{0} : T{0};
      put(to + value, i, canonical(at<T>(gradients + target, i) * others));
    }
  });
}

template <class T>
constexpr GradientKernels kGradients = {count_ties<T>,        take_shares<T>,   divide<T>,
                                        multiply_others<T>,   fill<T>,          count_zeros<T>,
                                        multiply_nonzeros<T>, multiply_zeros<T>};

}  // namespace

const GradientKernels* gradients(Number number) {
  return number == Number::f32 ? &kGradients<float> : number == Number::f64 ? &kGradients<double> : nullptr;
}

}  // namespace gs::cpu::GS_ISA

// kernel_totals.h: running totals of narrow floats. Each is a float that is rounded once, when all values are added.
// Included by kernel_combine.cpp only, once for every instruction set level.
#pragma once

#include "backends/cpu/kernels/job.h"
#include "core/combine.h"

namespace gs::cpu::GS_ISA {
namespace {

inline std::byte* pointer_to(Address address) {
  return reinterpret_cast<std::byte*>(address);
}

// The record of the target at this address, in a window of records.
template <class Record, class T>
inline Record* record_of(const Window& totals, Address target) {
  static_assert(sizeof(Record) <= kRecordBytes);
  return reinterpret_cast<Record*>(totals.record) +
         static_cast<int64_t>(target - totals.first) / static_cast<int64_t>(sizeof(T));
}

// A signalling NaN, which no sum can be, because arithmetic makes a NaN quiet. No value was added yet to a total that
// holds it. Its target is a NaN, whose bytes stay as they are, or is not one of the values (include_self is false).
inline constexpr uint32_t kUntouched = 0x7F800001;

// A value as a float. Unlike that of to_float, a NaN need not be canonical; it is never kUntouched.
template <class T>
GS_INLINE float addend(T value) {
  return decoded(value);
}
GS_INLINE float addend(BF16 value) {
  return bits_as<float>(uint32_t{value.bits} << 16);
}
#if defined(__F16C__)
GS_INLINE float addend(F16 value) {
  return _cvtsh_ss(value.bits);
}
#endif

#if defined(__AVX2__) && defined(__F16C__)
inline constexpr int kFloats = 8;  // of a vector
template <class T>
inline constexpr bool kHasVectors = std::is_same_v<T, F16> || std::is_same_v<T, BF16>;

// As addend, of the next eight values.
GS_INLINE __m256 addends(F16, __m128i bits) {
  return _mm256_cvtph_ps(bits);
}
GS_INLINE __m256 addends(BF16, __m128i bits) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
}
GS_INLINE __m128i load_values(const std::byte* values) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(values));
}
#if defined(__AVX512BW__) && defined(__AVX512VL__)
// Rounds eight totals to nearest, ties to even. A NaN must be the canonical one.
GS_INLINE __m128i rounded_totals(F16, __m256 totals) {
  return _mm256_cvtps_ph(totals, _MM_FROUND_TO_NEAREST_INT);
}
GS_INLINE __m128i rounded_totals(BF16, __m256 totals) {
  const __m256i bits = _mm256_castps_si256(totals);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i up = _mm256_add_epi32(_mm256_add_epi32(bits, odd), _mm256_set1_epi32(0x7FFF));
  return _mm256_cvtepi32_epi16(_mm256_srli_epi32(up, 16));
}
#endif
#else
template <class T>
inline constexpr bool kHasVectors = false;
#endif

// A running total without a count. If no value is added to it, it rounds to the bytes of its target.
template <class T>
struct Total {
  float sum;

  bool is_untouched() const { return bits_as<uint32_t>(sum) == kUntouched; }
  // `before` gets the item of the target.
  void begin(const std::byte* target, std::byte* before, bool include_self) {
    const T item = load_number<T>(target);
    store_number(before, item);
    const float value = addend(item);
    sum = include_self && value == value ? value : bits_as<float>(kUntouched);
  }
  GS_INLINE void add(float value, bool include_self) { sum = include_self || !is_untouched() ? sum + value : value; }
  void finish(std::byte* target, const std::byte* before) const {
    if (is_untouched()) return;
    // Inline also for 8 bits: 0.65 of the time of a sum that calls a function.
    const T value = sizeof(T) == 1 ? Encode<T>::from(sum) : Round<T>::from(sum);
    if (value.bits != load_number<T>(before).bits) store_number(target, value);
  }
};

template <class T>
void add_units(const Job& job, const Address* target, const Address* value, int n) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(T));
  const int64_t items = job.unit / kSize;
  for (int j = 0; j < n; ++j) {
    auto* const total = record_of<Total<T>, T>(job.totals, target[j]);
    const std::byte* const from = pointer_to(value[j]);
    for (int64_t i = 0; i < items; ++i) {
      total[i].add(addend(load_number<T>(from + i * kSize)), job.totals.include_self);
    }
  }
}

#if defined(__AVX2__) && defined(__F16C__)
template <class T>
void find_addends(const std::byte* values, int n, float* found) {
  int k = 0;
  for (; k + kFloats <= n; k += kFloats) _mm256_storeu_ps(found + k, addends(T{}, load_values(values + k * 2)));
  for (; k < n; ++k) found[k] = addend(load_number<T>(values + k * 2));
}
#endif

template <class T>
void add_elements(const Elements& elements, const uint32_t* position, const uint32_t* point, int n) {
  if (n == 0) return;
  auto* const total = record_of<Total<T>, T>(elements.totals, elements.base);
  // Totals are longer than items and seldom in a near cache, so they are prefetched.
  for (int j = 0; j < n; ++j) __builtin_prefetch(total + position[j], 1, 3);
  const auto add_each = [&](auto value_at) {
    const auto each = [](int j) { return static_cast<uint32_t>(j); };
    const auto picked = [point](int j) { return point[j]; };
    const auto add = [&](auto place, bool include_self) {
      for (int j = 0; j < n; ++j) total[position[j]].add(value_at(place(j)), include_self);
    };
    const bool self = elements.totals.include_self;
    if (point == nullptr) return self ? add(each, true) : add(each, false);
    self ? add(picked, true) : add(picked, false);
  };
#if defined(__AVX2__) && defined(__F16C__)
  if constexpr (kHasVectors<T>) {
    // Values of points between those that were picked become floats, too.
    alignas(64) float value[kFarElementPoints];
    find_addends<T>(elements.values, point == nullptr ? n : static_cast<int>(point[n - 1]) + 1, value);
    return add_each([&value](uint32_t k) { return value[k]; });
  }
#endif
  add_each([values = elements.values](uint32_t k) { return addend(load_number<T>(values + k * sizeof(T))); });
}

template <class T>
void begin_totals(const Window& totals, int64_t slots) {
  auto* const total = reinterpret_cast<Total<T>*>(totals.record);
  const std::byte* const target = pointer_to(totals.first);
  std::byte* const before = totals.before;
  int64_t k = 0;
#if defined(__AVX2__) && defined(__F16C__)
  if constexpr (kHasVectors<T>) {
    const __m256 untouched = _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<int>(kUntouched)));
    const __m256 self = _mm256_castsi256_ps(_mm256_set1_epi32(totals.include_self ? -1 : 0));
    for (; k + kFloats <= slots; k += kFloats) {
      const __m128i items = load_values(target + k * 2);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(before + k * 2), items);
      const __m256 value = addends(T{}, items);
      const __m256 begun = _mm256_and_ps(self, _mm256_cmp_ps(value, value, _CMP_ORD_Q));
      _mm256_storeu_ps(&total[k].sum, _mm256_blendv_ps(untouched, value, begun));
    }
  }
#endif
  for (; k < slots; ++k) {
    const int64_t at = k * static_cast<int64_t>(sizeof(T));
    total[k].begin(target + at, before + at, totals.include_self);
  }
}

template <class T>
void finish_totals(const Window& totals, int64_t slots) {
  const auto* const total = reinterpret_cast<const Total<T>*>(totals.record);
  std::byte* const target = pointer_to(totals.first);
  const std::byte* const before = totals.before;
  int64_t k = 0;
#if defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__F16C__)
  if constexpr (kHasVectors<T>) {
    const __m256i untouched = _mm256_set1_epi32(static_cast<int>(kUntouched));
    const __m256i magnitude = _mm256_set1_epi32(0x7FFFFFFF);
    const __m256i infinity = _mm256_set1_epi32(0x7F800000);
    const __m256 nan = _mm256_set1_ps(quiet_nan(0.0f));
    for (; k + kFloats <= slots; k += kFloats) {
      const __m256 sum = _mm256_loadu_ps(&total[k].sum);
      const __m256i bits = _mm256_castps_si256(sum);
      const __mmask8 touched = _mm256_cmpneq_epi32_mask(bits, untouched);
      // Compared as integers: a comparison with a signalling NaN would set the flag of an invalid operation.
      const __mmask8 is_nan = _mm256_cmpgt_epi32_mask(_mm256_and_si256(bits, magnitude), infinity);
      const __m128i value = rounded_totals(T{}, _mm256_mask_mov_ps(sum, is_nan, nan));
      const __mmask8 changed = _mm_mask_cmpneq_epi16_mask(touched, value, load_values(before + k * 2));
      _mm_mask_storeu_epi16(target + k * 2, changed, value);
    }
  }
#endif
  for (; k < slots; ++k) {
    const int64_t at = k * static_cast<int64_t>(sizeof(T));
    total[k].finish(target + at, before + at);
  }
}

}  // namespace
}  // namespace gs::cpu::GS_ISA

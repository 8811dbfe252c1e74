// kernel_totals.h: running totals of narrow floats. Each is a float that is rounded once, when all values are added.
// Included by kernel_combine.cpp only, once for every instruction set level.
#pragma once

#include "backends/cpu/kernels/simd.h"
#include "core/combine.h"

namespace gs::cpu::GS_ISA {
namespace {

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

// A running total without a count. If no value is added to it, it rounds to the bytes of its target.
template <class T>
struct Total {
  float sum;

  bool is_untouched() const { return bits_as<uint32_t>(sum) == kUntouched; }
  // `before` gets the item of the target.
  void begin(const std::byte* target, std::byte* before, bool include_self) {
    const T item = load_number<T>(target);
    store_number(before, item);
    const float value = Simd::addend(item);
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
    auto* const total = record_of<Total<T>, T>(job.to.sum.totals, target[j]);
    const std::byte* const from = pointer_to(value[j]);
    for (int64_t i = 0; i < items; ++i) {
      total[i].add(Simd::addend(load_number<T>(from + i * kSize)), job.to.sum.totals.include_self);
    }
  }
}

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
  if constexpr (Simd::kHasFloats<T>) {
    // Values of points between those that were picked become floats, too.
    alignas(64) float value[kFarElementPoints];
    Simd::addends<T>(elements.values, point == nullptr ? n : static_cast<int>(point[n - 1]) + 1, value);
    return add_each([&value](uint32_t k) { return value[k]; });
  }
  add_each([values = elements.values](uint32_t k) { return Simd::addend(load_number<T>(values + k * sizeof(T))); });
}

template <class T>
void begin_totals(const Window& totals, int64_t slots) {
  auto* const total = reinterpret_cast<Total<T>*>(totals.record);
  const std::byte* const target = pointer_to(totals.first);
  std::byte* const before = totals.before;
  int64_t k = Simd::begin_totals<T, kUntouched>(&total->sum, target, before, slots, totals.include_self);
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
  int64_t k = Simd::finish_totals<T, kUntouched>(&total->sum, target, before, slots);
  for (; k < slots; ++k) {
    const int64_t at = k * static_cast<int64_t>(sizeof(T));
    total[k].finish(target + at, before + at);
  }
}

}  // namespace
}  // namespace gs::cpu::GS_ISA

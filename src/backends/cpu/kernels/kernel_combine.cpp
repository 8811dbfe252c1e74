// kernel_combine.cpp: the arithmetic of reductions, unit by unit. Compiled once for every instruction set level, in a
// namespace of its own, under the rules that kernel_blocks.cpp states.
#include "backends/cpu/kernels/job.h"
#include "backends/cpu/kernels/kernel_repeats.h"
#include "backends/cpu/kernels/kernel_totals.h"
#include "backends/cpu/kernels/prefetch_distances.h"
#include "core/combine.h"

namespace gs::cpu::GS_ISA {
namespace {

template <class T, Reduce kReduce>
GS_INLINE void combine_items(std::byte* target, const std::byte* value, int64_t items) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(T));
#if !defined(__clang__)
#pragma GCC ivdep
#endif
  for (int64_t i = 0; i < items; ++i) combine_direct<T, kReduce>(target + i * kSize, value + i * kSize);
}

// Prefetches what later rows need: a value, whose place cannot be predicted where a thread picks its own points, and a
// far target.
GS_INLINE void prefetch_rows(const Job& job, const Address* target, const Address* value, int j, int n) {
  if (job.unit < kLineBytes || job.unit > kLongestAhead) return;
  if (j + kValuesAhead < n) {
    const std::byte* const later = pointer_to(value[j + kValuesAhead]);
    for (int64_t byte = 0; byte < job.unit; byte += kLineBytes) __builtin_prefetch(later + byte, 0, 3);
  }
  if (job.ahead == Ahead::units && j + kRowTargetsAhead < n) {
    const std::byte* const later = pointer_to(target[j + kRowTargetsAhead]);
    for (int64_t byte = 0; byte < job.unit; byte += kLineBytes) __builtin_prefetch(later + byte, 1, 3);
  }
}

template <class T, Reduce kReduce>
void combine_units(const Job& job, const Address* target, const Address* value, int n) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(T));
  if (job.unit == kSize) {
    for (int j = 0; j < n; ++j) combine_direct<T, kReduce>(pointer_to(target[j]), pointer_to(value[j]));
    return;
  }
  const int64_t items = job.unit / kSize;
  for (int j = 0; j < n; ++j) {
    prefetch_rows(job, target, value, j, n);
    combine_items<T, kReduce>(pointer_to(target[j]), pointer_to(value[j]), items);
  }
}

template <class T, Reduce kReduce>
void combine_row(std::byte* target, const std::byte* value, int64_t items) {
  combine_items<T, kReduce>(target, value, items);
}

// Replaces a row of targets by the values, as a reduction of one value gives them.
template <class T>
void begin_row(std::byte* target, const std::byte* value, int64_t items) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(T));
  for (int64_t i = 0; i < items; ++i) {
    store_number(target + i * kSize, narrow_number<T>(widen_number(load_number<T>(value + i * kSize))));
  }
}

template <class T>
void divide_row(std::byte* target, int64_t items, int64_t count) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(T));
  for (int64_t i = 0; i < items; ++i) {
    std::byte* const to = target + i * kSize;
    store_number(to, narrow_number<T>(mean_of(load_number<T>(to), count)));
  }
}

// ---- units whose totals lie in their targets, with one count or flag for all their items

uint64_t slot_of(const SlotCounts& counts, Address target) {
  return counts.by_pitch(target - counts.first);
}

// Prefetches what the row j + kRowTargetsAhead needs, because which row comes first cannot be predicted.
GS_INLINE void prefetch_counted(const Job& job, const Address* target, int j, int n) {
  if (job.ahead != Ahead::units || j + kRowTargetsAhead >= n) return;
  const Address later = target[j + kRowTargetsAhead];
  const uint64_t slot = slot_of(*job.to.sum.counts, later);
  if (job.to.sum.counts->begun != nullptr) {
    __builtin_prefetch(job.to.sum.counts->begun + slot, 1, 3);
  } else {
    __builtin_prefetch(job.to.sum.counts->seen + slot, 1, 3);
    __builtin_prefetch(job.to.sum.counts->values + slot, 0, 3);
  }
  if (job.unit > kLongestAhead) return;
  for (int64_t byte = 0; byte < job.unit; byte += 64) __builtin_prefetch(pointer_to(later) + byte, 1, 3);
}

void count_rows(const Job& job, const Address* target, const Address*, int n) {
  uint32_t* const values = job.to.sum.counts->values;
  for (int j = 0; j < n; ++j) __builtin_prefetch(values + slot_of(*job.to.sum.counts, target[j]), 1, 3);
  for (int j = 0; j < n; ++j) ++values[slot_of(*job.to.sum.counts, target[j])];
}

// The first value of a unit replaces it.
void combine_begun(const Job& job, const Address* target, const Address* value, int n) {
  const SlotCounts& counts = *job.to.sum.counts;
  const int64_t items = job.unit / job.item;
  for (int j = 0; j < n; ++j) {
    prefetch_counted(job, target, j, n);
    uint8_t& begun = counts.begun[slot_of(counts, target[j])];
    (begun != 0 ? counts.steps.combine : counts.steps.begin)(pointer_to(target[j]), pointer_to(value[j]), items);
    begun = 1;
  }
}

void combine_counted(const Job& job, const Address* target, const Address* value, int n) {
  const SlotCounts& counts = *job.to.sum.counts;
  const int64_t items = job.unit / job.item;
  for (int j = 0; j < n; ++j) {
    prefetch_counted(job, target, j, n);
    const uint64_t slot = slot_of(counts, target[j]);
    const uint32_t seen = counts.seen[slot]++;
    std::byte* const to = pointer_to(target[j]);
    const bool begins = seen == 0 && !counts.include_self;
    (begins ? counts.steps.begin : counts.steps.combine)(to, pointer_to(value[j]), items);
    if (seen + 1 != counts.values[slot]) continue;
    // The last value of a mean: the row is divided while it is in a near cache.
    counts.steps.divide(to, items, int64_t{seen} + 1 + (counts.include_self ? 1 : 0));
  }
}

// The usual geometry has loops of its own: the shorter a loop is, the more accesses to targets are in flight at a time.
template <class T, Reduce kReduce, class Target, class Point>
inline void combine_each(const Elements& elements, int n, Target target, Point point) {
  const std::byte* const values = elements.values;
  for (int j = 0; j < n; ++j) {
    combine_direct<T, kReduce>(pointer_to(target(j)), values + point(j) * sizeof(T));
  }
}

template <class T, Reduce kReduce>
void combine_elements(const Elements& elements, const uint32_t* position, const uint32_t* point, int n) {
  const auto each = [](int j) { return static_cast<uint64_t>(j); };
  const auto picked = [point](int j) { return uint64_t{point[j]}; };
  if (elements.along == 0 && repeats_targets(position, n)) {
    return point == nullptr ? combine_repeats<T, kReduce>(elements, position, n, each)
                            : combine_repeats<T, kReduce>(elements, position, n, picked);
  }
  elements.fetch_far(position, point, n);
  if (elements.along == 0 && elements.step == sizeof(T)) {
    const auto target = [base = elements.base, position](int j) { return base + uint64_t{position[j]} * sizeof(T); };
    if (point == nullptr) return combine_each<T, kReduce>(elements, n, target, each);
    return combine_each<T, kReduce>(elements, n, target, picked);
  }
  if (point == nullptr) {
    return combine_each<T, kReduce>(
        elements, n, [&](int j) { return elements.target(position[j], static_cast<uint64_t>(j)); }, each);
  }
  combine_each<T, kReduce>(elements, n, [&](int j) { return elements.target(position[j], point[j]); }, picked);
}

// flag == 1 ? a : b, by masks: the compiler would branch, and which one it is cannot be predicted.
template <class T>
GS_INLINE T selected(uint8_t flag, T a, T b) {
  using SelectShort = std::conditional_t<sizeof(T) == 1, uint8_t, uint16_t>;
  using SelectUnit =
      std::conditional_t<sizeof(T) < 4, SelectShort, std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;
  SelectUnit from_a[sizeof(T) / sizeof(SelectUnit)];
  SelectUnit from_b[sizeof(T) / sizeof(SelectUnit)];
  __builtin_memcpy(from_a, &a, sizeof(T));
  __builtin_memcpy(from_b, &b, sizeof(T));
  const auto mask = static_cast<SelectUnit>(SelectUnit{0} - SelectUnit{flag});
  for (std::size_t k = 0; k < sizeof(T) / sizeof(SelectUnit); ++k) {
    from_a[k] = static_cast<SelectUnit>((from_a[k] & mask) | (from_b[k] & static_cast<SelectUnit>(~mask)));
  }
  __builtin_memcpy(&a, from_a, sizeof(T));
  return a;
}

// As combine_begun.
template <class T, Reduce kReduce>
void begin_elements(const Elements& elements, const uint32_t* position, const uint32_t* point, int n) {
  std::byte* const to = pointer_to(elements.base);
  uint8_t* const flag = elements.begun;
  const std::byte* const values = elements.values;
  for (int j = 0; elements.far && j < n; ++j) {
    __builtin_prefetch(to + uint64_t{position[j]} * sizeof(T), 1, 3);
    __builtin_prefetch(flag + position[j], 1, 3);
  }
  for (int j = 0; j < n; ++j) {
    const uint64_t k = point == nullptr ? static_cast<uint64_t>(j) : point[j];
    std::byte* const target = to + uint64_t{position[j]} * sizeof(T);
    uint8_t& begun = flag[position[j]];
    const T value = load_number<T>(values + k * sizeof(T));
    const T both = combined_in_target<kReduce>(load_number<T>(target), value);
    store_number(target, selected(begun, both, narrow_number<T>(widen_number(value))));
    begun = 1;
  }
}

template <Reduce kReduce>
inline constexpr bool kAdds = kReduce == Reduce::add || kReduce == Reduce::mean;

// Whether there is a total that gives way to any value, so that a first value is no special case.
template <class T, Reduce kReduce>
inline constexpr bool kHasEmptyTotal = !is_complex<T> || kAdds<kReduce>;

// Such a total. A sum begins with a negative zero, because a positive one would change negative ones.
template <class T, Reduce kReduce>
GS_INLINE Wide<T> empty_total() {
  using WideT = Wide<T>;
  if constexpr (is_complex<T>) {
    return {-0.0F, -0.0F};
  } else if constexpr (std::is_same_v<T, bool>) {
    return kReduce == Reduce::mul || kReduce == Reduce::min;
  } else if constexpr (std::is_floating_point_v<WideT>) {
    constexpr auto kMost = static_cast<WideT>(__builtin_inff());
    return kAdds<kReduce> ? WideT{-0.0F} : kReduce == Reduce::mul ? WideT{1} : kReduce == Reduce::min ? kMost : -kMost;
  } else {
    constexpr auto kSign = static_cast<WideT>(std::is_signed_v<WideT> ? WideT{1} << (8 * sizeof(WideT) - 1) : 0);
    if (kAdds<kReduce>) return 0;
    return kReduce == Reduce::mul ? 1 : kReduce == Reduce::min ? static_cast<WideT>(~kSign) : kSign;
  }
}

// A running total and the number of its values. The count has 32 bits where the sum has, so that twice as many records
// fit into a near cache; `kMany` is for means of so many points that 32 bits could overflow.
template <class T, bool kMany = false>
struct TotalRecord {
  Wide<T> sum;
  std::conditional_t<kMany || sizeof(Wide<T>) != 4, int64_t, uint32_t> hits;

  // As `add`, to a total that has begun. Sums are not made canonical at each value: nothing but the last one is seen,
  // and a NaN becomes the canonical one when it is written.
  template <Reduce kReduce>
  GS_INLINE void add_begun(const std::byte* value) {
    const Wide<T> own = widen_number(load_number<T>(value));
    if constexpr (kAdds<kReduce> && std::is_floating_point_v<Wide<T>>) {
      sum += own;
    } else {
      sum = combined<kReduce>(sum, own);
    }
    hits = kReduce == Reduce::mean ? hits + 1 : 1;
  }
  template <Reduce kReduce>
  GS_INLINE void add(const std::byte* value, bool include_self) {
    combine_total<T, kReduce>(value, &sum, &hits, include_self);
  }
  template <bool kMean>
  GS_INLINE void finish(std::byte* target, bool include_self) {
    finish_wide<T, kMean>(target, sum, &hits, include_self);
  }
};

template <class T, Reduce kReduce, bool kMany>
void accumulate_units(const Job& job, const Address* target, const Address* value, int n) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(T));
  const int64_t items = job.unit / kSize;
  const bool self = job.to.sum.totals.include_self;
  for (int j = 0; j < n; ++j) {
    auto* const record = record_of<TotalRecord<T, kMany>, T>(job.to.sum.totals, target[j]);
    const std::byte* const to = pointer_to(target[j]);
    const std::byte* const from = pointer_to(value[j]);
    for (int64_t i = 0; i < items; ++i) {
      if (self && !job.to.sum.totals.begun && record[i].hits == 0)
        record[i].sum = widen_number(load_number<T>(to + i * kSize));
      record[i].template add<kReduce>(from + i * kSize, self);
    }
  }
}

template <class T, Reduce kReduce>
void accumulate_elements(const Elements& elements, const uint32_t* position, const uint32_t* point, int n) {
  auto* const record = record_of<TotalRecord<T>, T>(elements.totals, elements.base);
  const std::byte* const to = pointer_to(elements.base);
  const bool self = elements.totals.include_self;
  // Records are longer than items and seldom in a near cache, so they are prefetched.
  for (int j = 0; j < n; ++j) __builtin_prefetch(record + position[j], 1, 3);
  if (elements.totals.begun && (self || kHasEmptyTotal<T, kReduce>)) {
    for (int j = 0; j < n; ++j) {
      const uint64_t k = point == nullptr ? static_cast<uint64_t>(j) : point[j];
      record[position[j]].template add_begun<kReduce>(elements.values + k * sizeof(T));
    }
    return;
  }
  const bool reads_target = self && !elements.totals.begun;
  // Written into the loop, it makes means of float16 take 1.08 times as long (GCC 12, Zen 5).
  const auto add = [=](TotalRecord<T>& own, uint32_t place, const std::byte* value) {
    if (reads_target && own.hits == 0) own.sum = widen_number(load_number<T>(to + uint64_t{place} * sizeof(T)));
    own.template add<kReduce>(value, self);
  };
  for (int j = 0; j < n; ++j) {
    const uint64_t k = point == nullptr ? static_cast<uint64_t>(j) : point[j];
    add(record[position[j]], position[j], elements.values + k * sizeof(T));
  }
}

template <class T, bool kMean, bool kMany>
void finish_units(const Job& job, const Address* target, const Address*, int n) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(T));
  const int64_t items = job.unit / kSize;
  for (int j = 0; j < n; ++j) {
    auto* const record = record_of<TotalRecord<T, kMany>, T>(job.to.sum.totals, target[j]);
    for (int64_t i = 0; i < items; ++i) {
      finish_wide<T, kMean>(pointer_to(target[j]) + i * kSize, record[i].sum, &record[i].hits,
                            job.to.sum.totals.include_self);
    }
  }
}

template <class T, bool kMean>
void finish_records(const Window& totals, int64_t slots) {
  auto* const record = reinterpret_cast<TotalRecord<T>*>(totals.record);
  std::byte* const target = pointer_to(totals.first);
  for (int64_t i = 0; i < slots; ++i) {
    record[i].template finish<kMean>(target + i * static_cast<int64_t>(sizeof(T)), totals.include_self);
  }
}

template <class T, Reduce kReduce>
void begin_records(const Window& totals, int64_t slots) {
  auto* const record = reinterpret_cast<TotalRecord<T>*>(totals.record);
  const std::byte* const target = pointer_to(totals.first);
  if constexpr (kHasEmptyTotal<T, kReduce>) {
    if (!totals.include_self) {
      for (int64_t i = 0; i < slots; ++i) record[i] = {empty_total<T, kReduce>(), 0};
      return;
    }
  }
  for (int64_t i = 0; i < slots; ++i) {
    record[i] = {widen_number(load_number<T>(target + i * static_cast<int64_t>(sizeof(T)))), 0};
  }
}

// Callers use Keep::nothing for sums of narrow floats only.
template <class T, Reduce kReduce>
inline constexpr bool kSumsSuffice = is_narrow<T> && kReduce == Reduce::add;

// Calls use.operator()<T, kReduce>() if the dtype supports the reduction; otherwise returns Result{}.
template <class Result, class Use>
struct Find {
  Reduce reduce;
  Use use;
  template <class T>
  GS_INLINE Result operator()() const {
    if constexpr (!std::is_void_v<T>) {
      switch (reduce) {
        case Reduce::add: return found<T, Reduce::add>();
        case Reduce::mul: return found<T, Reduce::mul>();
        case Reduce::min: return found<T, Reduce::min>();
        case Reduce::max: return found<T, Reduce::max>();
        case Reduce::mean: return found<T, Reduce::mean>();
        case Reduce::set: break;
      }
    }
    return Result{};
  }
  template <class T, Reduce kReduce>
  GS_INLINE Result found() const {
    if constexpr (has_reduction<T>(kReduce)) {
      return use.template operator()<T, kReduce>();
    } else {
      return Result{};
    }
  }
};

template <class Result, class Use>
GS_INLINE Result find(const Combine& combine, Use use) {
  return visit_number(combine.number, Find<Result, Use>{combine.reduce, use});
}

}  // namespace

Apply applier(const Combine& combine, ApplyStep stage, Keep keep) {
  return find<Apply>(combine, [=]<class T, Reduce kReduce>() -> Apply {
    constexpr bool kMean = kReduce == Reduce::mean;
    if constexpr (kSumsSuffice<T, kReduce>) {
      if (keep == Keep::nothing) return add_units<T>;
    }
    constexpr bool kMany = kMean && sizeof(Wide<T>) == 4;
    const bool many = kMany && keep == Keep::long_count;
    if (many && stage == ApplyStep::finish) return finish_units<T, kMean, kMany>;
    if (many) return accumulate_units<T, kReduce, kMany>;
    if (stage == ApplyStep::finish) return finish_units<T, kMean, false>;
    if (stage == ApplyStep::accumulate) return accumulate_units<T, kReduce, false>;
    if constexpr (kDirect<T, kReduce>) return combine_units<T, kReduce>;
    return nullptr;
  });
}

ApplyElements element_applier(const Combine& combine, ApplyStep stage, Keep keep) {
  if (keep == Keep::long_count) return nullptr;
  return find<ApplyElements>(combine, [=]<class T, Reduce kReduce>() -> ApplyElements {
    if constexpr (kSumsSuffice<T, kReduce>) {
      if (keep == Keep::nothing) return add_elements<T>;
    }
    if (stage == ApplyStep::accumulate) return accumulate_elements<T, kReduce>;
    if constexpr (kDirect<T, kReduce>) {
      if (stage == ApplyStep::direct) return combine_elements<T, kReduce>;
    }
    return nullptr;
  });
}

Sweep sweeper(const Combine& combine, ApplyStep stage, Keep keep) {
  return find<Sweep>(combine, [=]<class T, Reduce kReduce>() -> Sweep {
    if constexpr (kSumsSuffice<T, kReduce>) {
      if (keep == Keep::nothing) return stage == ApplyStep::finish ? finish_totals<T> : begin_totals<T>;
    }
    if (stage == ApplyStep::finish) return finish_records<T, kReduce == Reduce::mean>;
    return begin_records<T, kReduce>;
  });
}

CountedUnits counted_units(const Combine& combine) {
  return find<CountedUnits>(combine, []<class T, Reduce kReduce>() -> CountedUnits {
    if constexpr (!kTotalInTarget<T, kReduce>) {
      return {};
    } else if constexpr (kReduce == Reduce::mean) {
      const RowSteps steps = {combine_row<T, Reduce::add>, begin_row<T>, divide_row<T>};
      return {count_rows, combine_counted, steps, nullptr, 0};
    } else {
      const RowSteps steps = {combine_row<T, kReduce>, begin_row<T>, nullptr};
      constexpr int64_t kRecord = kHasEmptyTotal<T, kReduce> ? sizeof(TotalRecord<T>) : 0;
      return {nullptr, combine_begun, steps, begin_elements<T, kReduce>, kRecord};
    }
  });
}

int64_t record_bytes(const Combine& combine, Keep keep) {
  return find<int64_t>(combine, [keep]<class T, Reduce kReduce>() -> int64_t {
    if constexpr (kSumsSuffice<T, kReduce>) {
      if (keep == Keep::nothing) return sizeof(Total<T>);
    }
    return keep == Keep::long_count ? sizeof(TotalRecord<T, kReduce == Reduce::mean>) : sizeof(TotalRecord<T>);
  });
}

}  // namespace gs::cpu::GS_ISA

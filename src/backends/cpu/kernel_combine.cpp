// kernel_combine.cpp: the arithmetic of reductions, unit by unit. Compiled once for every instruction set level, in a
// namespace of its own; the rules that kernels.cpp names hold here too.
#include "backends/cpu/job.h"
#include "core/combine.h"

namespace gs::cpu::GS_ISA {
namespace {

inline std::byte* pointer_to(Address address) {
  return reinterpret_cast<std::byte*>(address);
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
    std::byte* const to = pointer_to(target[j]);
    const std::byte* const from = pointer_to(value[j]);
#pragma GCC ivdep
    for (int64_t i = 0; i < items; ++i) combine_direct<T, kReduce>(to + i * kSize, from + i * kSize);
  }
}

// The usual geometry has its own loops: the shorter they are, the more targets are on their way at a time.
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

template <class T>
struct Record {
  Wide<T> sum;
  int64_t hits;
};

template <class T>
inline Record<T>* record_of(const Window& totals, Address target) {
  static_assert(sizeof(Record<T>) <= kRecordBytes);
  return reinterpret_cast<Record<T>*>(totals.record) +
         static_cast<int64_t>(target - totals.first) / static_cast<int64_t>(sizeof(T));
}

template <class T, Reduce kReduce>
void accumulate_units(const Job& job, const Address* target, const Address* value, int n) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(T));
  const int64_t items = job.unit / kSize;
  for (int j = 0; j < n; ++j) {
    Record<T>* const record = record_of<T>(job.totals, target[j]);
    const std::byte* const to = pointer_to(target[j]);
    const std::byte* const from = pointer_to(value[j]);
    for (int64_t i = 0; i < items; ++i) {
      if (job.totals.begun) {
        combine_total<T, kReduce>(from + i * kSize, &record[i].sum, &record[i].hits, job.totals.include_self);
      } else {
        combine_wide<T, kReduce>(to + i * kSize, from + i * kSize, &record[i].sum, &record[i].hits,
                                 job.totals.include_self);
      }
    }
  }
}

// Targets that lie item by item.
template <class T, Reduce kReduce>
void accumulate_elements(const Elements& elements, const uint32_t* position, const uint32_t* point, int n) {
  const std::byte* const to = pointer_to(elements.base);
  const std::byte* const values = elements.values;
  const bool include_self = elements.totals.include_self;
  Record<T>* const record = record_of<T>(elements.totals, elements.base);
  // Records are several times as long as what they are of, and seldom in a near cache.
  for (int j = 0; j < n; ++j) __builtin_prefetch(record + position[j], 1, 3);
  for (int j = 0; j < n; ++j) {
    const uint64_t k = point == nullptr ? static_cast<uint64_t>(j) : point[j];
    Record<T>& own = record[position[j]];
    if (elements.totals.begun) {
      combine_total<T, kReduce>(values + k * sizeof(T), &own.sum, &own.hits, include_self);
    } else {
      combine_wide<T, kReduce>(to + uint64_t{position[j]} * sizeof(T), values + k * sizeof(T), &own.sum, &own.hits,
                               include_self);
    }
  }
}

template <class T, bool kMean>
void finish_units(const Job& job, const Address* target, const Address*, int n) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(T));
  const int64_t items = job.unit / kSize;
  for (int j = 0; j < n; ++j) {
    Record<T>* const record = record_of<T>(job.totals, target[j]);
    for (int64_t i = 0; i < items; ++i) {
      finish_wide<T, kMean>(pointer_to(target[j]) + i * kSize, record[i].sum, &record[i].hits, job.totals.include_self);
    }
  }
}

template <class T, bool kMean>
void sweep(const Window& totals, int64_t slots) {
  auto* const record = reinterpret_cast<Record<T>*>(totals.record);
  std::byte* const target = pointer_to(totals.first);
  for (int64_t i = 0; i < slots; ++i) {
    finish_wide<T, kMean>(target + i * static_cast<int64_t>(sizeof(T)), record[i].sum, &record[i].hits,
                          totals.include_self);
  }
}

template <class T>
void begin(const Window& totals, int64_t slots) {
  auto* const record = reinterpret_cast<Record<T>*>(totals.record);
  const std::byte* const target = pointer_to(totals.first);
  for (int64_t i = 0; i < slots; ++i) {
    record[i].sum = widen_number(load_number<T>(target + i * static_cast<int64_t>(sizeof(T))));
    record[i].hits = 0;
  }
}

// Calls use.operator()<T, kReduce>() for a reduction that the dtype has; else gives null.
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

Apply applier(const Combine& combine, Stage stage) {
  return find<Apply>(combine, [stage]<class T, Reduce kReduce>() -> Apply {
    if (stage == Stage::finish) return finish_units<T, kReduce == Reduce::mean>;
    if (stage == Stage::accumulate) return accumulate_units<T, kReduce>;
    if constexpr (kDirect<T, kReduce>) return combine_units<T, kReduce>;
    return nullptr;
  });
}

ApplyElements element_applier(const Combine& combine, Stage stage) {
  return find<ApplyElements>(combine, [stage]<class T, Reduce kReduce>() -> ApplyElements {
    if (stage == Stage::accumulate) return accumulate_elements<T, kReduce>;
    if constexpr (kDirect<T, kReduce>) {
      if (stage == Stage::direct) return combine_elements<T, kReduce>;
    }
    return nullptr;
  });
}

Sweep sweeper(const Combine& combine, Stage stage) {
  return find<Sweep>(combine, [stage]<class T, Reduce kReduce>() -> Sweep {
    if (stage == Stage::finish) return sweep<T, kReduce == Reduce::mean>;
    return begin<T>;
  });
}

int64_t record_bytes(const Combine& combine) {
  return find<int64_t>(combine, []<class T, Reduce kReduce>() -> int64_t { return sizeof(Record<T>); });
}

}  // namespace gs::cpu::GS_ISA

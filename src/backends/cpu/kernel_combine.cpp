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

inline int64_t slot_of(const Job& job, Address target, int64_t size) {
  return static_cast<int64_t>(target - job.totals.first) / size;
}

template <class T, Reduce kReduce>
void accumulate_units(const Job& job, const Address* target, const Address* value, int n) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(T));
  const int64_t items = job.unit / kSize;
  auto* const sum = reinterpret_cast<Wide<T>*>(job.totals.sum);
  for (int j = 0; j < n; ++j) {
    const int64_t slot = slot_of(job, target[j], kSize);
    for (int64_t i = 0; i < items; ++i) {
      combine_wide<T, kReduce>(pointer_to(target[j]) + i * kSize, pointer_to(value[j]) + i * kSize, sum + slot + i,
                               job.totals.hits + slot + i, job.include_self);
    }
  }
}

template <class T, bool kMean>
void finish_units(const Job& job, const Address* target, const Address*, int n) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(T));
  const int64_t items = job.unit / kSize;
  const auto* const sum = reinterpret_cast<const Wide<T>*>(job.totals.sum);
  for (int j = 0; j < n; ++j) {
    const int64_t slot = slot_of(job, target[j], kSize);
    for (int64_t i = 0; i < items; ++i) {
      finish_wide<T, kMean>(pointer_to(target[j]) + i * kSize, sum[slot + i], job.totals.hits + slot + i,
                            job.include_self);
    }
  }
}

template <class T, Reduce kReduce>
Apply applier_for(Stage stage) {
  if constexpr (!has_reduction<T>(kReduce)) {
    return nullptr;
  } else {
    if (stage == Stage::finish) return finish_units<T, kReduce == Reduce::mean>;
    if (stage == Stage::accumulate) return accumulate_units<T, kReduce>;
    if constexpr (!is_narrow<T> && kReduce != Reduce::mean) return combine_units<T, kReduce>;
    return nullptr;
  }
}

template <class T>
Apply applier_of(Reduce reduce, Stage stage) {
  switch (reduce) {
    case Reduce::add: return applier_for<T, Reduce::add>(stage);
    case Reduce::mul: return applier_for<T, Reduce::mul>(stage);
    case Reduce::min: return applier_for<T, Reduce::min>(stage);
    case Reduce::max: return applier_for<T, Reduce::max>(stage);
    case Reduce::mean: return applier_for<T, Reduce::mean>(stage);
    case Reduce::set: break;
  }
  return nullptr;
}

struct Find {
  Reduce reduce;
  Stage stage;
  template <class T>
  GS_INLINE Apply operator()() const {
    if constexpr (std::is_void_v<T>) {
      return nullptr;
    } else {
      return applier_of<T>(reduce, stage);
    }
  }
};

}  // namespace

Apply applier(const Combine& combine, Stage stage) {
  return visit_number(combine.number, Find{combine.reduce, stage});
}

}  // namespace gs::cpu::GS_ISA

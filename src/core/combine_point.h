// combine_point.h: one point of a scatter with a reduction, for host and device: the body of the general kernel.
#pragma once

#include <cstdint>

#include "core/combine.h"
#include "core/point.h"

namespace gs {

inline constexpr int64_t kWidestNumber = 16;  // bytes of a running total

// Running totals of the items between the lowest and the highest address of the indexed side, all zero at the start.
// Null where values meet their targets directly.
struct Totals {
  void* sum = nullptr;
  int64_t* hits = nullptr;
  int64_t low = 0;  // offset of slot 0
};

// Calls use.operator()<T, kReduce>() for a reduction that the dtype has.
template <class Use>
GS_HD inline void with_reduction(const Combine& combine, Use&& use) {
  visit_number(combine.number, [&]<class T>() {
    if constexpr (!std::is_void_v<T>) {
      const auto with = [&]<Reduce kReduce>() {
        if constexpr (has_reduction<T>(kReduce)) use.template operator()<T, kReduce>();
      };
      switch (combine.reduce) {
        case Reduce::set: break;
        case Reduce::add: return with.template operator()<Reduce::add>();
        case Reduce::mul: return with.template operator()<Reduce::mul>();
        case Reduce::min: return with.template operator()<Reduce::min>();
        case Reduce::max: return with.template operator()<Reduce::max>();
        case Reduce::mean: return with.template operator()<Reduce::mean>();
      }
    }
  });
}

inline bool combines_directly(const Combine& combine) {
  bool direct = false;
  with_reduction(combine, [&]<class T, Reduce kReduce>() { direct = kDirect<T, kReduce> && combine.include_self; });
  return direct;
}

// Whether a total of float tells by itself that no value has come to its target: see kUntouched.
inline bool sums_suffice(const Combine& combine) {
  bool suffice = false;
  with_reduction(combine, [&]<class T, Reduce kReduce>() { suffice = is_narrow<T> && kReduce == Reduce::add; });
  return suffice;
}

inline bool has_reduction(const Combine& combine) {
  bool has = false;
  with_reduction(combine, [&]<class T, Reduce kReduce>() { has = true; });
  return has;
}

// One value meets its target, or the total of its target; false where a bad index forbids it.
GS_HD inline bool combine_point(const PlanView& plan, const Combine& combine, const Totals& totals, int64_t flat) {
  const PointOffsets at = locate(plan, flat);
  if (at.bad || at.indexed == kNowhere) return !at.bad;
  with_reduction(combine, [&]<class T, Reduce kReduce>() {
    for (int64_t done = 0; done < plan.unit; done += plan.item) {
      std::byte* target = plan.indexed + at.indexed + done;
      const std::byte* value = plan.dense + at.dense + done;
      if constexpr (kDirect<T, kReduce>) {
        if (totals.hits == nullptr) {
          combine_direct<T, kReduce>(target, value);
          continue;
        }
      }
      const int64_t slot = (at.indexed + done - totals.low) / plan.item;
      combine_wide<T, kReduce>(target, value, static_cast<Wide<T>*>(totals.sum) + slot, totals.hits + slot,
                               combine.include_self);
    }
  });
  return true;
}

// Writes the totals that the point has a part in, if nobody has done so before.
GS_HD inline bool finish_point(const PlanView& plan, const Combine& combine, const Totals& totals, int64_t flat) {
  const PointOffsets at = locate(plan, flat);
  if (at.bad || at.indexed == kNowhere) return !at.bad;
  with_reduction(combine, [&]<class T, Reduce kReduce>() {
    for (int64_t done = 0; done < plan.unit; done += plan.item) {
      const int64_t slot = (at.indexed + done - totals.low) / plan.item;
      finish_wide<T, kReduce == Reduce::mean>(plan.indexed + at.indexed + done, static_cast<Wide<T>*>(totals.sum)[slot],
                                              totals.hits + slot, combine.include_self);
    }
  });
  return true;
}

}  // namespace gs

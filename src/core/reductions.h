// reductions.h: maps the dtype and the reduction of a Combine to the templates that compute it.
#pragma once

#include <type_traits>

#include "core/combine.h"

namespace gs {

// Calls use.operator()<T, kReduce>() if the dtype has the reduction.
template <class Use>
inline void with_reduction(const Combine& combine, Use&& use) {
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

// Whether a total needs no count of its values, because a reserved NaN in it means that it has none: see kUntouched in
// kernel_totals.h.
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

}  // namespace gs

// reduce_bodies.h: the bodies of scatters that combine: one thread takes all values of a target in ascending order, or
// atomics combine them where the result does not depend on the order.
#pragma once

#include <cstdint>

#include "backends/device/bodies/packed_plan.h"
#include "backends/device/bodies/scatter_bodies.h"
#include "backends/device/bodies/slots.h"
#include "backends/device/bodies/thread.h"
#include "core/combine.h"

namespace gs::device {

// The parameters of all bodies of this file.
struct Combination {
  PackedPlan table = {};
  Slots slots = {};
  Sorted sorted = {};  // without keys: no two points have the same target
  Status* status = nullptr;
  int64_t items = 1;  // items of one unit
  int64_t work = 0;   // items of all points
  Divider by_items = {};
  Reduce reduce = Reduce::add;
  bool include_self = true;
  bool aligned = true;  // all addresses are multiples of the item
};

// The thread of the first point in a run of equal targets combines the whole run. Each item of the unit has a thread of
// its own.
template <class T>
struct CombineRuns : Combination {
  static constexpr const char* kName = "runs";
  static constexpr uint64_t kVariant = sizeof(T);
  static constexpr int kAhead = 4;  // values that a thread loads together

  GS_HD void operator()(Thread thread) const {
    for (int64_t w = thread.number; w < work; w += thread.count) {
      const int64_t i = by_items.divide(w);
      const int64_t at = (w - i * items) * static_cast<int64_t>(sizeof(T));
      if (!begins_run(i)) continue;
      combine_run(i, at);
    }
  }

 private:
  GS_HD bool begins_run(int64_t i) const {
    if (sorted.keys != nullptr) return sorted.is_there(i) && sorted.begins(i);
    return table.mask == nullptr || load_shared<1>(table.mask + table.offset_of(kMask, i)) != 0;
  }

  // Combines in the wide type. Where combining in the dtype itself is correct, both give equal bytes.
  GS_HD void combine_run(int64_t i, int64_t at) const {
    const int64_t offset = sorted.keys != nullptr ? slots.offset(sorted.slot(i)) : table.offset_of(kIndexed, i);
    std::byte* target = table.indexed + offset + at;
    Wide<T> total = {};
    int64_t values = 0;
    if (include_self) {
      total = widen_number(load(target));
      values = 1;
    }
    for_each_value(i, at, [&](Wide<T> value) {
      total = values == 0 ? value : meet(total, value);
      ++values;
    });
    if constexpr (has_reduction<T>(Reduce::mean)) {
      if (reduce == Reduce::mean) total = mean_of(total, values);
    }
    store(target, narrow_number<T>(total));
  }

  GS_HD Wide<T> meet(Wide<T> total, Wide<T> value) const {
    if (reduce == Reduce::mul) return combined<Reduce::mul>(total, value);
    if constexpr (has_reduction<T>(Reduce::min)) {
      if (reduce == Reduce::min) return combined<Reduce::min>(total, value);
      if (reduce == Reduce::max) return combined<Reduce::max>(total, value);
    }
    return combined<Reduce::add>(total, value);
  }

  // Calls use(value) for all values of a run in ascending order. There is at least one value.
  template <class Use>
  GS_HD void for_each_value(int64_t i, int64_t at, Use&& use) const {
    const std::byte* values = table.dense + at;
    if (sorted.keys == nullptr) return use(widen_number(load(values + table.offset_of(kDense, i))));
    const uint64_t key = sorted.keys[i];
    for (bool more = true; more; i += kAhead) {
      T value[kAhead] = {};
      bool there[kAhead];
      GS_UNROLL
      for (int k = 0; k < kAhead; ++k) {
        there[k] = i + k < sorted.count && sorted.keys[i + k] == key;
        if (there[k]) value[k] = load(values + table.offset_of(kDense, sorted.point(i + k)));
      }
      GS_UNROLL
      for (int k = 0; k < kAhead; ++k) {
        if (there[k]) use(widen_number(value[k]));
      }
      more = there[kAhead - 1];
    }
  }

  GS_HD bool is_aligned_item() const { return sizeof(T) == 1 || aligned; }
  GS_HD T load(const std::byte* from) const {
    using Bits = Word<sizeof(T)>;
    const Bits word = is_aligned_item() ? load_plain<sizeof(T)>(from) : load_bytes<Bits>(from);
    return load_number<T>(&word);
  }
  GS_HD void store(std::byte* to, T value) const {
    Word<sizeof(T)> word;
    store_number(&word, value);
    is_aligned_item() ? store_plain<sizeof(T)>(to, word) : store_bytes(to, word);
  }
};

// Combines sums, minima and maxima of integers, whose bytes do not depend on the order of the values.
template <class T>
struct CombineAtomically : Combination {
  static constexpr const char* kName = "atomics";
  static constexpr uint64_t kVariant = sizeof(T);

  GS_HD void operator()(Thread thread) const {
    for (int64_t w = thread.number; w < work; w += thread.count) {
      const int64_t flat = by_items.divide(w);
      PointState spot = table.look(flat);
      if (!table.settle(flat, spot)) {
        if (status != nullptr && w == flat * items) status->report(flat);
        continue;
      }
      if (spot.indexed == kNowhere) continue;
      const int64_t at = (w - flat * items) * static_cast<int64_t>(sizeof(T));
      const Word<sizeof(T)> value = load_stream<sizeof(T)>(table.dense + spot.dense + at);
      combine(table.indexed + spot.indexed + at, static_cast<T>(value));
    }
  }

 private:
  GS_HD void combine(std::byte* at, T value) const {
#ifdef __CUDA_ARCH__
    using AtomicSigned = std::conditional_t<sizeof(T) == 8, long long, int>;
    using AtomicUnsigned = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned int>;
    using Native = std::conditional_t<std::is_signed_v<T>, AtomicSigned, AtomicUnsigned>;
    auto* target = reinterpret_cast<Native*>(at);
    if (reduce == Reduce::add) {
      atomicAdd(reinterpret_cast<AtomicUnsigned*>(at), static_cast<AtomicUnsigned>(value));
    } else if (reduce == Reduce::min) {
      atomicMin(target, static_cast<Native>(value));
    } else {
      atomicMax(target, static_cast<Native>(value));
    }
#else
    const T before = load_number<T>(at);
    store_number(at, reduce == Reduce::add   ? combined<Reduce::add>(before, value)
                     : reduce == Reduce::min ? combined<Reduce::min>(before, value)
                                             : combined<Reduce::max>(before, value));
#endif
  }
};

}  // namespace gs::device

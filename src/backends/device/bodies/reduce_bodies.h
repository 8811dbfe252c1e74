// reduce_bodies.h: the bodies of scatters that combine: all values of a target are taken in ascending order, or atomics
// combine them where the result does not depend on the order.
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

// Combines each run of equal targets in ascending order. Each item of the unit has a lane of its own, which combines
// the whole run. Where units are short, a long run is combined by all lanes of the warp: each loads some of the values,
// which are then taken as one lane would take them.
template <class T>
struct CombineRuns : Combination {
  static constexpr const char* kName = "runs";
  static constexpr uint64_t kVariant = sizeof(T);
  // Values that a lane loads together: when it combines a run alone, with its warp, or an item of a long unit. These
  // are as many as ptxas has registers for; the length of a long run is an estimate.
  static constexpr int kAhead = 4;
  static constexpr int kAheadOfRun = sizeof(Wide<T>) <= 4 ? 6 : 4;
  static constexpr int kAheadOfItem = sizeof(T) <= 4 ? 16 : 8;
  static constexpr int kBlocksAtOnce = 2;
  static constexpr int64_t kLong = 64;  // a run of more values is long

  GS_HD void operator()(Warp warp) const {
    for (int64_t first = warp.number() * kLanes; first < work; first += warp.count() * kLanes) {
      if (items >= kLanes && is_aligned_item()) {
        combine_items(warp, first);
      } else {
        uint32_t rest = warp.ballot([&](int lane) { return first + lane < work && !combine_alone(first + lane); });
        for (; rest != 0; rest &= rest - 1) combine_together(warp, first + lowest_bit(rest));
      }
    }
  }

 private:
  GS_HD int64_t point_of(int64_t w) const { return by_items.divide(w); }
  GS_HD int64_t byte_of(int64_t w, int64_t i) const { return (w - i * items) * static_cast<int64_t>(sizeof(T)); }
  GS_HD std::byte* target_of(int64_t i, int64_t at) const {
    return table.indexed + (sorted.keys != nullptr ? slots.offset(sorted.slot(i)) : table.offset_of(kIndexed, i)) + at;
  }
  GS_HD bool begins_run(int64_t i) const {
    if (sorted.keys != nullptr) return sorted.is_there(i) && sorted.begins(i);
    return table.mask == nullptr || load_shared<1>(table.mask + table.offset_of(kMask, i)) != 0;
  }
  GS_HD bool is_long_run(int64_t i) const {
    return sorted.keys != nullptr && is_aligned_item() && is_in_run(i + kLong, i);
  }
  GS_HD bool is_in_run(int64_t i, int64_t first) const {
    if (sorted.keys == nullptr) return i == first;
    return i < sorted.count && sorted.keys[i] == sorted.keys[first];
  }
  GS_HD int64_t dense_of(int64_t i) const {
    return table.offset_of(kDense, sorted.keys == nullptr ? i : sorted.point(i));
  }

  // The lanes' items belong to one point, or to two.
  GS_HD void combine_items(Warp warp, int64_t first) const {
    const int64_t end = first + kLanes < work ? first + kLanes : work;
    for (int64_t i = point_of(first); i * items < end; ++i) {
      if (begins_run(i)) combine_items_of(warp, first, i);
    }
  }

  GS_HD void combine_items_of(Warp warp, int64_t first, int64_t i) const {
    const auto has = [&](int lane) {
      return first + lane >= i * items && first + lane < (i + 1) * items && first + lane < work;
    };
    Lanes<RunTotal> total;
    warp.each([&](int lane) {
      if (has(lane)) total.own(lane) = begin(target_of(i, byte_of(first + lane, i)));
    });
    bool begun = include_self;
    Lanes<int64_t> next;  // offsets of the units of the points after these: each lane finds one
    int count = find_units(warp, i, i, next);
    for (int64_t from = i + kLanes; count > 0; from += kLanes) {
      const Lanes<int64_t> offset = next;
      const int left = count < kLanes ? 0 : find_units(warp, from, i, next);
      for (int k = 0; k < count; k += kAheadOfItem) {
        warp.each([&](int lane) {
          const std::byte* const values = table.dense + byte_of(first + lane, i);
          T value[kAheadOfItem] = {};
          GS_UNROLL
          for (int ahead = 0; ahead < kAheadOfItem; ++ahead) {
            const int64_t at = offset.of(k + ahead);
            if (has(lane) && k + ahead < count) value[ahead] = load_aligned(values + at);
          }
          Wide<T>& sum = total.own(lane).value;
          GS_UNROLL
          for (int ahead = 0; ahead < kAheadOfItem; ++ahead) {
            if (k + ahead >= count) break;
            const Wide<T> wide = widen_number(value[ahead]);
            sum = ahead == 0 && !begun ? wide : meet(sum, wide);
          }
          total.own(lane).values += count - k < kAheadOfItem ? count - k : kAheadOfItem;
        });
        begun = true;
      }
      count = left;
    }
    warp.each([&](int lane) {
      if (has(lane)) finish(target_of(i, byte_of(first + lane, i)), total.own(lane));
    });
  }

  // Finds the offsets of the units of the points from `from` on that belong to the run which begins at `i`. Returns
  // their number, at most one for each lane.
  GS_HD int find_units(Warp warp, int64_t from, int64_t i, Lanes<int64_t>& offset) const {
    return count_bits(warp.ballot([&](int lane) {
      const bool inside = is_in_run(from + lane, i);
      if (inside) offset.own(lane) = dense_of(from + lane);
      return inside;
    }));
  }

  // Returns false if the run that begins here is left to the warp.
  GS_HD bool combine_alone(int64_t w) const {
    const int64_t i = point_of(w);
    if (!begins_run(i)) return true;
    if (is_long_run(i)) return false;
    const int64_t at = byte_of(w, i);
    std::byte* const target = target_of(i, at);
    RunTotal total = begin(target);
    for_each_value(i, at, [&](Wide<T> value) { take(total, value); });
    finish(target, total);
    return true;
  }

  // The numbers of the next points are loaded while the values of these are combined.
  GS_HD void combine_together(Warp warp, int64_t w) const {
    constexpr int64_t kTogether = kAheadOfRun * kLanes;
    const int64_t i = point_of(w);
    const int64_t at = byte_of(w, i);
    const int64_t end = end_of_run(warp, i);
    RunTotal total = begin(target_of(i, at));
    total.values += end - i;
    bool begun = include_self;
    Lanes<int64_t> point[kAheadOfRun];
    for (int64_t first = i - kTogether; first < end; first += kTogether) {
      Lanes<Wide<T>> value[kAheadOfRun];
      warp.each([&](int lane) {
        GS_UNROLL
        for (int k = 0; k < kAheadOfRun; ++k) {
          const int64_t place = first + k * kLanes + lane;
          if (place >= i && place < end) {
            const std::byte* const unit = table.dense + table.offset_of(kDense, point[k].own(lane));
            value[k].own(lane) = widen_number(load_aligned(unit + at));
          }
          if (place + kTogether < end) point[k].own(lane) = sorted.point(place + kTogether);
        }
      });
      if (first < i) continue;
      GS_UNROLL
      for (int k = 0; k < kAheadOfRun; ++k) {
        const int64_t left = end - first - k * kLanes;
        fold(total.value, begun, value[k], left < kLanes ? static_cast<int>(left) : kLanes);
      }
    }
    warp.once([&] { finish(target_of(i, at), total); });
  }

  // Takes the values of the first `count` lanes. They are fetched some at a time, because no lane can go on before what
  // it fetches is there.
  GS_HD void fold(Wide<T>& total, bool& begun, const Lanes<Wide<T>>& value, int count) const {
    constexpr int kFetched = 8;
    for (int from = 0; from < count; from += kFetched) {
      Wide<T> fetched[kFetched];
      GS_UNROLL
      for (int k = 0; k < kFetched; ++k) fetched[k] = value.of(from + k);
      if (begun && from + kFetched <= count && adds()) {
        GS_UNROLL
        for (int k = 0; k < kFetched; ++k) total = sum_of(total, fetched[k]);
        continue;
      }
      GS_UNROLL
      for (int k = 0; k < kFetched; ++k) {
        if (from + k >= count) break;
        total = begun ? meet(total, fetched[k]) : fetched[k];
        begun = true;
      }
    }
  }

  // Finds the end of a long run: all lanes look at once, at as many places of what is left.
  GS_HD int64_t end_of_run(Warp warp, int64_t i) const {
    const uint64_t key = sorted.keys[i];
    int64_t low = i + kLong;  // in the run
    int64_t high = sorted.count;
    while (high - low > 1) {
      const int64_t step = (high - low + kLanes - 1) / kLanes;
      const uint32_t inside = warp.ballot([&](int lane) {
        const int64_t at = low + (lane + 1) * step;
        return at < high && sorted.keys[at] == key;
      });
      const int64_t steps = count_bits(inside);
      const int64_t next = low + (steps + 1) * step;
      low += steps * step;
      if (next < high) high = next;
    }
    return high;
  }

  // Values are combined in the wide type. Where combining in the dtype itself is correct, both give equal bytes.
  struct RunTotal {
    Wide<T> value = {};
    int64_t values = 0;
  };

  GS_HD RunTotal begin(const std::byte* target) const {
    return include_self ? RunTotal{widen_number(load(target)), 1} : RunTotal{};
  }
  GS_HD void take(RunTotal& total, Wide<T> value) const {
    total.value = total.values == 0 ? value : meet(total.value, value);
    ++total.values;
  }
  GS_HD void finish(std::byte* target, RunTotal total) const {
    if constexpr (has_reduction<T>(Reduce::mean)) {
      if (reduce == Reduce::mean) total.value = mean_of(total.value, total.values);
    }
    store(target, narrow_number<T>(total.value));
  }

  GS_HD bool adds() const { return reduce == Reduce::add || reduce == Reduce::mean; }
  // `finish` makes every NaN the canonical one, so that it need not be done in between.
  GS_HD static Wide<T> sum_of(Wide<T> total, Wide<T> value) {
    if constexpr (std::is_floating_point_v<Wide<T>>) return total + value;
    return combined<Reduce::add>(total, value);
  }
  GS_HD Wide<T> meet(Wide<T> total, Wide<T> value) const {
    if (adds()) return sum_of(total, value);
    if constexpr (has_reduction<T>(Reduce::min)) {
      if (reduce == Reduce::min) return combined<Reduce::min>(total, value);
      if (reduce == Reduce::max) return combined<Reduce::max>(total, value);
    }
    return combined<Reduce::mul>(total, value);
  }

  // Calls use(value) for all values of a run in ascending order.
  template <class Use>
  GS_HD void for_each_value(int64_t i, int64_t at, Use&& use) const {
    const int64_t first = i;
    for (bool more = true; more; i += kAhead) {
      T value[kAhead] = {};
      bool there[kAhead];
      GS_UNROLL
      for (int k = 0; k < kAhead; ++k) {
        there[k] = is_in_run(i + k, first);
        if (there[k]) value[k] = load(table.dense + dense_of(i + k) + at);
      }
      GS_UNROLL
      for (int k = 0; k < kAhead; ++k) {
        if (there[k]) use(widen_number(value[k]));
      }
      more = there[kAhead - 1];
    }
  }

  GS_HD bool is_aligned_item() const { return sizeof(T) == 1 || aligned; }
  GS_HD static T load_aligned(const std::byte* from) {
    const Word<sizeof(T)> word = load_plain<sizeof(T)>(from);
    return load_number<T>(&word);
  }
  GS_HD T load(const std::byte* from) const {
    if (is_aligned_item()) return load_aligned(from);
    const auto word = load_bytes<Word<sizeof(T)>>(from);
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

// test_group.cpp: groups of points are those of a loop, for every id type, layout, rule and way to sort.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "catch.h"
#include "cpu_cases.h"
#include "host/interrupt_poller.h"
#include "plans/plans.h"
#include "segments/group.h"
#include "segments/read_ids.h"

using namespace gs;
using namespace gs::test;

namespace {

// Ids of any shape and strides, with a mask, in memory of their own.
struct Ids {
  IndexView view;
  ArrayView mask;
  bool masked = false;
  std::vector<std::byte> memory, mask_memory;
  std::vector<int64_t> value;  // in C order
  std::vector<bool> kept;
};

Ids make_ids(Random& random, IndexType type, const Dims& shape, int64_t low, int64_t high, bool masked, bool strided) {
  Ids ids;
  ids.view.type = type;
  ids.view.item = index_size(type);
  ids.view.extent = ids.mask.extent = shape;
  ids.masked = masked;
  ids.mask.item = 1;
  const int64_t step = strided ? 3 : 1;
  int64_t count = 1;
  ids.view.stride = ids.mask.stride = Dims(shape.size(), 0);
  for (int d = shape.size() - 1; d >= 0; --d) {
    ids.view.stride[d] = count * step * ids.view.item;
    ids.mask.stride[d] = count * step;
    count *= shape[d];
  }
  ids.memory.resize(static_cast<size_t>(count * step * ids.view.item) + 8);
  ids.mask_memory.resize(static_cast<size_t>(count * step) + 8);
  ids.view.data = ids.memory.data();
  ids.mask.data = ids.mask_memory.data();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t id = random.from(low, high);
    std::memcpy(ids.view.data + i * step * ids.view.item, &id, static_cast<size_t>(ids.view.item));
    ids.value.push_back(id);
    ids.kept.push_back(!masked || random.chance(70));
    ids.mask.data[i * step] = ids.kept.back() ? std::byte{2} : std::byte{0};
  }
  if (strided && shape.size() > 0 && count > 0) {  // the first axis backwards
    const int64_t n = shape[0], inner = count / n;
    std::vector<int64_t> value;
    std::vector<bool> kept;
    for (int64_t r = n - 1; r >= 0; --r) {
      value.insert(value.end(), ids.value.begin() + r * inner, ids.value.begin() + (r + 1) * inner);
      kept.insert(kept.end(), ids.kept.begin() + r * inner, ids.kept.begin() + (r + 1) * inner);
    }
    ids.view.data += (n - 1) * ids.view.stride[0];
    ids.mask.data += (n - 1) * ids.mask.stride[0];
    ids.view.stride[0] *= -1;
    ids.mask.stride[0] *= -1;
    ids.value = value;
    ids.kept = kept;
  }
  return ids;
}

Plan plan_of(const Ids& ids, int64_t groups, Rule rule) {
  ArrayView table;
  table.extent = Dims{groups};
  table.stride = Dims{1};
  Extras extras;
  if (ids.masked) extras.mask = &ids.mask;
  return take_axis(table, ids.view, 0, 0, rule, extras);
}

Buffers buffers_of(const Ids& ids) {
  Buffers buffers;
  buffers.index = {ids.view.data};
  if (ids.masked) buffers.mask = ids.mask.data;
  return buffers;
}

// The definition. `bad`: the rule forbids an id.
struct Expected {
  bool bad = false;
  std::vector<int64_t> order, offsets;
};

Expected by_loop(const Ids& ids, int64_t groups, Rule rule) {
  Expected expected;
  if (rule.bounds == Bounds::unchecked) rule.bounds = Bounds::fill;  // the caller's promise, which is looked at anyway
  std::vector<std::vector<int64_t>> points(static_cast<size_t>(groups));
  for (size_t i = 0; i < ids.value.size(); ++i) {
    if (!ids.kept[i]) continue;
    const int64_t group = resolve(ids.value[i], groups, rule);
    if (group == kNowhere) {
      expected.bad |= rule.forbids(groups);
    } else {
      points[static_cast<size_t>(group)].push_back(static_cast<int64_t>(i));
    }
  }
  for (const auto& group : points) {
    expected.offsets.push_back(static_cast<int64_t>(expected.order.size()));
    expected.order.insert(expected.order.end(), group.begin(), group.end());
  }
  expected.offsets.push_back(static_cast<int64_t>(expected.order.size()));
  return expected;
}

void check(const Ids& ids, int64_t groups, Rule rule, const GroupLimits& limits, int threads) {
  const Plan plan = plan_of(ids, groups, rule);
  const Expected expected = by_loop(ids, groups, rule);
  RunOptions options;
  options.threads = threads;
  Grouping grouping(plan, limits);
  const Outcome outcome = grouping.read(buffers_of(ids), options);
  REQUIRE(outcome == (expected.bad ? Outcome::bad_index : Outcome::done));
  if (expected.bad) return;
  REQUIRE(grouping.kept() == static_cast<int64_t>(expected.order.size()));
  std::vector<int64_t> in_order(expected.order.size());
  std::iota(in_order.begin(), in_order.end(), 0);
  REQUIRE(grouping.in_order() == (in_order == expected.order));
  const host::Scratch<int64_t> order(grouping.kept() + 1), offsets(groups + 2);  // aligned as those of users
  order[grouping.kept()] = offsets[groups + 1] = -7;
  REQUIRE(grouping.sort(order.get(), offsets.get(), options) == Outcome::done);
  REQUIRE(order[grouping.kept()] == -7);
  REQUIRE(offsets[groups + 1] == -7);
  REQUIRE(std::vector<int64_t>(offsets.get(), offsets.get() + groups + 1) == expected.offsets);
  if (grouping.in_order()) return;
  REQUIRE(std::vector<int64_t>(order.get(), order.get() + grouping.kept()) == expected.order);
}

GroupLimits small_limits(bool wide) {
  GroupLimits limits;
  limits.direct_groups = 16;
  limits.buckets = 8;
  limits.least_chunk = 32;
  limits.most_chunk = 256;
  limits.near_bytes = 64;
  if (wide) limits.short_points = 0;
  return limits;
}

constexpr IndexType kTypes[] = {IndexType::i8, IndexType::i16, IndexType::i32, IndexType::i64,
                                IndexType::u8, IndexType::u16, IndexType::u32, IndexType::u64};

}  // namespace

TEST_CASE("groups are those of a loop, for every type, rule, layout and way to sort") {
  Random random(11);
  for (const IndexType type : kTypes) {
    for (const Bounds bounds : {Bounds::raise, Bounds::fill, Bounds::clip, Bounds::wrap, Bounds::unchecked}) {
      for (const Negative negative : {Negative::from_end, Negative::out_of_bounds}) {
        for (const int64_t groups : {0, 1, 7, 16, 17, 100, 127}) {
          for (const Dims& shape : {Dims{}, Dims{0}, Dims{1}, Dims{300}, Dims{5, 7, 9}, Dims{2, 0, 3}}) {
            const bool is_signed = index_is_signed(type);
            const bool outside = random.chance(50);
            const int64_t low =
                is_signed && (outside || negative == Negative::from_end) ? -groups - (outside ? 1 : 0) : 0;
            const int64_t high = std::max<int64_t>(groups + (outside ? 0 : -1), 0);
            const Ids ids = make_ids(random, type, shape, low, high, random.chance(40), random.chance(40));
            check(ids, groups, {bounds, negative}, small_limits(random.chance(30)),
                  static_cast<int>(random.from(1, 4)));
          }
        }
      }
    }
  }
}

TEST_CASE("groups of many points, with the limits of users") {
  Random random(12);
  for (const int64_t groups :
       {int64_t{3}, int64_t{4096}, int64_t{4097}, int64_t{65535}, int64_t{65536}, int64_t{200000}}) {
    for (const bool masked : {false, true}) {
      const Ids ids = make_ids(random, IndexType::i32, {150000}, 0, groups - 1, masked, false);
      for (const int threads : {1, 3}) check(ids, groups, {}, {}, threads);
    }
  }
}

TEST_CASE("one bucket with nearly all points is shared by the threads") {
  Random random(13);
  Ids ids = make_ids(random, IndexType::i64, {200000}, 0, 60000, false, false);
  auto* const value = reinterpret_cast<int64_t*>(ids.view.data);
  for (size_t i = 0; i < ids.value.size(); ++i) {
    if (random.chance(90)) value[i] = ids.value[i] = 4711 + random.from(0, 3);
  }
  for (const int threads : {1, 2, 4}) check(ids, 60001, {}, {}, threads);
}

TEST_CASE("points in order are found to be so, also with those left out at the end") {
  Random random(14);
  GroupLimits limits = small_limits(false);
  for (const int64_t groups : {5, 40}) {
    for (int round = 0; round < 200; ++round) {
      Ids ids = make_ids(random, IndexType::i32, {random.from(0, 400)}, 0, groups - 1, false, false);
      std::sort(ids.value.begin(), ids.value.end());
      const int64_t left_out = random.from(0, 3);
      for (size_t i = 0; i < ids.value.size(); ++i) {
        if (static_cast<int64_t>(ids.value.size() - i) <= left_out) ids.value[i] = groups + 5;
        const auto id = static_cast<int32_t>(ids.value[i]);
        std::memcpy(ids.view.data + i * 4, &id, 4);
      }
      check(ids, groups, {Bounds::fill, Negative::from_end}, limits, static_cast<int>(random.from(1, 3)));
    }
  }
}

TEST_CASE("the largest id of the points that are kept") {
  Random random(15);
  for (const IndexType type : kTypes) {
    const int64_t low = index_is_signed(type) ? -100 : 0;
    for (const int64_t n : {0, 1, 3000}) {
      for (const bool masked : {false, true}) {
        const Ids ids = make_ids(random, type, {n}, low, 100, masked, random.chance(50));
        const Plan plan = plan_of(ids, 1, {});
        int64_t largest = -1;
        for (size_t i = 0; i < ids.value.size(); ++i) {
          if (ids.kept[i]) largest = std::max(largest, ids.value[i]);
        }
        REQUIRE(std::max<int64_t>(largest_id(plan, buffers_of(ids), 0, n), -1) == largest);
      }
    }
  }
  Ids ids = make_ids(random, IndexType::u64, {4}, 0, 5, false, false);
  const uint64_t beyond = uint64_t{1} << 63;
  std::memcpy(ids.view.data, &beyond, 8);
  REQUIRE(largest_id(plan_of(ids, 1, {}), buffers_of(ids), 0, 4) == INT64_MAX);
}

TEST_CASE("a grouping that is interrupted says so") {
  Random random(16);
  const Ids ids = make_ids(random, IndexType::i32, {400000}, 0, 99999, false, false);
  const Plan plan = plan_of(ids, 100000, {});
  RunOptions options;
  options.threads = 2;
  host::InterruptPoller::interval = 0;
  options.interrupted = [] { return true; };
  Grouping grouping(plan, small_limits(false));
  REQUIRE(grouping.read(buffers_of(ids), options) == Outcome::interrupted);
  // In each of the passes that follow.
  static std::atomic<int> polls;
  options.interrupted = [] { return --polls < 0; };
  for (const int threads : {2, 1}) {
    options.threads = threads;
    int stopped = 0;
    for (int most = 1; most < 100000; most += most / 10 + 1) {
      Grouping other(plan, small_limits(false));
      polls = most;
      if (other.read(buffers_of(ids), options) == Outcome::interrupted) continue;
      const host::Scratch<int64_t> order(other.kept()), offsets(100001);
      if (other.sort(order.get(), offsets.get(), options) == Outcome::done) break;
      ++stopped;
    }
    // Of two threads, the one that polls may take few chunks, so that the first run that is read is sorted as well.
    if (threads == 1) REQUIRE(stopped > 1);
  }
  host::InterruptPoller::interval = host::InterruptPoller::kInterval;
}

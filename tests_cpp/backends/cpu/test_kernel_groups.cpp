// test_kernel_groups.cpp: on every level, the kernels of groups do what a loop does, and write nothing beside it.
#include <cstring>
#include <vector>

#include "backends/cpu/kernel_levels.h"
#include "backends/group_kernels.h"
#include "catch.h"
#include "cpu_cases.h"

using namespace gs;
using namespace gs::test;

namespace {

template <class Key>
void check_read(const GroupKernels& kernels, Random& random) {
  for (int round = 0; round < 400; ++round) {
    const auto type = static_cast<IndexType>(random.from(0, 7));
    const int64_t size = index_size(type);
    const int64_t n = random.pick<int64_t>({0, 1, 2, 7, 8, 31, 100, 1023, kIdsOfBlock});
    const int64_t stride = random.chance(50) ? size : size * random.from(-3, 3);
    const Rule rule{random.pick<Bounds>({Bounds::raise, Bounds::fill, Bounds::clip, Bounds::wrap, Bounds::unchecked}),
                    random.chance(50) ? Negative::from_end : Negative::out_of_bounds};
    const int64_t groups = random.pick<int64_t>({0, 1, 100, 127, 65534, 65535});
    const bool masked = random.chance(40);
    const bool inside = random.chance(60);
    Bytes memory(static_cast<size_t>(8 * 8 * (n + 1)));
    random.fill(memory);
    std::byte* const ids = memory.data() + (stride < 0 ? -stride * std::max<int64_t>(n - 1, 0) : 0);
    Bytes mask(static_cast<size_t>(2 * n) + 1);
    for (std::byte& byte : mask) byte = random.chance(80) ? std::byte{255} : std::byte{0};
    std::vector<Key> expected(static_cast<size_t>(n), Key{0}), found(static_cast<size_t>(n) + 1, Key{77});
    for (int64_t i = 0; inside && groups > 0 && i < n; ++i) {
      const int64_t id = random.from(0, std::min<int64_t>(groups, 127) - 1);
      std::memcpy(ids + i * stride, &id, static_cast<size_t>(size));
    }
    bool good = true;
    for (int64_t i = 0; i < n; ++i) {
      Rule judged = rule;
      if (rule.bounds == Bounds::unchecked) judged.bounds = Bounds::fill;
      const int64_t group = visit_index(type, [&]<class Index>() {
        Index id;
        std::memcpy(&id, ids + i * stride, sizeof(Index));
        return resolve(id, groups, judged);
      });
      const bool kept = !masked || mask[static_cast<size_t>(2 * i)] != std::byte{0};
      if (kept && group == kNowhere && judged.forbids(groups)) good = false;
      expected[static_cast<size_t>(i)] = !kept || group == kNowhere ? kNoGroup<Key> : static_cast<Key>(group);
    }
    const IdBlock block{ids, stride, type, masked ? mask.data() : nullptr, 2, n, groups, rule};
    REQUIRE(kernels.read(block, reinterpret_cast<std::byte*>(found.data())) == good);
    REQUIRE(found.back() == Key{77});
    found.pop_back();
    if (good) REQUIRE(found == expected);
  }
}

template <class Key>
void check_places(const GroupKernels& kernels, Random& random) {
  for (int round = 0; round < 200; ++round) {
    const int shift = static_cast<int>(random.from(0, 3));
    const int64_t groups = random.from(1, 60);
    const int64_t buckets = ((groups - 1) >> shift) + 1;
    const int64_t n = random.from(0, 700), first = random.from(0, 5);
    std::vector<Key> keys(static_cast<size_t>(first + n), Key{1});
    for (Key& key : keys) key = random.chance(90) ? static_cast<Key>(random.from(0, groups - 1)) : kNoGroup<Key>;
    const bool sorted = random.chance(30);
    if (sorted) std::sort(keys.begin(), keys.end());
    const auto* const data = reinterpret_cast<const std::byte*>(keys.data());
    std::vector<int64_t> counts(static_cast<size_t>(buckets) + 1, 0), expected = counts;
    const auto count_of = [&](Key key) -> int64_t& {
      return expected[key == kNoGroup<Key> ? static_cast<size_t>(buckets) : static_cast<size_t>(key) >> shift];
    };
    for (const Key key : keys) ++count_of(key);
    REQUIRE(kernels.count(data, first + n, shift, buckets, counts.data()) == std::is_sorted(keys.begin(), keys.end()));
    REQUIRE(counts == expected);

    // Places with gaps, in which other threads write.
    std::vector<int64_t> place;
    int64_t next = random.from(0, 9);
    for (int64_t bucket = 0; bucket < buckets; ++bucket) {
      place.push_back(next);
      next += expected[static_cast<size_t>(bucket)] + random.from(0, 9);
    }
    alignas(64) static uint64_t room[4096], target[4096];
    Bytes memory(static_cast<size_t>(line_bytes(buckets)) + 64);
    auto* const lines = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64);
    for (const bool by_lines : {false, true}) {
      for (const bool records : {false, true}) {
        std::fill(room, room + 4096, 123456789);
        std::fill(target, target + 4096, 123456789);
        std::vector<int64_t> at = place, now = place;
        for (int64_t i = first; i < first + n; ++i) {
          const Key key = keys[static_cast<size_t>(i)];
          if (key == kNoGroup<Key>) continue;
          const uint64_t group = static_cast<uint64_t>(key) & ((uint64_t{1} << shift) - 1);
          room[at[static_cast<size_t>(key) >> shift]++] = (records ? group << 32 : 0) | static_cast<uint64_t>(i);
        }
        const PlacedPoints points{data, first, first + n, shift, buckets, now.data(), by_lines ? lines : nullptr};
        if (records) {
          kernels.place_records(points, target);
        } else {
          kernels.place_points(points, reinterpret_cast<int64_t*>(target));
        }
        REQUIRE(now == at);
        REQUIRE(std::memcmp(room, target, sizeof(room)) == 0);
      }
    }
  }
}

}  // namespace

TEST_CASE("ids become the groups of a loop") {
  for (const std::string& level : levels()) {
    const cpu::Kernels& kernels = *cpu::kernels_of(level);
    Random random(5);
    check_read<uint16_t>(kernels.groups(2), random);
    check_read<uint32_t>(kernels.groups(4), random);
    check_read<uint64_t>(kernels.groups(8), random);
  }
}

TEST_CASE("points go to the places of a loop, and nothing else is written") {
  for (const std::string& level : levels()) {
    const cpu::Kernels& kernels = *cpu::kernels_of(level);
    Random random(6);
    check_places<uint16_t>(kernels.groups(2), random);
    check_places<uint32_t>(kernels.groups(4), random);
    check_places<uint64_t>(kernels.groups(8), random);
  }
}

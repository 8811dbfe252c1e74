// machine_contract.h: checks of the contract of machines that run device kernels; each check works for any machine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "backends/device/machine.h"
#include "backends/device/move.h"
#include "catch.h"
#include "plans/plans.h"

namespace gs::test {

using device::Machine;
using device::Temporary;

template <class T>
int64_t bytes_of(const std::vector<T>& values) {
  return static_cast<int64_t>(values.size() * sizeof(T));
}

// Memory of the machine with these values.
template <class T>
class MachineArray {
 public:
  MachineArray(Machine& machine, const std::vector<T>& values)
      : machine_(machine), size_(values.size()), memory_(machine, bytes_of(values)) {
    machine.write(memory_.data(), values.data(), bytes_of(values));
  }
  T* data() const { return memory_.as<T>(); }
  std::byte* bytes() const { return memory_.data(); }
  std::vector<T> read() const {
    std::vector<T> values(size_);
    machine_.read(values.data(), data(), bytes_of(values));
    return values;
  }

 private:
  Machine& machine_;
  std::size_t size_;
  Temporary memory_;
};

inline std::vector<uint64_t> noise(int64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> values(static_cast<std::size_t>(count));
  for (uint64_t& value : values) value = random();
  return values;
}

inline void check_memory(Machine& machine) {
  // Sizes near those of the machine's own blocks, and several of the largest.
  for (const int64_t count : {int64_t{0}, int64_t{1}, int64_t{31}, int64_t{32}, int64_t{33}, int64_t{8191},
                              int64_t{8192}, int64_t{8193}, int64_t{200000}, int64_t{524288}, int64_t{1500000}}) {
    std::vector<uint64_t> values = noise(count, 1);
    const std::vector<uint64_t> kept = values;
    const MachineArray<uint64_t> first(machine, values);
    std::fill(values.begin(), values.end(), 0);  // must not affect the write
    const MachineArray<uint64_t> second(machine, values);
    REQUIRE(reinterpret_cast<uintptr_t>(first.data()) % 256 == 0);
    REQUIRE(first.read() == kept);
    REQUIRE(second.read() == values);
    machine.copy(second.data(), first.data(), bytes_of(kept));
    machine.clear(first.data(), bytes_of(kept));
    REQUIRE(second.read() == kept);
    REQUIRE(first.read() == values);
  }
  // Many small writes in a row, which share blocks.
  std::vector<uint64_t> small = noise(1000, 2);
  const std::vector<uint64_t> kept = small;
  const MachineArray<uint64_t> target(machine, std::vector<uint64_t>(small.size()));
  for (std::size_t i = 0; i < small.size(); ++i) machine.write(target.data() + i, &small[i], sizeof(uint64_t));
  std::fill(small.begin(), small.end(), 0);
  REQUIRE(target.read() == kept);
}

inline void check_sort(Machine& machine) {
  for (const int64_t count : {int64_t{0}, int64_t{1}, int64_t{2}, int64_t{1000}, int64_t{300000}}) {
    for (const int bits : {1, 7, 17, 33, 64}) {
      const std::vector<uint64_t> keys = noise(count, static_cast<uint64_t>(count + bits));
      std::vector<uint64_t> values(keys.size());
      std::iota(values.begin(), values.end(), uint64_t{0});
      const MachineArray<uint64_t> sorted_keys(machine, keys);
      const MachineArray<uint64_t> sorted_values(machine, values);
      machine.sort(sorted_keys.data(), sorted_values.data(), count, bits);
      const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
      std::stable_sort(values.begin(), values.end(),
                       [&](uint64_t a, uint64_t b) { return (keys[a] & mask) < (keys[b] & mask); });
      std::vector<uint64_t> expected;
      for (const uint64_t value : values) expected.push_back(keys[value]);
      REQUIRE(sorted_values.read() == values);
      REQUIRE(sorted_keys.read() == expected);
    }
  }
}

inline void check_sum(Machine& machine) {
  for (const int64_t count : {int64_t{0}, int64_t{1}, int64_t{2}, int64_t{1023}, int64_t{700000}}) {
    std::mt19937_64 random(3);
    std::vector<int64_t> values(static_cast<std::size_t>(count + 1));
    for (int64_t& value : values) value = static_cast<int64_t>(random() >> 24);
    const MachineArray<int64_t> sums(machine, values);
    machine.exclusive_sum(sums.data(), count);
    int64_t sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += std::exchange(values[static_cast<std::size_t>(i)], sum);
    values[static_cast<std::size_t>(count)] = sum;
    REQUIRE(sums.read() == values);
  }
}

// result[i] = table[index[i]], computed on a machine.
struct Lookup {
  Lookup(Machine& on, int64_t rows, const std::vector<int64_t>& index)
      : machine(on),
        table_values(noise(rows, 4)),
        index_values(index),
        table(on, table_values),
        places(on, index_values),
        result(on, std::vector<uint64_t>(index.size())) {
    ArrayView source;
    source.data = table.bytes();
    source.item = 8;
    source.extent = {rows};
    source.stride = {8};
    IndexView indices;
    indices.data = places.bytes();
    indices.item = 8;
    indices.extent = {static_cast<int64_t>(index.size())};
    indices.stride = {8};
    plan = take_axis(source, indices, 0, 0, {Bounds::raise, Negative::from_end}, {});
    buffers.indexed = table.bytes();
    buffers.dense = result.bytes();
    buffers.index.push_back(places.bytes());
  }
  void start(device::Status* status) { device::move(machine, plan, buffers, Direction::gather, status); }
  std::vector<uint64_t> expected() const {  // zero for a bad index
    std::vector<uint64_t> values;
    const auto rows = static_cast<int64_t>(table_values.size());
    for (const int64_t at : index_values) {
      const int64_t row = at < 0 ? at + rows : at;
      values.push_back(row < 0 || row >= rows ? 0 : table_values[static_cast<std::size_t>(row)]);
    }
    return values;
  }

  Machine& machine;
  std::vector<uint64_t> table_values;
  std::vector<int64_t> index_values;
  MachineArray<uint64_t> table;
  MachineArray<int64_t> places;
  MachineArray<uint64_t> result;
  Plan plan;
  Buffers buffers;
};

inline std::vector<int64_t> good_index(int64_t count, int64_t rows) {
  std::vector<int64_t> index;
  for (const uint64_t value : noise(count, 5))
    index.push_back(static_cast<int64_t>(value % static_cast<uint64_t>(2 * rows)) - rows);
  return index;
}

inline void check_status(Machine& machine) {
  constexpr int64_t kRows = 1000;
  std::vector<int64_t> index = good_index(20000, kRows);
  Lookup good(machine, kRows, index);
  for (const std::size_t at : {15000u, 7777u, 19999u}) index[at] = kRows;
  Lookup bad(machine, kRows, index);

  for (int round = 0; round < 3; ++round) {
    device::Status* status = machine.status();
    good.start(status);
    REQUIRE(machine.read_status(status).is_clean());
    REQUIRE(good.result.read() == good.expected());

    status = machine.status();
    bad.start(status);
    const device::Status found = machine.read_status(status);
    REQUIRE_FALSE(found.is_clean());
    REQUIRE(found.first() == 7777);
    REQUIRE(found.count == 3);
    REQUIRE(bad.result.read() == bad.expected());
  }

  // Several pending calls without a wait, more than a machine keeps ready; some receipts are never read.
  std::vector<std::pair<bool, std::unique_ptr<device::Receipt>>> receipts;
  for (int i = 0; i < 2500; ++i) {
    const bool wrong = i % 7 == 3;
    device::Status* status = machine.status();
    (wrong ? bad : good).start(status);
    receipts.emplace_back(wrong, machine.later(status));
    if (i % 5 == 2) receipts.back().second = nullptr;
  }
  for (const auto& [wrong, receipt] : receipts) {
    if (receipt == nullptr) continue;
    const device::Status found = receipt->status();
    REQUIRE(receipt->is_ready());
    REQUIRE_FALSE(receipt->is_lasting());
    REQUIRE(found.is_clean() == !wrong);
    REQUIRE(receipt->status().count == found.count);  // can be read again
    if (wrong) REQUIRE(found.first() == 7777);
  }
  // Status slots are cleared before they are used again.
  for (int i = 0; i < 2500; ++i) {
    const device::Status found = machine.read_status(machine.status());
    if (!found.is_clean()) FAIL("status " << i << " was handed out dirty");
  }
}

}  // namespace gs::test

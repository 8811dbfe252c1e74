// plan_cache.h: plans of recent small calls. A plan is a function of geometry alone, and making one takes longer than
// moving a few items.
#pragma once

#include <array>
#include <cstdint>

#include "bindings/run.h"

namespace gs {

// Everything that a plan with one index array and no mask, fill or out depends on, as plain words.
class PlanKey {
 public:
  // False where the call has more operands or axes than a key holds.
  bool set(const Request& request, const Operands& operands);
  std::size_t slot(std::size_t slots) const { return static_cast<std::size_t>(hash_) % slots; }
  friend bool operator==(const PlanKey& a, const PlanKey& b) {
    if (a.hash_ != b.hash_ || a.size_ != b.size_) return false;
    for (int i = 0; i < a.size_; ++i) {
      if (a.words_[static_cast<std::size_t>(i)] != b.words_[static_cast<std::size_t>(i)]) return false;
    }
    return true;
  }

 private:
  static constexpr int kMaxRank = 4;
  void add(int64_t word) {
    words_[static_cast<std::size_t>(size_++)] = word;
    hash_ = (hash_ ^ static_cast<uint64_t>(word)) * 0x9E3779B97F4A7C15u;
    hash_ ^= hash_ >> 32;
  }
  void add(const ArrayView& view);

  uint64_t hash_ = 0;
  int size_ = 0;
  std::array<int64_t, 4 + 2 * (2 + 2 * kMaxRank)> words_;
};

// Of one thread; guarded by nothing else. The plan is good until the next call: copy it before any Python code may run.
class PlanCache {
 public:
  const Plan& find(const PlanKey& key, const Request& request, const Operands& operands) {
    Entry& entry = entries_[key.slot(entries_.size())];
    if (!(entry.key == key)) {
      entry.key = PlanKey();  // stays empty if making the plan throws
      entry.plan = make_plan(request, operands);
      entry.key = key;
    }
    return entry.plan;
  }

 private:
  struct Entry {
    PlanKey key;
    Plan plan;
  };
  std::array<Entry, 8> entries_;
};

}  // namespace gs

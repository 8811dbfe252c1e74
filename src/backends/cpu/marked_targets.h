// marked_targets.h: a bitmap of the targets of a scatter of rows. It shows whether two points have one target, and
// which rows of a base no point replaces.
#pragma once

#include <optional>

#include "backends/backend.h"
#include "backends/cpu/kernels/level.h"
#include "backends/cpu/prepare.h"

namespace gs::cpu {

inline constexpr int64_t kMaxElement = 16;  // bytes: shorter units are not worth a bitmap of targets

// Whether the units are slots: they begin at multiples of their length from the first target on, so that two of them
// either coincide or do not overlap; and whether a bitmap of the slots costs little beside the move.
bool pays_to_mark(const Plan& plan, const Tuning& tuning);

enum class KeepTargets { no, yes };

class MarkedTargets {
 public:
  explicit MarkedTargets(const Plan& plan, const std::byte* indexed);  // without marks
  MarkedTargets(const MarkedTargets&) = delete;
  MarkedTargets& operator=(const MarkedTargets&) = delete;
  ~MarkedTargets();
  const TargetMarks& marks() const { return marks_; }

  // Marks the targets of all points on several threads. Throws std::bad_alloc before anything is moved.
  Outcome mark(const Kernels& kernels, const Tuning& tuning, const Plan& plan, const Buffers& buffers,
               const RunOptions& options, KeepTargets keep);
  bool has_repeats() const { return repeats_; }

  // The scatter of the same values to the targets that were marked and kept: they lie in private memory, so that
  // another thread that changes the indices after the marks cannot let two points meet, or leave a marked row
  // unwritten.
  Plan plan_of(const Plan& plan) const;
  Buffers buffers_of(const Buffers& buffers) const;

  // Copies the rows of the base that are not marked.
  Outcome copy_others(const Kernels& kernels, const Tuning& tuning, const Plan& plan, const Buffers& buffers,
                      const RunOptions& options) const;

 private:
  int64_t slots_;
  int64_t points_;
  TargetMarks marks_;
  uint32_t* flat_ = nullptr;  // the slot of each point; kNowhereSlot where a later point has the same one
  bool repeats_ = false;
};

// As gs::first_duplicate. Where a bitmap of all targets pays, points are looked at in order only after it has shown
// that there is a duplicate.
std::optional<Duplicate> first_duplicate_with(const Kernels& kernels, const Tuning& tuning, const Plan& plan,
                                              const Buffers& buffers, const RunOptions& options);

// Copies the whole base to the indexed side.
Outcome copy_base(const Kernels& kernels, const Tuning& tuning, const Buffers& buffers, const RunOptions& options);

}  // namespace gs::cpu

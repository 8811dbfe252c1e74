// deferred_check.h: declares what is needed to read the check of a call that did not wait for it, and to report its
// error.
#pragma once

#include <memory>
#include <optional>

#include "backends/backend.h"
#include "core/plan.h"

namespace gs {

struct DeferredCheck {
  std::shared_ptr<device::Receipt> receipt;
  Plan plan;
  Buffers buffers;           // of the index arrays and the mask; the other addresses may be released by now
  bool is_reversed = false;  // the points ran in reverse order
};

// Whether the check of a call with this plan is deferred on this backend.
inline bool defers(const Backend& backend, const Plan& plan) {
  return backend.is_asynchronous() && plan.rule.bounds == Bounds::deferred && plan.can_fail() && plan.space.count() > 0;
}

// The bad index of a failed check. If the index arrays have changed since and hold no bad index any more, the position
// follows from `first`, the number of the first bad point in the order of the run, and the value is unknown.
struct LocatedIndex {
  BadIndex bad;
  bool is_current = true;  // whether the index array still holds the bad value
};
LocatedIndex locate(const DeferredCheck& check, int64_t first, const Backend& backend, const RunOptions& options);

}  // namespace gs

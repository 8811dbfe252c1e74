// attempt.h: runs the part of a call that reads indices, and repeats it while another thread changes them.
#pragma once

#include <optional>

#include "calls/call_context.h"
#include "calls/call_result.h"
#include "host/progress.h"

namespace gs {

// A call of up to this many bytes takes less time than a release of the lock.
inline constexpr int64_t kKeepLockBytes = 32 * 1024;
// Whether a move of this plan takes so little time; only such a move is a small call. An index has 8 bytes.
bool keeps_lock(const Plan& plan);
// The lock for a run of this plan that writes `bytes_written` besides the moved ones.
Lock lock_for(const Backend& backend, const Plan& plan, int64_t bytes_written = 0);

// Another thread may change a bad index between the run that reports it and the search for it. If the search finds no
// bad index, the run is repeated, at most this many times in all. Eight were too few against a thread that does nothing
// but switch all indices between good and bad.
inline constexpr int kTries = 32;

struct Attempt {
  const Plan& plan;
  const Buffers& buffers;
  Direction direction;
  Lock lock = Lock::kept;
  bool checks_first =
      false;  // all indices are checked before the first write, so that a bad one leaves nothing half written
  bool forbids_duplicates = false;
  bool is_repeatable = true;  // false: a repetition after a write would combine values twice
};

// Checks what `attempt` asks for, then calls move(plan, buffers, options), which returns an Outcome. The plan and the
// buffers may be those that a check has resolved. Locates the bad index of a move that reports one.
template <class Move>
CallResult run_attempts(CallContext& call, const Attempt& attempt, Move&& move) {
  const Backend& backend = call.backend();
  const Plan& plan = attempt.plan;
  CallResult result;
  for (int tries = 0; tries < kTries; ++tries) {
    Outcome outcome = Outcome::done;
    bool has_written = false;
    call.run(attempt.lock, [&](const RunOptions& options) {
      std::optional<ResolvedPlan> resolved;
      const bool checks = attempt.checks_first && plan.can_fail();
      host::ProgressParts steps(1 + int{checks} + int{attempt.forbids_duplicates});
      if (checks) {
        if (backend.resolve(plan, attempt.buffers, attempt.direction, options, resolved)) outcome = Outcome::bad_index;
        steps.next();
      }
      const Plan& checked = resolved ? resolved->plan : plan;
      const Buffers& checked_buffers = resolved ? resolved->buffers : attempt.buffers;
      if (outcome == Outcome::done && attempt.forbids_duplicates && !call.is_interrupted()) {
        result.duplicate = backend.first_duplicate(checked, checked_buffers, options);
        steps.next();
      }
      if (outcome == Outcome::done && !result.duplicate && !call.is_interrupted()) {
        has_written = true;
        outcome = move(checked, checked_buffers, options);
      }
      // A search that is interrupted has an incomplete result, which is not used.
      if (outcome == Outcome::bad_index && !call.is_interrupted()) {
        result.bad = backend.first_outside(plan, attempt.buffers, options);
      }
    });
    if (call.is_interrupted()) {
      result.ending = Ending::interrupted;
      return result;
    }
    if (result.bad || result.duplicate) {
      result.ending = result.bad ? Ending::bad_index : Ending::duplicate;
      result.plan = std::make_unique<Plan>(plan);
      return result;
    }
    if (outcome == Outcome::done) return result;
    if (has_written && !attempt.is_repeatable) break;
  }
  result.ending = Ending::unstable;
  return result;
}

}  // namespace gs

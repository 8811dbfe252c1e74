// call_result.h: says how a call ended, with what the caller needs to raise the error of a call that failed.
#pragma once

#include <memory>
#include <optional>

#include "calls/deferred_check.h"
#include "core/plan.h"

namespace gs {

enum class Ending : uint8_t {
  done,
  bad_index,    // nothing was written to an array of the caller, unless another thread changed an index after its check
  duplicate,    // found under Duplicates::error; nothing was written either
  interrupted,  // a poll has answered that the call must stop; an array that is written in place may be half written
  unstable,     // another thread kept changing the index array; an array that is written in place may be half written
};

// Every call makes one, and plans are large, so what only some calls have is on the heap.
struct CallResult {
  Ending ending = Ending::done;
  std::optional<BadIndex> bad;
  std::optional<Duplicate> duplicate;
  std::unique_ptr<Plan> plan;  // that of the run, after a bad index or a duplicate: their positions refer to it
  std::unique_ptr<DeferredCheck> deferred_check;
  bool has_waited = false;  // the call has waited for the last work that it submitted to an asynchronous backend
};

}  // namespace gs

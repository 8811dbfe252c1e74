// foreign_call.h: offers calls to modules whose caller is not Python, such as the runtime of XLA: no GIL, no objects.
#pragma once

#include <string>

#include "calls/views.h"

namespace gs {

// One call on host memory. The caller owns all of it, and nothing writes to an argument while the call runs.
struct ForeignCall {
  const char* op;  // name of the operator, for messages
  const Request& request;
  const Views& views;       // C-contiguous, or all strides 0; a scatter has its values in `source`
  const ArrayView& result;  // contiguous, as the caller has made it; an error leaves it unusable
  bool holds_input;         // a scatter's `result` holds the values of the input already
};

enum class ForeignOutcome : uint8_t { done, bad_index, invalid, no_memory, failed };
struct ForeignEnding {
  ForeignOutcome outcome = ForeignOutcome::done;
  std::string message;  // that of the error which Python raises for such a call
};

// The functions of `_core` in its attribute `foreign_calls`, a capsule of the name below. The thread needs no GIL
// and never takes it. Threads are limited by the number set for the process, because no context of Python is known.
struct ForeignCalls {
  uint64_t layout;  // foreign_layout() of the module that made it
  ForeignEnding (*run)(const ForeignCall&) noexcept;
};
inline constexpr const char* kForeignCallsName = "gatherscatter._core.foreign_calls";

// Differs between modules that disagree about the structs above. The first number changes with a meaning that keeps its
// size.
constexpr uint64_t foreign_layout() {
  return 2 + sizeof(ForeignCall) + 1000 * sizeof(Views) + 1000000 * sizeof(Request) +
         1000000000 * sizeof(ForeignEnding);
}

const ForeignCalls& foreign_calls();

}  // namespace gs

// module.cpp: defines the extension module `gatherscatter._jax`: the handler that XLA calls in jitted functions.
#include <pybind11/pybind11.h>

#include <cstring>
#include <exception>

#include "bindings/operators/foreign_call.h"
#include "jax/call_frame.h"

namespace py = pybind11;

namespace gs {
namespace {

// Set when the module is imported, before a handler can be called.
const ForeignCalls* calls = nullptr;

FfiErrorCode code_of(ForeignOutcome outcome) {
  switch (outcome) {
    case ForeignOutcome::bad_index: return kOutOfRange;
    case ForeignOutcome::invalid: return kInvalidArgument;
    case ForeignOutcome::no_memory: return kResourceExhausted;
    default: return kInternal;
  }
}

FfiError* make_error(const FfiCallFrame& frame, FfiErrorCode code, const char* message) {
  FfiErrorArguments arguments{sizeof(FfiErrorArguments), nullptr, message, code};
  return frame.api->make_error(&arguments);
}

// Answers the question for the version of a handler, which XLA asks once. Returns false for a call.
bool tell_version(const FfiCallFrame& frame) {
  if (frame.extensions == nullptr || frame.extensions->type != kMetadataExtension) return false;
  FfiMetadata& metadata = *reinterpret_cast<FfiMetadataExtension*>(frame.extensions)->metadata;
  metadata.version.major_version = kFfiMajor;
  metadata.version.minor_version = kFfiMinor;
  return true;
}

FfiError* handle(FfiCallFrame* frame) {
  if (tell_version(*frame)) return nullptr;
  try {
    const FrameCall call = read_frame(*frame);
    const ForeignEnding ending = calls->run({call.op.c_str(), call.request, call.views, call.result, call.holds_input});
    if (ending.outcome == ForeignOutcome::done) return nullptr;
    return make_error(*frame, code_of(ending.outcome), ending.message.c_str());
  } catch (const std::exception& error) {
    return make_error(*frame, kInternal, error.what());
  }
}

const ForeignCalls& calls_of_core() {
  const py::capsule capsule = py::module_::import("gatherscatter._core").attr("foreign_calls");
  const char* const name = capsule.name();
  const auto* const found = name != nullptr && std::strcmp(name, kForeignCallsName) == 0
                                ? capsule.get_pointer<const ForeignCalls>()
                                : nullptr;
  if (found == nullptr || found->layout != foreign_layout()) {
    throw py::import_error(
        "gatherscatter._jax and gatherscatter._core were built from different sources; reinstall gatherscatter");
  }
  return *found;
}

}  // namespace
}  // namespace gs

PYBIND11_MODULE(_jax, module) {
  gs::calls = &gs::calls_of_core();
  gs::FfiHandler* const handler = gs::handle;
  module.attr("handler") = py::capsule(reinterpret_cast<void*>(handler));
  module.attr("version") = py::make_tuple(gs::kFfiMajor, gs::kFfiMinor);
}

// call_frame.h: reads the frame of a call of XLA: the request in its attributes, and views of its buffers.
#pragma once

#include <string>

#include "calls/views.h"
#include "jax/ffi_abi.h"

namespace gs {

// What one handler does with its buffers.
enum class FfiOperation : uint8_t {
  gather,      // input, indices, mask, fill value
  accumulate,  // source, indices, mask: the sums of the source, starting from zeros
  scatter,     // input, source, indices, mask; the result shares the memory of the input
};

// A call as the frame describes it. The frame must outlive it.
struct FrameCall {
  std::string op;
  Request request;
  Views views;
  ArrayView result;
  bool holds_input = false;
};

// Throws std::invalid_argument for a frame that gatherscatter's own lowering has not made.
FrameCall read_frame(const FfiCallFrame& frame);

}  // namespace gs

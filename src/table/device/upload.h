// upload.h: copies tables from host memory to a GPU.
#pragma once

#include "table/device/device_context.h"

namespace gs::table {

// Returns a copy of the frame in memory that the context's machine reaches. Throws InvalidArgument for a table that
// lies on another GPU, DataTypeError for types that the kernels do not support.
Frame upload(const DeviceContext& context, const Frame& frame);

}  // namespace gs::table

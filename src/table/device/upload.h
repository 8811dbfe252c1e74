// upload.h: tables of the host copied to a GPU.
#pragma once

#include "table/device/device_context.h"

namespace gs::table {

// The same rows where the worker's machine reaches them. InvalidArgument for a table that lies on another GPU,
// DataTypeError for types that kernels do not take.
Frame upload(const DeviceContext& worker, const Frame& frame);

}  // namespace gs::table

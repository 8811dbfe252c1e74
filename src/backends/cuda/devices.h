// devices.h: the GPUs that CUDA reaches, as the core asks for them.
#pragma once

#include "backends/devices.h"

namespace gs::cuda {

const Devices& devices();

}  // namespace gs::cuda

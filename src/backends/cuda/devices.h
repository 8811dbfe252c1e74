// devices.h: offers the GPUs of the CUDA driver to the core.
#pragma once

#include "backends/devices.h"

namespace gs::cuda {

const Devices& devices();

}  // namespace gs::cuda

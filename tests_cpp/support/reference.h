// reference.h: makes the reference backend, which runs device kernels on the CPU, available to tests that include it.
#pragma once

#include "backends/device/queue.h"
#include "backends/reference/host_machine.h"
#include "backends/reference/reference_backend.h"

namespace gs::test {

inline const bool reference_is_ready = (reference::run_on(reference::devices()), true);

}  // namespace gs::test

// reference_backend.h: the backend of GS_BACKEND=reference, which runs device kernels on the CPU.
#pragma once

namespace gs {
class Devices;
}

namespace gs::reference {

// Sets the devices whose machine runs the kernels of GS_BACKEND=reference. Call it before the first call of an
// operator.
void run_on(const Devices& devices);

}  // namespace gs::reference

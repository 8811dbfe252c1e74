// reference_backend.h: the reference backend (GS_BACKEND=reference), which runs kernel bodies on the CPU.
#pragma once

namespace gs {
class Devices;
}

namespace gs::reference {

// Sets the devices whose machine runs the kernel bodies of the reference backend. Must be called before the first
// operator.
void run_on(const Devices& devices);

}  // namespace gs::reference

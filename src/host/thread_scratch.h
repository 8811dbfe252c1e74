// thread_scratch.h: memory of each thread for the private arrays of a kernel, which are too long for a small stack: a
// thread may have 64 KiB, and Python may call from the end of a deep recursion.
#pragma once

#include <cstddef>

namespace gs::host {

inline constexpr std::size_t kScratchBytes = 64 * 1024;

// The scratch of the calling thread, aligned to 64 bytes, with unspecified contents. It is allocated once for each
// thread, which keeps it until it ends. A function that uses it calls no other one that does. Throws std::bad_alloc,
// before anything is written.
std::byte* thread_scratch();

}  // namespace gs::host

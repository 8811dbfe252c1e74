// huge_pages.h: asks the system for huge pages behind memory that is about to be written for the first time.
#pragma once

#include <cstddef>

namespace gs::host {

inline constexpr std::size_t kHugePage = std::size_t{2} << 20;  // bytes

// A hint for the huge pages that lie in this memory as a whole: the system may ignore it, and it changes no values. A
// fault gives 2 MiB instead of 4 KiB then. Any thread may give it, for memory of any allocator.
void prefer_huge_pages(void* memory, std::size_t bytes) noexcept;

}  // namespace gs::host

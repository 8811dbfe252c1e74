// zero_pages.h: clears memory of which little was written, page by page.
#pragma once

#include <cstddef>

namespace gs::host {

// Makes memory of malloc or calloc zero. Its whole pages go back to the system, which gives zeroed ones for those that
// are touched again, so that the cost is that of the pages, not of the bytes.
void zero_pages(void* memory, std::size_t bytes) noexcept;

}  // namespace gs::host

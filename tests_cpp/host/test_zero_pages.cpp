// test_zero_pages.cpp: memory is zero afterwards, and nothing around it is.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "catch.h"
#include "host/zero_pages.h"

using namespace gs::host;

namespace {

const auto kPage = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));

// Whether the page of an address is in memory.
bool is_resident(const std::byte* address) {
  unsigned char state = 0;
  const auto page = reinterpret_cast<std::uintptr_t>(address) / kPage * kPage;
  REQUIRE(mincore(reinterpret_cast<void*>(page), kPage, &state) == 0);
  return (state & 1) != 0;
}

bool all_are(const std::byte* begin, const std::byte* end, std::byte value) {
  return std::all_of(begin, end, [&](std::byte byte) { return byte == value; });
}

}  // namespace

TEST_CASE("memory becomes zero up to its ends, and no byte around it does") {
  const std::size_t total = 8 * kPage;
  auto* const memory = static_cast<std::byte*>(std::aligned_alloc(kPage, total));
  REQUIRE(memory != nullptr);
  for (const std::size_t begin : {std::size_t{0}, std::size_t{1}, kPage - 1, kPage, kPage + 7}) {
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, kPage - 1, kPage, 2 * kPage - 1, 5 * kPage + 3}) {
      std::memset(memory, 0xff, total);
      zero_pages(memory + begin, bytes);
      INFO(bytes << " bytes from " << begin);
      REQUIRE(all_are(memory, memory + begin, std::byte{0xff}));
      REQUIRE(all_are(memory + begin, memory + begin + bytes, std::byte{0}));
      REQUIRE(all_are(memory + begin + bytes, memory + total, std::byte{0xff}));
    }
  }
  std::free(memory);
}

TEST_CASE("whole pages are not in memory until they are touched again, and locked ones are cleared in place") {
  const std::size_t total = 4 * kPage;
  void* const mapped = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(mapped != MAP_FAILED);
  auto* const memory = static_cast<std::byte*>(mapped);
  std::memset(memory, 0xff, total);
  zero_pages(memory, 2 * kPage + 1);
  REQUIRE_FALSE(is_resident(memory));
  REQUIRE_FALSE(is_resident(memory + kPage));
  REQUIRE(is_resident(memory + 2 * kPage));
  REQUIRE(all_are(memory, memory + 2 * kPage + 1, std::byte{0}));

  std::memset(memory, 0xff, total);
  if (mlock(memory, total) == 0) {
    zero_pages(memory, total);
    REQUIRE(all_are(memory, memory + total, std::byte{0}));
    munlock(memory, total);
  } else {
    WARN("skipped: memory cannot be locked");
  }
  munmap(mapped, total);
}

// test_zero_pages.cpp: all bytes are zero at first and after a clear, and pages that were not touched are not in
// memory.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>

#include "catch.h"
#include "host/zero_pages.h"

using namespace gs::host;

namespace {

const auto kPage = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));

// Whether the page that begins at an address is in memory.
bool is_resident(std::byte* page) {
  unsigned char state = 0;
  REQUIRE(mincore(page, kPage, &state) == 0);
  return (state & 1) != 0;
}

bool all_are_zero(const std::byte* begin, std::size_t bytes) {
  return std::all_of(begin, begin + bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

}  // namespace

TEST_CASE("all bytes are zero, also after they were written and cleared") {
  for (const std::size_t bytes : {std::size_t{1}, kPage - 1, kPage, kPage + 1, 5 * kPage + 3}) {
    ZeroPages pages(bytes);
    INFO(bytes << " bytes");
    for (int round = 0; round < 3; ++round) {
      REQUIRE(all_are_zero(pages.data(), bytes));
      std::memset(pages.data(), 0xff, bytes);
      pages.clear();
    }
  }
}

TEST_CASE("cleared pages are not in memory until they are touched again") {
  ZeroPages pages(3 * kPage);
  std::byte* const first = pages.data();
  REQUIRE_FALSE(is_resident(first));
  std::memset(first, 0xff, 2 * kPage);
  REQUIRE(is_resident(first));
  REQUIRE(is_resident(first + kPage));
  REQUIRE_FALSE(is_resident(first + 2 * kPage));
  pages.clear();
  REQUIRE_FALSE(is_resident(first));
  REQUIRE_FALSE(is_resident(first + kPage));
  REQUIRE(all_are_zero(first, 3 * kPage));
}

TEST_CASE("pages that are locked in memory are cleared in place") {
  ZeroPages pages(kPage);
  std::memset(pages.data(), 0xff, kPage);
  if (mlock(pages.data(), kPage) != 0) {
    WARN("skipped: memory cannot be locked");
    return;
  }
  pages.clear();
  REQUIRE(all_are_zero(pages.data(), kPage));
  munlock(pages.data(), kPage);
}

TEST_CASE("more bytes than there are addresses are bad_alloc") {
  REQUIRE_THROWS_AS(ZeroPages(SIZE_MAX / 2), std::bad_alloc);
}

// test_huge_pages.cpp: the hint for huge pages covers whole huge pages of a range, and no memory around it.
#include <sys/mman.h>

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

#include "catch.h"
#include "host/huge_pages.h"

using namespace gs::host;

namespace {

constexpr std::uintptr_t kHuge = std::uintptr_t{2} << 20;

// Whether the mapping of an address is advised as huge pages ("hg" among its flags).
bool is_advised(std::uintptr_t address) {
  std::ifstream maps("/proc/self/smaps");
  bool is_here = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    std::istringstream words(line);
    if (words >> std::hex >> begin >> dash >> end && dash == '-') is_here = begin <= address && address < end;
    if (is_here && line.rfind("VmFlags:", 0) == 0) return (line + " ").find(" hg ") != std::string::npos;
  }
  return false;
}

}  // namespace

TEST_CASE("huge pages are asked for where they lie in a range as a whole") {
  if (!std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled")) {
    WARN("skipped: the system has no transparent huge pages");
    return;
  }
  constexpr std::size_t kBytes = 6 * kHuge;
  void* const mapped = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(mapped != MAP_FAILED);
  const std::uintptr_t first = (reinterpret_cast<std::uintptr_t>(mapped) + kHuge - 1) / kHuge * kHuge;
  prefer_huge_pages(reinterpret_cast<void*>(first + 1), kHuge);  // no huge page as a whole
  prefer_huge_pages(nullptr, 0);
  REQUIRE_FALSE(is_advised(first));
  REQUIRE_FALSE(is_advised(first + kHuge));
  prefer_huge_pages(reinterpret_cast<void*>(first + 64), 3 * kHuge);
  REQUIRE_FALSE(is_advised(first));
  REQUIRE(is_advised(first + kHuge));
  REQUIRE(is_advised(first + 3 * kHuge - 1));
  REQUIRE_FALSE(is_advised(first + 3 * kHuge));
  munmap(mapped, kBytes);
}

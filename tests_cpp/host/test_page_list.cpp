// test_page_list.cpp: the pages that are counted, and those that the system reads, compared with sets of page numbers.
#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include "host/page_list.h"
#include "mapped_file.h"

using namespace gs::host;
using gs::test::kFilePage;
using gs::test::MappedFile;

namespace {

constexpr int64_t kAnyAmount = INT64_MAX;

bool stops() {
  return true;
}

// The pages of a file that become resident within some seconds.
bool becomes(const MappedFile& file, const std::vector<int64_t>& pages) {
  for (int tries = 0; tries < 500; ++tries) {
    if (file.resident() == pages) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

}  // namespace

TEST_CASE("every page that a byte lies in is wanted once") {
  const std::vector<std::byte> memory(static_cast<std::size_t>(1000 * kFilePage));
  const std::byte* const first = memory.data() + 100;
  PageList list(first, 900 * kFilePage, kAnyAmount);
  const auto page_of = [&](int64_t offset) {
    return static_cast<int64_t>(reinterpret_cast<uintptr_t>(first + offset) / kFilePage);
  };
  std::set<int64_t> expected;
  uint64_t state = 7;
  for (int round = 0; round < 300; ++round) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const auto offset = static_cast<int64_t>((state >> 20) % (800 * kFilePage));
    const auto bytes = static_cast<int64_t>((state >> 8) % 7 == 0 ? (state >> 40) % (90 * kFilePage) : state >> 61);
    list.add(first + offset, bytes);
    for (int64_t page = page_of(offset); bytes > 0 && page <= page_of(offset + bytes - 1); ++page) {
      expected.insert(page);
    }
    REQUIRE(list.wanted() == static_cast<int64_t>(expected.size()));
  }
}

TEST_CASE("threads may add pages at the same time") {
  const std::vector<std::byte> memory(static_cast<std::size_t>(4096 * kFilePage));
  PageList list(memory.data(), 4096 * kFilePage, kAnyAmount);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int64_t page = 0; page < 4000; ++page) list.add(memory.data() + page * kFilePage, 1);
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(list.wanted() == 4000);
}

TEST_CASE("the wanted pages are read, and no others") {
  const MappedFile file(1024 * kFilePage);
  if (!file.drop()) {
    WARN("skipped: this file system keeps its pages in memory");
    return;
  }
  PageList list(file.data(), file.bytes(), kAnyAmount);
  std::vector<int64_t> expected = {0, 5, 6, 7, 63, 64, 1023};
  for (const int64_t page : {1023, 6, 5, 0, 7, 64, 63, 6}) list.add(file.data() + page * kFilePage + 17, 1);
  for (int64_t page = 300; page < 380; ++page) expected.insert(expected.end() - 1, page);  // longer than one request
  list.add(file.data() + 300 * kFilePage, 80 * kFilePage);
  REQUIRE_FALSE(list.is_dense());
  REQUIRE(list.bytes() == static_cast<int64_t>(expected.size()) * kFilePage);
  REQUIRE(list.request(nullptr));
  REQUIRE(becomes(file, expected));
}

TEST_CASE("a file of which more than an eighth is wanted is read from front to back, if that fits") {
  const MappedFile file(1024 * kFilePage);
  if (!file.drop()) {
    WARN("skipped: this file system keeps its pages in memory");
    return;
  }
  for (const bool fits : {false, true}) {
    PageList list(file.data(), file.bytes(), fits ? file.bytes() : file.bytes() - 1);
    std::vector<int64_t> expected;
    for (int64_t page = 0; page < 1024; page += 7) {
      list.add(file.data() + page * kFilePage, 1);
      expected.push_back(page);
    }
    REQUIRE(list.is_dense() == fits);
    REQUIRE(list.bytes() == (fits ? file.bytes() : static_cast<int64_t>(expected.size()) * kFilePage));
    REQUIRE(list.request(nullptr));
    if (fits) {
      expected.clear();
      for (int64_t page = 0; page < 1024; ++page) expected.push_back(page);
    }
    REQUIRE(becomes(file, expected));
  }
}

TEST_CASE("a request ends when it is told to") {
  const std::vector<std::byte> memory(static_cast<std::size_t>(1 << 20));
  PageList list(memory.data(), 1 << 20, kAnyAmount);
  list.add(memory.data(), 1);
  REQUIRE(list.request(nullptr));
  REQUIRE(list.request(stops));  // a request that takes less than the time between two polls does not poll
}

TEST_CASE("the budget is a part of the memory of this machine") {
  REQUIRE(page_budget() > 0);
  REQUIRE(page_budget() < int64_t{1} << 50);
}

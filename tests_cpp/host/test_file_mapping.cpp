// test_file_mapping.cpp: mappings of the process and of given texts, files that shrink, and pages that are not in
// memory.
#include <sys/stat.h>

#include <thread>

#include "core/error.h"
#include "host/file_mapping.h"
#include "mapped_file.h"

using namespace gs;
using namespace gs::host;
using gs::test::MappedFile;

namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

uintptr_t number(const std::byte* address) {
  return reinterpret_cast<uintptr_t>(address);
}

}  // namespace

TEST_CASE("a mapping is found in the text of /proc/self/maps") {
  const std::string maps =
      "00400000-00500000 r--p 00000000 00:00 0 \n"
      "7f0000000000-7f0000400000 r--s 00001000 fe:01 4711                       /data/my file.npy\n"
      "7f0000400000-7f0000500000 rw-p 00000000 00:00 0                          [heap]\n";
  const MemoryMapping file = mapping_in(maps, 0x7f0000001000);
  REQUIRE(file.begin == 0x7f0000000000);
  REQUIRE(file.end == 0x7f0000400000);
  REQUIRE(file.offset == 0x1000);
  REQUIRE(file.inode == 4711);
  REQUIRE(file.path == "/data/my file.npy");
  REQUIRE(file.is_file());
  REQUIRE_FALSE(mapping_in(maps, 0x7f0000400000).is_file());
  REQUIRE(mapping_in(maps, 0x7f00003fffff).is_file());
  const MemoryMapping gap = mapping_in(maps, 0x00500000);
  REQUIRE_FALSE(gap.is_file());
  REQUIRE(gap.holds(0x00500000));
  REQUIRE(gap.end == 0x7f0000000000);
  REQUIRE_FALSE(mapping_in(maps, 0x7f0000500000).is_file());
  REQUIRE_FALSE(mapping_in("", 1).is_file());
  REQUIRE_FALSE(mapping_in("nonsense\n", 1).is_file());
}

TEST_CASE("mappings of this process are found by the query and in the text") {
  const MappedFile file(4 * kMiB);
  const std::byte* const inside = file.data() + kMiB + 5;
  struct stat facts{};
  REQUIRE(stat(file.path().c_str(), &facts) == 0);
  std::string maps;
  {
    std::ifstream stream("/proc/self/maps");
    maps.assign(std::istreambuf_iterator<char>(stream), {});
  }
  for (const MemoryMapping& mapping : {mapping_at(inside), mapping_in(maps, number(inside))}) {
    REQUIRE(mapping.begin == number(file.data()));
    REQUIRE(mapping.end == number(file.data() + file.bytes()));
    REQUIRE(mapping.inode == facts.st_ino);
    REQUIRE(mapping.path == file.path());
    REQUIRE(mapping.offset == 0);
  }
  const std::vector<std::byte> memory(static_cast<std::size_t>(kMiB));
  REQUIRE_FALSE(mapping_at(memory.data()).is_file());
}

TEST_CASE("a lookup is kept for a moment") {
  forget_mappings();
  const MappedFile file(kMiB);
  const KnownMapping& known = known_mapping(file.data());
  REQUIRE(known.mapping.is_file());
  REQUIRE(known.file_bytes == kMiB);
  const int64_t looked_up = known.looked_up;
  REQUIRE(known_mapping(file.data() + 4096).looked_up == looked_up);
  std::this_thread::sleep_for(std::chrono::nanoseconds(2 * kKnownFor));
  REQUIRE(known_mapping(file.data()).looked_up > looked_up);
}

TEST_CASE("a file that has become too short is an error that names it") {
  const MappedFile file(4 * kMiB);
  forget_mappings();
  check_length(known_mapping(file.data()), file.data(), file.bytes());
  file.truncate(2 * kMiB);
  forget_mappings();
  const KnownMapping& known = known_mapping(file.data());
  check_length(known, file.data(), 2 * kMiB);
  REQUIRE_THROWS_AS(check_length(known, file.data(), 2 * kMiB + 1), FileError);
  try {
    check_length(known, file.data() + kMiB, 3 * kMiB);
  } catch (const FileError& error) {
    const std::string words = error.what();
    REQUIRE(words.find("'" + file.path() + "' has 2097152 bytes") != std::string::npos);
    REQUIRE(words.find("up to byte 4194304") != std::string::npos);
  }
}

TEST_CASE("a file whose name is gone is found by a descriptor that is open") {
  const MappedFile file(kMiB);
  REQUIRE(unlink(file.path().c_str()) == 0);
  forget_mappings();
  const KnownMapping& known = known_mapping(file.data());
  REQUIRE(known.mapping.is_file());
  REQUIRE(known.file_bytes == file.bytes());
  check_length(known, file.data(), file.bytes());
  file.truncate(kMiB / 2);
  forget_mappings();
  REQUIRE_THROWS_AS(check_length(known_mapping(file.data()), file.data(), file.bytes()), FileError);
}

TEST_CASE("one page that is absent makes a file cold, and none makes it resident for a moment") {
  for (const bool tells : {true, false}) {
    const MappedFile file(64 * kMiB);
    if (!file.drop()) {
      WARN("skipped: this file system keeps its pages in memory");
      return;
    }
    const std::byte* addresses[kSampledPages];
    for (int i = 0; i < kSampledPages; ++i) addresses[i] = file.data() + i * kMiB + 7;
    forget_mappings();
    KnownMapping& known = known_mapping(file.data());
    REQUIRE(known.tells_residency);  // the file is ours
    known.tells_residency = tells;
    REQUIRE(known.may_be_cold());
    REQUIRE(is_cold(known, addresses, kSampledPages));
    if (tells) REQUIRE(file.resident().empty());
    REQUIRE_FALSE(is_cold(known, addresses, 0));
    REQUIRE(known.may_be_cold());
    for (int i = 0; i + 1 < kSampledPages; ++i)
      static_cast<void>(*static_cast<const volatile std::byte*>(addresses[i]));
    if (tells && file.resident().back() < 63 * kMiB / 4096) REQUIRE(is_cold(known, addresses, kSampledPages));
    static_cast<void>(*static_cast<const volatile std::byte*>(addresses[kSampledPages - 1]));
    REQUIRE_FALSE(is_cold(known, addresses, kSampledPages));
    REQUIRE_FALSE(known.may_be_cold());
    std::this_thread::sleep_for(std::chrono::nanoseconds(2 * kKnownFor));
    REQUIRE(known.may_be_cold());
  }
}

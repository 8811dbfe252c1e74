// file_mapping.cpp: looks up mappings of this process and counts page faults of this thread.
#include "host/file_mapping.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <ctime>

#include "core/error.h"
#include "host/settings.h"

namespace gs::host {
namespace {

// The query of one mapping that Linux 6.11 and later answer on /proc/self/maps (PROCMAP_QUERY in linux/fs.h).
struct MapQuery {
  uint64_t size = sizeof(MapQuery);
  uint64_t flags = 0x10;  // the mapping that holds the address, else the next one
  uint64_t address = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t access = 0;
  uint64_t page = 0;
  uint64_t offset = 0;
  uint64_t inode = 0;
  uint32_t device_major = 0;
  uint32_t device_minor = 0;
  uint32_t name_size = 0;
  uint32_t build_id_size = 0;
  uint64_t name = 0;
  uint64_t build_id = 0;
};
constexpr unsigned long kMapQuery = _IOWR('f', 17, MapQuery);
constexpr std::size_t kMostPath = 4096;

bool query(uintptr_t address, MemoryMapping& mapping) {
  const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  std::array<char, kMostPath> name;
  name[0] = '\0';
  MapQuery request;
  request.address = address;
  request.name = reinterpret_cast<uint64_t>(name.data());
  request.name_size = kMostPath;
  const int failed = ioctl(file, kMapQuery, &request);
  close(file);
  if (failed != 0) return false;
  if (request.begin > address) {
    mapping = {address, request.begin, 0, 0, 0, ""};
    return true;
  }
  mapping = {request.begin,
             request.end,
             static_cast<int64_t>(request.offset),
             makedev(request.device_major, request.device_minor),
             request.inode,
             name.data()};
  return true;
}

int64_t now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// The mappings of a thread that were looked up last.
struct KnownMappings {
  std::array<KnownMapping, 8> entries;
  std::size_t next = 0;
  KnownMapping* last = &entries[0];  // the one that was asked for last
};

KnownMappings& known_of_thread() {
  thread_local KnownMappings known;
  return known;
}

bool is_file_of(const MemoryMapping& mapping, const struct stat& file) {
  return S_ISREG(file.st_mode) && file.st_dev == mapping.device && file.st_ino == mapping.inode;
}

// Finds the file among the open ones of this process: mmap of Python, numpy.memmap and pyarrow keep a descriptor.
bool is_open(const MemoryMapping& mapping, struct stat& file) {
  DIR* const folder = opendir("/proc/self/fd");
  if (folder == nullptr) return false;
  bool found = false;
  while (const dirent* entry = found ? nullptr : readdir(folder)) {
    int descriptor = -1;
    found = std::sscanf(entry->d_name, "%d", &descriptor) == 1 && fstat(descriptor, &file) == 0 &&
            is_file_of(mapping, file);
  }
  closedir(folder);
  return found;
}

// The state of the file of a mapping. A file that was removed or replaced, or never had a path, is found by the
// addresses of the mapping, which takes a capability, or by a descriptor.
bool find_file(const MemoryMapping& mapping, struct stat& file) {
  if (stat(mapping.path.c_str(), &file) == 0 && is_file_of(mapping, file)) return true;
  std::array<char, 64> name;
  std::snprintf(name.data(), name.size(), "/proc/self/map_files/%" PRIxPTR "-%" PRIxPTR, mapping.begin, mapping.end);
  return (stat(name.data(), &file) == 0 && is_file_of(mapping, file)) || is_open(mapping, file);
}

void look_at_file(KnownMapping& known) {
  const MemoryMapping& mapping = known.mapping;
  struct stat file{};
  if (!mapping.is_file() || !find_file(mapping, file)) return;
  known.file_bytes = file.st_size;
  known.tells_residency = file.st_uid == geteuid() || access(mapping.path.c_str(), W_OK) == 0;
}

bool any_absent(const std::byte* const* addresses, int count) {
  static const auto kPage = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  return std::any_of(addresses, addresses + count, [](const std::byte* address) {
    unsigned char state = 1;
    mincore(reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(address) & ~(kPage - 1)), 1, &state);
    return (state & 1) == 0;
  });
}

// The byte of the file behind the last byte of [first, first + bytes).
int64_t reach_of(const MemoryMapping& mapping, const std::byte* first, int64_t bytes) {
  const uintptr_t end = std::min(reinterpret_cast<uintptr_t>(first) + static_cast<uintptr_t>(bytes), mapping.end);
  return mapping.offset + static_cast<int64_t>(end - mapping.begin);
}

bool reaches(const KnownMapping& known, const std::byte* first, int64_t bytes) {
  return known.file_bytes < 0 || reach_of(known.mapping, first, bytes) <= known.file_bytes;
}

// The page faults for which this thread had to wait.
int64_t slow_faults() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_majflt;
}

bool any_waits(const std::byte* const* addresses, int count) {
  const int64_t before = slow_faults();
  int64_t after = before;
  for (int i = 0; i < count && after == before; ++i) {
    static_cast<void>(*static_cast<const volatile std::byte*>(addresses[i]));
    if (i % 8 == 0 || i + 1 == count) after = slow_faults();
  }
  return after != before;
}

}  // namespace

MemoryMapping mapping_in(const std::string& maps, uintptr_t address) {
  for (std::size_t at = 0; at < maps.size();) {
    const std::size_t line_end = std::min(maps.find('\n', at), maps.size());
    const std::string line = maps.substr(at, line_end - at);
    at = line_end + 1;
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t offset = 0;
    uint64_t inode = 0;
    unsigned device_major = 0;
    unsigned device_minor = 0;
    int path = 0;
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %x:%x %" SCNu64 " %n", &begin, &end, &offset,
                    &device_major, &device_minor, &inode, &path) < 6) {
      continue;
    }
    if (end <= address) continue;
    if (begin > address) return {address, begin, 0, 0, 0, ""};
    return {begin,
            end,
            static_cast<int64_t>(offset),
            makedev(device_major, device_minor),
            inode,
            line.substr(static_cast<std::size_t>(path))};
  }
  return {address, UINTPTR_MAX, 0, 0, 0, ""};
}

MemoryMapping mapping_at(const std::byte* address) {
  MemoryMapping mapping;
  const auto at = reinterpret_cast<uintptr_t>(address);
  return query(at, mapping) ? mapping : mapping_in(read_file("/proc/self/maps"), at);
}

bool KnownMapping::may_be_cold() const {
  return mapping.is_file() && now() >= resident_until;
}

KnownMapping& known_mapping(const std::byte* address) {
  KnownMappings& known = known_of_thread();
  const auto at = reinterpret_cast<uintptr_t>(address);
  const int64_t time = now();
  if (known.last->mapping.holds(at) && time - known.last->looked_up < kKnownFor) return *known.last;
  KnownMapping* place = nullptr;
  for (KnownMapping& entry : known.entries) {
    if (!entry.mapping.holds(at)) continue;
    if (time - entry.looked_up < kKnownFor) return *(known.last = &entry);
    place = &entry;
  }
  if (place == nullptr) place = &known.entries[known.next++ % known.entries.size()];
  *place = {};
  place->mapping = mapping_at(address);
  place->looked_up = time;
  look_at_file(*place);
  return *(known.last = place);
}

void forget_mappings() {
  for (KnownMapping& entry : known_of_thread().entries) entry = {};
}

void check_length(const KnownMapping& before, const std::byte* first, int64_t bytes) {
  if (reaches(before, first, bytes)) return;
  forget_mappings();  // it may be another file by now, or have its length again
  const KnownMapping& known = known_mapping(first);
  if (reaches(known, first, bytes)) return;
  throw FileError("the file '" + known.mapping.path + "' has " + std::to_string(known.file_bytes) +
                  " bytes, but the array is mapped from it up to byte " +
                  std::to_string(reach_of(known.mapping, first, bytes)) +
                  ": the file was truncated after it was mapped");
}

bool is_cold(KnownMapping& known, const std::byte* const* addresses, int count) {
  const bool any = known.tells_residency ? any_absent(addresses, count) : any_waits(addresses, count);
  if (!any && count > 0) known.resident_until = now() + kKnownFor;
  return any;
}

}  // namespace gs::host

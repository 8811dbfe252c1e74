// file_mapping.h: answers whether memory is a mapped file, and whether the pages that a call reads are in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace gs::host {

// Smaller operands are never looked up: a call of them makes no system call.
inline constexpr int64_t kLeastMappedBytes = int64_t{64} << 20;

// A mapping of the address space of this process: the addresses [begin, end).
struct MemoryMapping {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  int64_t offset = 0;  // in the file, of `begin`
  uint64_t device = 0;
  uint64_t inode = 0;  // 0: memory without a file
  std::string path;

  bool is_file() const { return inode != 0; }
  bool holds(uintptr_t address) const { return begin <= address && address < end; }
};

// The mapping that holds an address. If none does, one without a file that ends where the next one begins.
MemoryMapping mapping_at(const std::byte* address);
// The same from the text of /proc/self/maps.
MemoryMapping mapping_in(const std::string& maps, uintptr_t address);

// A mapping as a thread saw it at most kKnownFor ago. Advice about memory that is no file any more does nothing, and an
// error for a file that is too short is preceded by another look.
inline constexpr int64_t kKnownFor = 50'000'000;  // ns
struct KnownMapping {
  MemoryMapping mapping;
  int64_t file_bytes = -1;       // the size of the file; -1: there is none, or it has no path or descriptor
  bool tells_residency = false;  // the system tells those who may write a file which of its pages are in memory
  int64_t looked_up = 0;         // ns
  int64_t resident_until = 0;

  // Whether the pages that a call reads may not be in memory.
  bool may_be_cold() const;
};

// The mapping that holds an address. Lookups are kept for the range of the mapping, by each thread; the reference is
// valid until the thread calls this again.
KnownMapping& known_mapping(const std::byte* address);
void forget_mappings();  // those of the calling thread

// Throws FileError if the file no longer reaches the end of [first, first + bytes): an access would end the process.
void check_length(const KnownMapping& known, const std::byte* first, int64_t bytes);

// Whether the page of one of `count` addresses is not in memory. Where the system does not tell, reads a byte of each
// up to the first one for which the thread had to wait. If there is none, the mapping is taken to be resident for
// kKnownFor.
inline constexpr int kSampledPages = 64;
bool is_cold(KnownMapping& known, const std::byte* const* addresses, int count);

}  // namespace gs::host

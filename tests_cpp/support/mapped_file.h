// mapped_file.h: a sparse file that is mapped, whose pages a test can drop from memory and look at.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "temporary_folder.h"

namespace gs::test {

inline constexpr int64_t kFilePage = 4096;

class MappedFile {
 public:
  explicit MappedFile(int64_t bytes, bool is_shared = true) : bytes_(bytes) {
    file_ = open(path().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    REQUIRE(file_ >= 0);
    truncate(bytes);
    void* const data = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                            is_shared ? MAP_SHARED : MAP_PRIVATE, file_, 0);
    REQUIRE(data != MAP_FAILED);
    data_ = static_cast<std::byte*>(data);
  }
  ~MappedFile() {
    munmap(data_, static_cast<std::size_t>(bytes_));
    close(file_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  std::string path() const { return folder_.path("data"); }
  void truncate(int64_t bytes) const { REQUIRE(ftruncate(file_, bytes) == 0); }
  void write(int64_t offset, const void* from, std::size_t bytes) const {
    REQUIRE(pwrite(file_, from, bytes, offset) == static_cast<ssize_t>(bytes));
  }

  // Drops all pages from memory. Returns false on file systems that keep them, such as tmpfs.
  bool drop() const {
    madvise(data_, static_cast<std::size_t>(bytes_), MADV_DONTNEED);
    REQUIRE(fsync(file_) == 0);
    posix_fadvise(file_, 0, 0, POSIX_FADV_DONTNEED);
    return resident().empty();
  }
  // The pages that are in memory, once all requests have been served.
  std::vector<int64_t> resident() const {
    std::vector<unsigned char> states(static_cast<std::size_t>((bytes_ + kFilePage - 1) / kFilePage));
    REQUIRE(mincore(data_, static_cast<std::size_t>(bytes_), states.data()) == 0);
    std::vector<int64_t> pages;
    for (std::size_t page = 0; page < states.size(); ++page) {
      if ((states[page] & 1) != 0) pages.push_back(static_cast<int64_t>(page));
    }
    return pages;
  }

 private:
  TemporaryFolder folder_;
  int64_t bytes_;
  int file_ = -1;
  std::byte* data_ = nullptr;
};

}  // namespace gs::test

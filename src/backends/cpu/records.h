// records.h: memory for what a reduction keeps of its targets.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <new>

#include "host/memory_pool.h"

namespace gs::cpu {

// If few records will be used, the memory is zeroed pages of the system, which cost nothing until they are touched;
// otherwise recycled memory, which is not initialised.
class Records {
 public:
  Records(int64_t bytes, bool zeroed) : recycled_(!zeroed) {
    const auto size = static_cast<std::size_t>(bytes);
    data_ = static_cast<std::byte*>(recycled_ ? host::allocate(size) : std::calloc(size, 1));
    if (data_ == nullptr) throw std::bad_alloc();
  }
  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;
  ~Records() {
    if (recycled_) {
      host::release(data_);
    } else {
      std::free(data_);
    }
  }
  std::byte* data() const { return data_; }

 private:
  bool recycled_;
  std::byte* data_;
};

}  // namespace gs::cpu

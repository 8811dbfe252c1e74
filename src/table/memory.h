// memory.h: memory for buffers of results, and for what only lives during a call.
#pragma once

#include <cstring>
#include <utility>

#include "backends/host_memory.h"
#include "table/array.h"
#include "table/load.h"

namespace gs::table {

// A buffer that is being written. Aligned to lines and a whole number of them long, so that whole words may be written
// at its end.
struct Fresh {
  Buffer buffer;
  std::byte* data = nullptr;
};
Fresh allocate(int64_t bytes);
Fresh allocate_zeros(int64_t bytes);

template <class T>
class Scratch {
 public:
  Scratch() = default;
  explicit Scratch(int64_t count)
      : data_(static_cast<T*>(host::allocate(static_cast<std::size_t>(count + 1) * sizeof(T)))) {}
  Scratch(Scratch&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  Scratch& operator=(Scratch&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  ~Scratch() {
    if (data_ != nullptr) host::release(data_);
  }
  T* get() const { return data_; }
  T& operator[](int64_t i) const { return data_[i]; }

 private:
  T* data_ = nullptr;
};

// Asks for a line. The empty statement keeps the compiler from taking a function that does only this for one without
// effects, and dropping its calls.
inline void ask(const void* address) {
  asm volatile("");
  __builtin_prefetch(address, 0, 2);
}
inline void ask(uintptr_t address) {
  ask(reinterpret_cast<const void*>(address));
}

template <class T>
inline void store(std::byte* target, int64_t i, T value) {
  std::memcpy(target + i * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

}  // namespace gs::table

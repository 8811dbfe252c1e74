// scratch.h: owns memory of the pool for the duration of a call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "host/memory_pool.h"

namespace gs::host {

// Owns uninitialised memory for `count` values.
template <class T>
class Scratch {
 public:
  Scratch() = default;
  explicit Scratch(int64_t count) : data_(static_cast<T*>(allocate(bytes_for(count)))) {}
  Scratch(Scratch&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  Scratch& operator=(Scratch&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  ~Scratch() {
    if (data_ != nullptr) release(data_);
  }
  T* get() const { return data_; }
  T* leave() { return std::exchange(data_, nullptr); }  // to an owner that calls host::release
  T& operator[](int64_t i) const { return data_[i]; }

 private:
  static std::size_t bytes_for(int64_t count) {
    std::size_t bytes = 0;
    if (__builtin_mul_overflow(static_cast<std::size_t>(count) + 1, sizeof(T), &bytes)) throw std::bad_alloc();
    return bytes;
  }

  T* data_ = nullptr;
};

}  // namespace gs::host

// small_vector.h: a list of plain values, inline up to N entries, on the heap beyond.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <type_traits>

namespace gs {

// Plans are built on every call, so the usual case must not allocate; the rank of an array is not bounded.
template <class T, int N>
class SmallVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  SmallVector() = default;
  explicit SmallVector(int count, T value = T{}) { resize(count, value); }
  SmallVector(std::initializer_list<T> values) { append(values.begin(), static_cast<int>(values.size())); }
  SmallVector(const SmallVector& other) { append(other.begin(), other.size()); }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) {
      clear();
      append(other.begin(), other.size());
    }
    return *this;
  }

  int size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return heap_ ? heap_.get() : inline_; }
  const T* data() const { return heap_ ? heap_.get() : inline_; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](int i) { return data()[i]; }
  const T& operator[](int i) const { return data()[i]; }
  T& back() { return data()[size_ - 1]; }
  const T& back() const { return data()[size_ - 1]; }

  void clear() { size_ = 0; }
  void reserve(int count) {
    if (count <= capacity_) return;
    const int grown = std::max(count, 2 * capacity_);
    auto heap = std::make_unique<T[]>(static_cast<std::size_t>(grown));
    std::copy(begin(), end(), heap.get());
    heap_ = std::move(heap);
    capacity_ = grown;
  }
  void resize(int count, T value = T{}) {
    reserve(count);
    if (count > size_) std::fill(data() + size_, data() + count, value);
    size_ = count;
  }
  void push_back(T value) {
    reserve(size_ + 1);
    data()[size_++] = value;
  }
  void append(const T* values, int count) {
    reserve(size_ + count);
    std::copy(values, values + count, end());
    size_ += count;
  }
  void erase(int first, int count) {
    std::copy(begin() + first + count, end(), begin() + first);
    size_ -= count;
  }

  friend bool operator==(const SmallVector& a, const SmallVector& b) {
    return a.size_ == b.size_ && std::equal(a.begin(), a.end(), b.begin());
  }

 private:
  int size_ = 0;
  int capacity_ = N;
  std::unique_ptr<T[]> heap_;
  T inline_[N];  // left uninitialised: only the first size_ entries are ever read
};

// Extents, strides (bytes) or a coordinate: one number for each axis.
using Dims = SmallVector<int64_t, 8>;

}  // namespace gs

// small_vector.h: provides a vector that stores up to N trivially copyable entries inline and more on the heap.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <type_traits>

namespace gs {

// Plans are built on every call, so the usual case must not allocate; the rank of an array has no upper limit.
template <class T, int N>
class SmallVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  SmallVector() : data_(inline_) {}
  explicit SmallVector(int count, T value = T{}) : SmallVector() { resize(count, value); }
  SmallVector(std::initializer_list<T> values) : SmallVector() {
    append(values.begin(), static_cast<int>(values.size()));
  }
  SmallVector(const SmallVector& other) : SmallVector() { append(other.data_, other.size_); }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) {
      clear();
      append(other.data_, other.size_);
    }
    return *this;
  }

  int size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](int i) { return data_[i]; }
  const T& operator[](int i) const { return data_[i]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }

  void clear() { size_ = 0; }
  void reserve(int count) {
    if (count > capacity_) grow(count);
  }
  void resize(int count, T value = T{}) {
    reserve(count);
    for (int i = size_; i < count; ++i) data_[i] = value;
    size_ = count;
  }
  void push_back(T value) {
    reserve(size_ + 1);
    data_[size_++] = value;
  }
  void append(const T* values, int count) {
    reserve(size_ + count);
    for (int i = 0; i < count; ++i) data_[size_ + i] = values[i];  // few entries: a loop is cheaper than a call
    size_ += count;
  }
  void erase(int first, int count) {
    for (int i = first; i + count < size_; ++i) data_[i] = data_[i + count];
    size_ -= count;
  }

  friend bool operator==(const SmallVector& a, const SmallVector& b) {
    return a.size_ == b.size_ && std::equal(a.begin(), a.end(), b.begin());
  }

 private:
  [[gnu::noinline, gnu::cold]] void grow(int count) {
    const int grown = std::max(count, 2 * capacity_);
    auto heap = std::make_unique<T[]>(static_cast<uint32_t>(grown));
    std::copy(begin(), end(), heap.get());
    heap_ = std::move(heap);
    data_ = heap_.get();
    capacity_ = grown;
  }

  T* data_;
  int size_ = 0;
  int capacity_ = N;
  std::unique_ptr<T[]> heap_;
  T inline_[N];  // left uninitialised: only the first size_ entries are read
};

// Extents, strides in bytes, or coordinates: one number for each axis.
using Dims = SmallVector<int64_t, 8>;

}  // namespace gs

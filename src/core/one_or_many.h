// one_or_many.h: provides a vector that needs no allocation for up to one entry.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace gs {

// For the index arrays of a call, of which nearly every operator has one.
template <class T>
class OneOrMany {
 public:
  OneOrMany() = default;
  OneOrMany(const OneOrMany& other) { *this = other; }
  OneOrMany& operator=(const OneOrMany& other) {
    resize(other.size());
    std::copy(other.begin(), other.end(), begin());
    return *this;
  }
  void resize(std::size_t count) {
    count_ = count;
    if (count > 1) many_.resize(count);
  }
  std::size_t size() const { return count_; }
  T* begin() { return count_ > 1 ? many_.data() : &one_; }
  T* end() { return begin() + count_; }
  const T* begin() const { return count_ > 1 ? many_.data() : &one_; }
  const T* end() const { return begin() + count_; }
  T& operator[](std::size_t i) { return begin()[i]; }
  const T& operator[](std::size_t i) const { return begin()[i]; }

 private:
  std::size_t count_ = 0;
  T one_;
  std::vector<T> many_;
};

}  // namespace gs

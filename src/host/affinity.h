// affinity.h: the processors that a thread may use, on machines with any number of them.
#pragma once

#include <pthread.h>

#include <array>
#include <cstddef>

namespace gs::host {

class Affinity {
 public:
  // Empty where the system does not tell. Good until this thread asks again; a OneLook spares the look.
  static const Affinity& of_caller();
  int count() const;
  bool has(int processor) const;
  void remove(int processor);
  void give_to(pthread_t thread) const;  // a mask that the system refuses changes nothing
  bool operator==(const Affinity& other) const;

 private:
  using MaskWord = unsigned long;
  static constexpr std::size_t kWordBits = 8 * sizeof(MaskWord);
  static constexpr std::size_t kWords = 8192 / kWordBits;  // Linux counts no more
  std::array<MaskWord, kWords> words_ = {};
  std::size_t used_ = 0;  // words that the system knows
};

// While one lives, its thread looks at its mask once: a call counts the processors, and its tasks place their helpers.
class AffinityScope {
 public:
  AffinityScope();
  AffinityScope(const AffinityScope&) = delete;
  AffinityScope& operator=(const AffinityScope&) = delete;
  ~AffinityScope();

 private:
  bool outer_;
};

}  // namespace gs::host

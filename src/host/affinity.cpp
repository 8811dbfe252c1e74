// affinity.cpp: see affinity.h.
#include "host/affinity.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>

namespace gs::host {
namespace {

struct LatestMask {
  bool keeps = false;
  bool known = false;
  Affinity mask;
};
thread_local constinit LatestMask latest;

}  // namespace

// Not by the C library, which does not say how much of the mask was filled: most machines need one word or two.
const Affinity& Affinity::of_caller() {
  if (latest.keeps && latest.known) return latest.mask;
  Affinity& mask = latest.mask;
  const long bytes = syscall(SYS_sched_getaffinity, 0, sizeof(mask.words_), mask.words_.data());
  mask.used_ = bytes > 0 ? static_cast<std::size_t>(bytes) / sizeof(MaskWord) : 0;
  latest.known = true;
  return mask;
}

AffinityScope::AffinityScope() : outer_(latest.keeps) {
  latest.keeps = true;
  latest.known = false;
}

AffinityScope::~AffinityScope() {
  latest.keeps = outer_;
  latest.known = false;
}

int Affinity::count() const {
  int sum = 0;
  for (std::size_t i = 0; i < used_; ++i) sum += std::popcount(words_[i]);
  return sum;
}

bool Affinity::has(int processor) const {
  const auto bit = static_cast<std::size_t>(processor);
  return processor >= 0 && bit < used_ * kWordBits && ((words_[bit / kWordBits] >> (bit % kWordBits)) & 1U) != 0;
}

void Affinity::remove(int processor) {
  const auto bit = static_cast<std::size_t>(processor);
  if (has(processor)) words_[bit / kWordBits] &= ~(MaskWord{1} << (bit % kWordBits));
}

void Affinity::give_to(pthread_t thread) const {
  pthread_setaffinity_np(thread, used_ * sizeof(MaskWord), reinterpret_cast<const cpu_set_t*>(words_.data()));
}

bool Affinity::operator==(const Affinity& other) const {
  return used_ == other.used_ &&
         std::equal(words_.begin(), words_.begin() + static_cast<long>(used_), other.words_.begin());
}

}  // namespace gs::host

// attempt.cpp: decides whether a call is short enough to keep the lock.
#include "calls/attempt.h"

namespace gs {

bool keeps_lock(const Plan& plan) {
  return plan.bytes_moved() <= kKeepLockBytes && plan.index_space.count() <= kKeepLockBytes / 8;
}

Lock lock_for(const Backend& backend, const Plan& plan, int64_t bytes_written) {
  const bool keeps = !backend.is_asynchronous() && keeps_lock(plan) && bytes_written < kKeepLockBytes;
  return keeps ? Lock::kept : Lock::released;
}

}  // namespace gs

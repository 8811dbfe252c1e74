// machine.h: the interface of a machine, which runs the bodies of device kernels and allocates their memory: one stream
// of a GPU, or the emulated GPU. Work runs in the order in which it is submitted; only `read`, `read_status` and
// `synchronize` wait for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "backends/device/bodies/thread.h"

namespace gs::device {

// The GPU or its driver failed, or does not support what was submitted. The text gives the reason.
struct [[gnu::visibility("default")]] DeviceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The work was stopped because the function given to Machine::interrupt_by returned true. Thrown from one module into
// another, so its type has default visibility.
struct [[gnu::visibility("default")]] Interrupted {};

// The handle of a deferred check, by which the status of launches is read later.
class Receipt {
 public:
  virtual ~Receipt() = default;
  virtual bool is_ready() const = 0;  // whether `status` returns without waiting
  virtual Status status() = 0;        // waits
  // True for the launches of a captured graph. Each replay of the graph checks the indices again, so `status` may be
  // called again and again. It does not wait then, but covers the replays that the caller has waited for, and reports a
  // bad replay once.
  virtual bool is_lasting() const { return false; }
};

class Machine {
 public:
  virtual ~Machine() = default;

  virtual const char* name() const = 0;
  // The number of blocks of kBlockThreads threads that run at a time. In a longer grid the threads only stride less.
  virtual int64_t resident_blocks() const = 0;
  // The number of warps that keep the machine busy, if each of them has some accesses in flight; 1: they run one after
  // the other.
  virtual int64_t busy_warps() const { return 1; }

  // Sets a function that a machine which works on the calling thread polls about every 10 ms. When the function returns
  // true, the machine throws Interrupted. May be null.
  virtual void interrupt_by(bool (*)()) {}

  // Runs the body that has this number in bodies.h, with so many blocks; `body` is copied.
  virtual void launch(int kernel, int64_t blocks, const void* body, std::size_t bytes) = 0;

  // Temporary memory, 256-byte aligned, for work that is submitted between these two calls. `allocate` throws
  // std::bad_alloc.
  virtual std::byte* allocate(int64_t bytes) = 0;
  virtual void release(std::byte* memory) noexcept = 0;

  virtual void clear(void* memory, int64_t bytes) = 0;                     // sets all bytes to zero
  virtual void copy(void* target, const void* source, int64_t bytes) = 0;  // kernels can access both addresses
  virtual void write(void* target, const void* host, int64_t bytes) = 0;   // `host` may change after the call
  virtual void read(void* host, const void* source, int64_t bytes) = 0;    // waits

  // A clean status for the next launches. The caller gives it back by one of the two other calls: `read_status` waits
  // and returns its contents; `later` does not wait and returns a receipt.
  virtual Status* status() = 0;
  virtual Status read_status(Status* status) = 0;
  virtual std::unique_ptr<Receipt> later(Status* status) = 0;

  // Sorts keys and values by the lowest `bits` bits of the keys. The sort is stable.
  virtual void sort(uint64_t* keys, uint64_t* values, int64_t count, int bits) = 0;
  // Replaces values[i] by the sum of all values before it, for i in [0, count]. values[count] becomes the total and is
  // not read.
  virtual void exclusive_sum(int64_t* values, int64_t count) = 0;

  // Calls about streams, which are given by the driver's handles. A machine without streams has nothing to do.
  virtual bool is_capturing() const { return false; }
  virtual void synchronize() {}
  virtual void wait_for(uintptr_t) {}          // work submitted here from now on waits for that stream's work so far
  virtual void go_before(uintptr_t) {}         // work submitted there from now on waits for this machine's work so far
  virtual void wait_for_event(const void*) {}  // a pointer to the driver's event, as in Arrow's C device interface
};

// Temporary memory of a machine, which is released at the end of a scope.
class Temporary {
 public:
  Temporary(Machine& machine, int64_t bytes) : machine_(machine), data_(machine.allocate(bytes)) {}
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() { machine_.release(data_); }
  std::byte* data() const { return data_; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data_);
  }

 private:
  Machine& machine_;
  std::byte* data_;
};

}  // namespace gs::device

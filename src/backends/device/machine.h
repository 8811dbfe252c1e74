// machine.h: who runs the bodies of device kernels and owns the memory that they work on: one stream of a GPU, or the
// CPU in its place. Work is done in the order in which it is asked for; only `read` waits for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "backends/device/bodies/thread.h"

namespace gs::device {

// The GPU or its driver failed; what it says of that.
struct [[gnu::visibility("default")]] DeviceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The work was stopped because somebody asked for it (Machine::interrupt_by). Thrown from one module to another.
struct [[gnu::visibility("default")]] Interrupted {};

// What a launch found, for those who do not want to wait for it.
class Receipt {
 public:
  virtual ~Receipt() = default;
  virtual bool is_ready() const = 0;  // whether `status` answers without waiting
  virtual Status status() = 0;        // waits
  // Of a captured graph: each replay judges anew, so it is asked again and again. `status` does not wait then, but
  // answers for the replays that have been waited for; a bad one is told once.
  virtual bool is_lasting() const { return false; }
};

class Machine {
 public:
  virtual ~Machine() = default;

  virtual const char* name() const = 0;
  // Blocks of kBlockThreads that run at a time: a longer grid only makes them stride less.
  virtual int64_t resident_blocks() const = 0;

  // Asked about every 10 ms by machines that work on the calling thread, which throw Interrupted where it says true.
  // May be null.
  virtual void interrupt_by(bool (*)()) {}

  // Runs the body with this number (bodies.h) on so many blocks; `body` is copied.
  virtual void launch(int kernel, int64_t blocks, const void* body, std::size_t bytes) = 0;

  // Temporary memory, 256-byte aligned, for work that is asked for between these calls; std::bad_alloc.
  virtual std::byte* allocate(int64_t bytes) = 0;
  virtual void release(std::byte* memory) noexcept = 0;

  virtual void clear(void* memory, int64_t bytes) = 0;                     // zero bytes
  virtual void copy(void* target, const void* source, int64_t bytes) = 0;  // both where kernels reach them
  virtual void write(void* target, const void* host, int64_t bytes) = 0;   // `host` may change afterwards
  virtual void read(void* host, const void* source, int64_t bytes) = 0;    // waits

  // A clean status for the next launches. It is taken back by one of the two: `read_status` waits and answers, `later`
  // does not wait.
  virtual Status* status() = 0;
  virtual Status read_status(Status* status) = 0;
  virtual std::unique_ptr<Receipt> later(Status* status) = 0;

  // Sorts by the lowest `bits` bits of the keys; equal keys keep their order.
  virtual void sort(uint64_t* keys, uint64_t* values, int64_t count, int bits) = 0;
  // values[i] becomes the sum of all before it, for i in [0, count]: the last, which is not read, becomes the total.
  virtual void exclusive_sum(int64_t* values, int64_t count) = 0;

  // Streams, by the handles of their driver. A machine that is no GPU has nothing to do.
  virtual bool is_capturing() const { return false; }
  virtual void synchronize() {}
  virtual void wait_for(uintptr_t) {}          // what is asked for next waits for what was asked for in that stream
  virtual void go_before(uintptr_t) {}         // and the other way round
  virtual void wait_for_event(const void*) {}  // a pointer to the driver's event, as Arrow hands it over
};

// Temporary memory of a machine for the time of a scope.
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

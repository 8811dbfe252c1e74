// copy.h: copies arrays within a call, and keeps private copies of operands that overlap the array to write to.
#pragma once

#include "calls/call_context.h"
#include "calls/views.h"

namespace gs {

// target[..] = source[..], for two arrays of one shape. Runs to its end, so that no array is left half copied.
void copy_view(CallContext& call, const ArrayView& source, const ArrayView& target);
// As copy_view, as a part of work that runs already; it may be interrupted.
Outcome run_copy(const Backend& backend, const ArrayView& source, const ArrayView& target, const RunOptions& options);

// Memory for the duration of a scope, allocated where the backend can access it.
class ScopedArray {
 public:
  ScopedArray(const Backend& backend, const ArrayView& like)
      : backend_(backend), view_(contiguous_view(backend.allocate(bytes_of(like)), like.extent, like.item)) {}
  ScopedArray(const ScopedArray&) = delete;
  ScopedArray& operator=(const ScopedArray&) = delete;
  ~ScopedArray() { backend_.release(view_.data); }
  const ArrayView& view() const { return view_; }

 private:
  const Backend& backend_;
  ArrayView view_;
};

// Replaces every view except `out` that overlaps `target` by a private copy; the input only if `with_input`.
void detach(CallContext& call, Views& views, const ArrayView& target, bool with_input);

}  // namespace gs

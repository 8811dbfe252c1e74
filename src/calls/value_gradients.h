// value_gradients.h: computes the gradients of minima, maxima and products in blocks of points.
#pragma once

#include "calls/call_context.h"
#include "calls/call_result.h"
#include "calls/views.h"

namespace gs {

// Both take the views of a scatter on the host: its input is the result, its source has one value for each point. These
// two are packed arrays of float32 or float64, as the number of the request says, and so are all others, which have the
// shape of one of the two. Fewer than 2^31 values. Besides they need at most two arrays of the shape of the result, and
// five bytes for each unit of the targets.

// Where the gradient of a minimum or maximum comes from and goes to.
struct SharedGradient {
  const std::byte* gradient;  // of the result
  const std::byte* own;       // the values of the elements themselves; null if they do not take part
  std::byte* input;           // gets the gradient of these: 0 for an element that has values and takes no part
  std::byte* source;          // gets the gradient of each point
};
// Divides the gradient of each element by the number of those that equal it, and gives each of these a share. A value
// that is NaN equals a NaN.
CallResult share_extremes(CallContext& call, const Request& request, const Views& views, const SharedGradient& to);

// Multiplies the gradient of each element by the product of its other values, `own` among them unless it is null: the
// result divided by the value. A value of 0 gets the product of those that are not 0: times 0 if there is one more 0,
// and 0 if there are two more.
CallResult share_product(CallContext& call, const Request& request, const Views& views, const std::byte* gradient,
                         const std::byte* own, std::byte* to);

}  // namespace gs

// words.h: lists the words of each keyword, in the order of its enumerators: for Python's arguments, the state of
// pickled plans, and the words that XLA's custom calls carry as numbers.
#pragma once

#include <array>

#include "calls/request.h"

namespace gs::words {

inline constexpr std::array kBounds{"raise", "deferred", "fill", "clip", "wrap", "unchecked"};
inline constexpr std::array kScatterBounds{"raise", "deferred", "drop", "clip", "wrap", "unchecked"};
inline constexpr std::array kNegative{"from_end", "out_of_bounds"};
inline constexpr std::array kReduce{"set", "add", "mul", "min", "max", "mean"};
inline constexpr std::array kDuplicates{"last", "first", "error"};
inline constexpr std::array kMatch{"prefix", "broadcast"};
inline constexpr std::array kPlanner{"take_axis", "along_axis", "at_points", "elementwise"};
inline constexpr std::array kDirection{"gather", "scatter"};

// The words that callers may write for a reduction, and what each of them is.
inline constexpr std::array kReduceAliases{"add", "sum",  "mul", "prod", "multiply",
                                           "min", "amin", "max", "amax", "mean"};
inline constexpr std::array kReduceOfAlias{Reduce::add, Reduce::add, Reduce::mul, Reduce::mul, Reduce::mul,
                                           Reduce::min, Reduce::min, Reduce::max, Reduce::max, Reduce::mean};
static_assert(kReduceAliases.size() == kReduceOfAlias.size());

}  // namespace gs::words

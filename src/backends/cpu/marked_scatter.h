// marked_scatter.h: scatters of rows whose targets are marked in a bitmap.
#pragma once

#include "backends/cpu/schedule.h"

namespace gs::cpu {

// Runs a scatter whose schedule has marks. Where it keeps rows of a base, it copies them as well.
Outcome scatter_marked(Schedule& schedule, const Buffers& buffers, const RunOptions& options);

}  // namespace gs::cpu

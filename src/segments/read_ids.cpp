// read_ids.cpp: walks the ids of a plan, of any strides, and hands their blocks to the kernels.
#include "segments/read_ids.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/index_blocks.h"
#include "core/rule.h"

namespace gs {

bool read_ids(const GroupKernels& kernels, int key_bytes, const Plan& plan, const Buffers& buffers, int64_t first,
              int64_t last, std::byte* keys) {
  IdBlock block{};
  block.stride = inner_stride(plan, kIndex);
  block.type = plan.index[0].type;
  block.mask_stride = inner_stride(plan, kMask);
  block.groups = plan.index[0].extent;
  block.rule = plan.rule;
  bool good = true;
  for_each_index_block(plan, buffers, first, last, kIdsOfBlock, [&](int64_t flat, const Buffers& at, int64_t n) {
    block.ids = at.index[0];
    block.mask = plan.masked ? at.mask : nullptr;
    block.n = n;
    return good = kernels.read(block, keys + (flat - first) * key_bytes);
  });
  return good;
}

int64_t largest_id(const Plan& plan, const Buffers& buffers, int64_t first, int64_t last) {
  const int64_t stride = inner_stride(plan, kIndex);
  const int64_t mask_stride = inner_stride(plan, kMask);
  int64_t largest = -1;
  for_each_index_block(plan, buffers, first, last, kIdsOfBlock, [&](int64_t, const Buffers& at, int64_t n) {
    visit_index(plan.index[0].type, [&]<class Index>() {
      Index most = std::numeric_limits<Index>::min();
      bool any = false;
      for (int64_t i = 0; i < n; ++i) {
        Index id;
        std::memcpy(&id, at.index[0] + i * stride, sizeof(Index));
        const bool kept = !plan.masked || at.mask[i * mask_stride] != std::byte{0};
        any |= kept;
        most = kept && id > most ? id : most;
      }
      if (any) largest = std::max(largest, widen(most));
    });
    return true;
  });
  return largest;
}

}  // namespace gs

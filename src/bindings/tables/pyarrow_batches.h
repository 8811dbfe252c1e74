// pyarrow_batches.h: exchanges record batches with pyarrow by address. The schema of a table, which takes longer to
// export and import than a few rows, is read once and kept, and the result of a call gets the schema object of its
// table.
#pragma once

#include "bindings/tables/arrow_table.h"

namespace gs {

// Adds `ArrowTable.of_batch` and `ArrowTable.to_batches`.
void bind_pyarrow_batches(py::module_& module);

}  // namespace gs

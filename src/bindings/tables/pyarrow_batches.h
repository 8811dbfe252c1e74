// pyarrow_batches.h: exchanges record batches with pyarrow by address. The schema of a table, which takes longer to
// export and import than a few rows, is read once and kept, and the result of a call gets the schema object of its
// table.
#pragma once

#include "bindings/tables/arrow_table.h"

namespace gs {

template <class Struct>
struct Owned;  // arrow_capsules.h

// Exports an array or a record batch of pyarrow.
void export_to_device_struct(const py::handle& array, Owned<ArrowDeviceArray>& out);

// The table of record batches of pyarrow in host memory.
ArrowTable table_of_batches(const py::list& batches, const py::object& schema, bool full, const std::string& op);

// The table of one column of pyarrow, a ChunkedArray: its chunks are read by one stream, in a quarter of the time of as
// many record batches. None if the schema has another type, as where its field's metadata name an extension type.
py::object table_of_column(const py::object& column, const py::object& schema, bool full, const std::string& op);

// A list of record batches that `import_batch` makes with the schema of `source`; None if `self` has other types.
py::object to_batches(const ArrowTable& self, const ArrowTable& source, const py::object& import_batch,
                      const py::object& schema);

// Adds `ArrowTable.of_batches`, `ArrowTable.of_column` and `ArrowTable.to_batches`.
void bind_pyarrow_batches(py::module_& module);

}  // namespace gs

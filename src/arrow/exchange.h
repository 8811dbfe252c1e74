// exchange.h: imports and exports arrays through Arrow's C interfaces without a copy of any buffer.
#pragma once

#include "arrow/array.h"
#include "arrow/arrow_abi.h"

namespace gs::arrow {

// How much of an imported array is checked. The cost of `structure` does not grow with the number of rows; a gather
// checks the offsets, keys and type ids that it reads as it uses them. `full` checks every row at the import.
enum class Check : uint8_t { structure, full };

// The import functions take ownership of their argument: its `release` is null afterwards. If an import fails, the
// argument has been released. They throw ExchangeError with the fault and its place ("column 'a', child 0: ..").
Type import_type(ArrowSchema* schema);
// `readable`: the host may read the buffers. It is false for buffers on a GPU: there, the kernels find the reach of
// offsets and the null counts that the producer omitted, and types whose structure lies in buffers (views, run ends)
// are rejected.
Array import_array(ArrowArray* array, const Type& type, Check check, bool readable = true);
// Reads all chunks of the stream. The caller has released the GIL if the stream may need it.
Chunked import_stream(ArrowArrayStream* stream, Check check);

// The export functions fill `out`. The exported structs keep their buffers alive until they are released, on any
// thread; the arguments may be destroyed before.
void export_type(const Type& type, ArrowSchema* out);
void export_array(const Array& array, const Type& type, ArrowArray* out);
void export_stream(std::shared_ptr<const Chunked> chunked, ArrowArrayStream* out);

}  // namespace gs::arrow

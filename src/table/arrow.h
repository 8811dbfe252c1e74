// arrow.h: arrays in and out through Arrow's C interfaces, without a copy of any buffer.
#pragma once

#include "table/array.h"
#include "table/arrow_abi.h"

namespace gs::table {

// What is checked of a structure that another library hands over. `structure` costs nothing that grows with the number
// of rows; what a gather reads beyond it (offsets, keys, type ids) it checks as it uses it. `full` looks at every row.
enum class Check : uint8_t { structure, full };

// Takes over what it is given (release is null afterwards, in the case of an error too: then it was released).
// Throws ExchangeError, which says what is wrong and where ("column 'a', child 0: ..").
Type import_type(ArrowSchema* schema);
// `readable`: the buffers may be read here and now. Those of a GPU may not: what only they tell (how far offsets reach,
// nulls that were not counted) is left to the kernels, and types whose structure lies in them are refused.
Array import_array(ArrowArray* array, const Type& type, Check check, bool readable = true);
// Reads all chunks. The caller has given away the interpreter lock if the stream may need it.
Chunked import_stream(ArrowArrayStream* stream, Check check);

// Fill `out`. What they hand over lives until it is released, by any thread, whatever becomes of the arguments.
void export_type(const Type& type, ArrowSchema* out);
void export_array(const Array& array, const Type& type, ArrowArray* out);
void export_stream(std::shared_ptr<const Chunked> chunked, ArrowArrayStream* out);

}  // namespace gs::table

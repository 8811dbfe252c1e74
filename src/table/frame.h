// frame.h: defines a table or a column with its device, and checks whether two of them fit each other.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "table/arrow_names.h"

namespace gs::table {

inline constexpr int kHost = -1;  // in place of a GPU number: host memory

// "in host memory" or "on GPU 0", for error texts.
std::string location_name(int device);

// A table (a structure without nulls, whose fields are the columns) or one column.
struct Frame {
  Chunked data;
  bool is_table = false;
  int device = kHost;  // the memory of the buffers: a GPU number, or kHost
};

using ChunkLengths = std::vector<int64_t>;  // rows of each chunk of a frame

int64_t row_count(const ChunkLengths& lengths);

// Returns a table if the type is a structure, else a column; `is_table` overrides this. Throws ExchangeError for a
// table with null records and for a table whose type is no structure.
Frame to_frame(Chunked data, std::optional<bool> is_table, int device = kHost);

// The table with some of its columns, by their numbers and in their order. No buffer is copied.
Frame with_columns(const Frame& table, const std::vector<std::size_t>& columns);

// The table with the columns of these numbers replaced by those of `part`, in their order. No buffer is copied. Throws
// InvalidArgument unless `part` lies on the same device and its chunks have the same lengths.
Frame with_replaced(const Frame& table, const std::vector<std::size_t>& columns, const Frame& part);

// The names of the two frames in error messages.
struct Roles {
  std::string target = "the target";
  std::string source = "the source";
};

// Throws InvalidArgument if the numbers of columns differ, DataTypeError if the types of a column differ.
void check_like(const Frame& target, const Frame& source, const Roles& roles = {});

// Checks as check_like does, and throws InvalidArgument if the fields of structures inside of columns have different
// names.
void check_names(const Frame& target, const Frame& source, const Roles& roles = {});

// Whether a few rows of the frame are a short task, whichever rows they are: no row is long, and there are few chunks.
bool is_short(const Frame& frame);

}  // namespace gs::table

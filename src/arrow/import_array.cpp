// import_array.cpp: converts the ArrowArray of another library into an Array that refers to its buffers in place.
#include <algorithm>
#include <limits>
#include <utility>

#include "arrow/check_rows.h"
#include "arrow/exchange.h"
#include "arrow/fault.h"
#include "arrow/load.h"

namespace gs::arrow {
namespace {

// No memory holds more rows or bytes than this, and sums of a few thousand such numbers stay within 64 bits.
constexpr int64_t kMostRows = int64_t{1} << 48;

constexpr int64_t kMaxBuffers = INT32_MAX;

// Owns an imported array and releases it together with the last buffer that refers to it.
struct Owner {
  ArrowArray array{};
  Owner() = default;
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;
  ~Owner() {
    if (array.release != nullptr) array.release(&array);
  }
};

// Moves the array out of the caller's struct. If memory runs out, it releases the array in the caller's struct.
std::shared_ptr<const Owner> take_over(ArrowArray* array) {
  try {
    auto owner = std::make_shared<Owner>();
    std::swap(owner->array, *array);
    return owner;
  } catch (...) {
    if (array->release != nullptr) array->release(array);
    array->release = nullptr;
    throw;
  }
}

[[noreturn]] void fail_number(const Path& path, const char* name, int64_t value, const std::string& why = "") {
  fail(path, std::string(name) + " is " + std::to_string(value) + why);
}

std::string layout_rows(const Array& array) {
  return "offset " + std::to_string(array.offset) + " and length " + std::to_string(array.length);
}

// The number of buffers that the layout requires, the validity bitmap included; of a view without its data buffers.
int64_t buffer_count(Layout layout) {
  switch (layout) {
    case Layout::null:
    case Layout::run_end: return 0;
    case Layout::sparse_union:
    case Layout::fixed_list:
    case Layout::structure: return 1;
    case Layout::bits:
    case Layout::fixed:
    case Layout::list:
    case Layout::dense_union: return 2;
    case Layout::binary:
    case Layout::list_view:
    case Layout::view: return 3;
  }
  return 0;
}

void check_counts(const ArrowArray& in, const Type& type, const Path& path) {
  if (in.release == nullptr) fail(path, "was released already");
  if (in.length < 0) fail_number(path, "length", in.length, ", expected 0 or more");
  if (in.offset < 0) fail_number(path, "offset", in.offset, ", expected 0 or more");
  if (in.length > kMostRows || in.offset > kMostRows) {
    fail_number(path, "length", in.length, " at offset " + std::to_string(in.offset) + ", more than any memory holds");
  }
  if (in.null_count < -1 || in.null_count > in.length) {
    fail_number(path, "null_count", in.null_count, ", but the array has " + std::to_string(in.length) + " rows");
  }
  const int64_t buffers = buffer_count(type.layout);
  // Views have any number of data buffers, and polars exports one buffer for a null array.
  const bool more =
      type.layout == Layout::view ? in.n_buffers <= kMaxBuffers : type.layout == Layout::null && in.n_buffers == 1;
  if (in.n_buffers != buffers && !(more && in.n_buffers > buffers)) {
    fail_number(path, "n_buffers", in.n_buffers,
                ", but " + type_name(type) + " has " + std::to_string(buffers) +
                    (type.layout == Layout::view ? " or more" : ""));
  }
  if (in.n_buffers > 0 && in.buffers == nullptr) fail(path, "has buffers but no pointer to them");
  const auto children = static_cast<int64_t>(type.children.size());
  if (in.n_children != children) {
    fail_number(path, "n_children", in.n_children, ", but its type has " + std::to_string(children));
  }
  if (children > 0 && in.children == nullptr) fail(path, "has children but no pointer to them");
  if ((in.dictionary != nullptr) != (type.dictionary != nullptr)) {
    fail(path, in.dictionary != nullptr ? "has a dictionary, but its type has none"
                                        : "has no dictionary, but its type has one");
  }
}

class Reader {
 public:
  Reader(std::shared_ptr<const Owner> owner, Check check, bool readable)
      : owner_(std::move(owner)), check_(check), readable_(readable) {}

  void read(const ArrowArray* in, const Type& type, const Path& path, Array& out) const {
    if (in == nullptr) fail(path, "is a null pointer");
    check_counts(*in, type, path);
    if (!readable_ && (type.layout == Layout::view || type.layout == Layout::run_end)) {
      fail(path, "is " + type_name(type) + " on a GPU; table operators take this type in host memory only");
    }
    out.length = in->length;
    out.offset = in->offset;
    if (in->n_buffers > 1 || (in->n_buffers == 1 && in->buffers[0] != nullptr)) check_addresses(type, path, out);
    read_validity(*in, type, path, out);
    read_children(*in, type, path, out);
    read_buffers(*in, type, path, out);
    check_children(type, path, out);
    if (check_ == Check::full && readable_) {
      check_nulls(path, out);
      check_rows(out, type, path);
    }
    if (out.nulls == 0) out.validity = {};
  }

 private:
  Buffer buffer(const void* data) const {
    if (data == nullptr) return {};
    return {owner_, static_cast<const std::byte*>(data)};
  }

  // A buffer that must not be null if there are rows.
  Buffer needed(const void* data, bool rows, const char* name, const Path& path) const {
    if (data == nullptr && rows) fail(path, std::string("its ") + name + " are a null pointer");
    return buffer(data);
  }

  void read_validity(const ArrowArray& in, const Type& type, const Path& path, Array& out) const {
    out.nulls = type.layout == Layout::null ? in.length : 0;
    if (!type.has_validity()) return;
    const auto* bitmap = static_cast<const std::byte*>(in.buffers[0]);
    if (bitmap == nullptr) {
      if (in.null_count > 0) fail_number(path, "null_count", in.null_count, ", but there is no validity bitmap");
      return;
    }
    out.nulls = in.null_count;
    out.validity = buffer(bitmap);
  }

  static void check_nulls(const Path& path, Array& out) {
    if (out.validity.data == nullptr) return;
    const int64_t nulls = count_nulls(out.validity.data, out.offset, out.length);
    if (out.nulls >= 0 && out.nulls != nulls) {
      fail_number(path, "null_count", out.nulls, ", but the validity bitmap has " + std::to_string(nulls));
    }
    out.nulls = nulls;
  }

  void read_children(const ArrowArray& in, const Type& type, const Path& path, Array& out) const {
    out.children.resize(type.children.size());
    for (std::size_t i = 0; i < type.children.size(); ++i) {
      const Type& child = type.children[i];
      const bool is_structure = type.layout == Layout::structure;
      read(in.children[i], child, child_path(path, is_structure, child.name.c_str(), static_cast<int64_t>(i)),
           out.children[i]);
    }
    if (in.dictionary == nullptr) return;
    auto dictionary = std::make_shared<Array>();
    read(in.dictionary, *type.dictionary, {&path, "dictionary"}, *dictionary);
    out.dictionary = std::move(dictionary);
  }

  void read_buffers(const ArrowArray& in, const Type& type, const Path& path, Array& out) const {
    const bool rows = in.length > 0;
    switch (type.layout) {
      case Layout::null:
      case Layout::run_end:
      case Layout::fixed_list:
      case Layout::structure: return;
      case Layout::bits: out.first = needed(in.buffers[1], rows, "bits", path); return;
      case Layout::fixed: out.first = needed(in.buffers[1], rows && type.width > 0, "values", path); return;
      case Layout::binary:
        read_offsets(in, type, path, out);
        out.second = buffer(in.buffers[2]);
        if (readable_ && out.second.data == nullptr && last_offset(type, out) > 0)
          fail(path, "its bytes are a null pointer");
        if (!readable_ && out.second.data == nullptr) out.reach = 0;  // kernels report every offset above 0
        return;
      case Layout::list: read_offsets(in, type, path, out); return;
      case Layout::list_view:
        out.first = needed(in.buffers[1], rows, "offsets", path);
        out.second = needed(in.buffers[2], rows, "sizes", path);
        return;
      case Layout::sparse_union: out.first = needed(in.buffers[0], rows, "type ids", path); return;
      case Layout::dense_union:
        out.first = needed(in.buffers[0], rows, "type ids", path);
        out.second = needed(in.buffers[1], rows, "offsets", path);
        return;
      case Layout::view: read_views(in, path, out); return;
    }
  }

  // After this check, the address of a row can be computed without a check for overflow.
  static void check_addresses(const Type& type, const Path& path, const Array& out) {
    const int64_t most = std::numeric_limits<int64_t>::max() / std::max<int64_t>(type.width, 16) - 1;
    if (out.length > most - out.offset) fail_number(path, "length", out.length, ", more than any memory holds");
  }

  // The offsets of an array without rows may be null or empty, so they are read only if there are rows.
  void read_offsets(const ArrowArray& in, const Type& type, const Path& path, Array& out) const {
    out.first = needed(in.buffers[1], in.length > 0 || in.offset > 0, "offsets", path);
    if (in.length == 0) return;
    if (!readable_) {
      out.reach = -1;
      return;
    }
    const int64_t first = load_offset(out.first.data, type.width, in.offset);
    const int64_t last = last_offset(type, out);
    if (first < 0 || last < first || last > kMostRows) {
      fail(path, "offsets run from " + std::to_string(first) + " to " + std::to_string(last) +
                     ", expected ascending offsets from 0 on");
    }
    out.reach = last;
  }

  static int64_t last_offset(const Type& type, const Array& out) {
    return out.length == 0 ? 0 : load_offset(out.first.data, type.width, out.offset + out.length);
  }

  // The last buffer holds the sizes of the data buffers, which lie between it and the views.
  void read_views(const ArrowArray& in, const Path& path, Array& out) const {
    const int64_t count = in.n_buffers - 3;
    out.first = needed(in.buffers[1], in.length > 0, "views", path);
    const auto* sizes = static_cast<const std::byte*>(in.buffers[in.n_buffers - 1]);
    if (count > 0 && sizes == nullptr) fail(path, "the sizes of its data buffers are a null pointer");
    out.shared.reserve(static_cast<std::size_t>(count));
    out.shared_bytes.reserve(static_cast<std::size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
      const auto bytes = load<int64_t>(sizes, i);
      if (bytes < 0) fail(path, "data buffer " + std::to_string(i) + " has the size " + std::to_string(bytes));
      const void* data = in.buffers[i + 2];
      if (bytes > 0 && data == nullptr) fail(path, "data buffer " + std::to_string(i) + " is a null pointer");
      out.shared.push_back(buffer(data));
      out.shared_bytes.push_back(bytes);
    }
  }

  // Checks that the children have the rows that the array refers to, as far as its first and last row show.
  void check_children(const Type& type, const Path& path, const Array& out) const {
    const int64_t end = out.offset + out.length;
    int64_t rows = 0;
    switch (type.layout) {
      case Layout::structure:
      case Layout::sparse_union:
        for (std::size_t i = 0; i < out.children.size(); ++i) need_rows(type, path, out, i, end);
        return;
      case Layout::fixed_list:
        if (__builtin_mul_overflow(end, type.list_size, &rows)) {
          fail_number(path, "length", out.length,
                      " of lists of " + std::to_string(type.list_size) + " rows, more rows than 64 bits can count");
        }
        return need_rows(type, path, out, 0, rows);
      case Layout::list:
        rows = out.reach;
        if (rows > out.children[0].length) {
          fail(path, "offsets[" + std::to_string(end) + "] = " + std::to_string(rows) + ", but the child has " +
                         std::to_string(out.children[0].length) + " rows");
        }
        return;
      case Layout::run_end: return check_runs(type, path, out);
      default: return;
    }
  }

  static void need_rows(const Type& type, const Path& path, const Array& out, std::size_t child, int64_t rows) {
    const Array& array = out.children[child];
    if (array.length >= rows) return;
    const Path where = child_path(path, type.layout == Layout::structure, type.children[child].name.c_str(),
                                  static_cast<int64_t>(child));
    fail_number(where, "length", array.length,
                ", but " + layout_rows(out) + " of its parent need " + std::to_string(rows));
  }

  static void check_runs(const Type& type, const Path& path, const Array& out) {
    const Array& ends = out.children[0];
    const Array& values = out.children[1];
    if (ends.validity.data != nullptr && count_nulls(ends.validity.data, ends.offset, ends.length) > 0) {
      fail(path, "run ends must not be null");
    }
    if (values.length < ends.length) {
      fail(path, "has " + std::to_string(ends.length) + " run ends, but " + std::to_string(values.length) + " values");
    }
    if (out.length == 0) return;
    const auto end_of = [&](int64_t run) {
      return visit_index(type.children[0].integer, [&]<class End>() {
        return static_cast<int64_t>(load<End>(ends.first.data, ends.offset + run));
      });
    };
    const int64_t last = ends.length > 0 ? end_of(ends.length - 1) : 0;
    if (last < out.offset + out.length) {
      fail(path, "its last run ends at " + std::to_string(last) + ", before the end of " + layout_rows(out));
    }
    if (end_of(0) < 1) fail(path, "its first run ends at " + std::to_string(end_of(0)) + ", expected 1 or more");
  }

  std::shared_ptr<const Owner> owner_;
  Check check_;
  bool readable_;
};

}  // namespace

Array import_array(ArrowArray* array, const Type& type, Check check, bool readable) {
  const Path root{nullptr, "Arrow array", type.name.c_str()};
  if (array == nullptr) fail(root, "is a null pointer");
  const std::shared_ptr<const Owner> owner = take_over(array);
  Array out;
  Reader(owner, check, readable).read(&owner->array, type, root, out);
  return out;
}

}  // namespace gs::arrow

// import_stream.cpp: reads an ArrowArrayStream of another library into the chunks of one column or table.
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "arrow/exchange.h"
#include "arrow/fault.h"
#include "core/error.h"

namespace gs::arrow {
namespace {

struct StreamReleaser {
  ArrowArrayStream* stream;
  ~StreamReleaser() {
    if (stream->release != nullptr) stream->release(stream);
    stream->release = nullptr;
  }
};

// Throws with the producer's own error text. The text is valid only until the next call of the stream.
[[noreturn]] void fail_stream(ArrowArrayStream* stream, const std::string& what, int code) {
  const char* text = stream->get_last_error != nullptr ? stream->get_last_error(stream) : nullptr;
  std::string why = std::generic_category().message(code);
  if (text != nullptr) why = is_utf8(text) ? text : printable(text);
  constexpr std::size_t kLongestText = 2000;  // nested streams repeat the text of the stream that they read
  if (why.size() > kLongestText) why = printable(std::string_view(why).substr(0, kLongestText)) + " ..";
  throw ExchangeError("Arrow stream: the producer failed to give " + what + ": " + why);
}

Type read_schema(ArrowArrayStream* stream) {
  ArrowSchema schema{};
  const int code = stream->get_schema(stream, &schema);
  if (code != 0) fail_stream(stream, "its schema", code);
  return import_type(&schema);
}

// Appends the next chunk to `out`; false: the stream has no more.
bool read_chunk(ArrowArrayStream* stream, Check check, Chunked& out) {
  ArrowArray array{};
  const auto name = [&] { return "chunk " + std::to_string(out.chunks.size()); };
  const int code = stream->get_next(stream, &array);
  if (code != 0) fail_stream(stream, name(), code);
  if (array.release == nullptr) return false;
  try {
    out.chunks.push_back(import_array(&array, *out.type, check));
  } catch (const ExchangeError& error) {
    throw ExchangeError(name() + ", " + error.what());
  }
  return true;
}

}  // namespace

Chunked import_stream(ArrowArrayStream* stream, Check check) {
  const Path root{nullptr, "Arrow stream"};
  if (stream == nullptr) fail(root, "is a null pointer");
  if (stream->release == nullptr) fail(root, "was released already");
  const StreamReleaser releaser{stream};
  if (stream->get_schema == nullptr || stream->get_next == nullptr) fail(root, "has no get_schema or no get_next");
  Chunked out;
  out.type = std::make_shared<const Type>(read_schema(stream));
  while (read_chunk(stream, check, out)) {
  }
  return out;
}

}  // namespace gs::arrow

// fault.cpp: implements fault.h.
#include "arrow/fault.h"

#include "core/error.h"

namespace gs::arrow {
namespace {

std::string path_text(const Path& path) {
  std::string text = path.above != nullptr && path.above->above != nullptr ? path_text(*path.above) + ", " : "";
  text += path.part;
  if (path.name[0] != '\0') return text + " '" + path.name + "'";
  return path.number < 0 ? text : text + " " + std::to_string(path.number);
}

// The length in bytes of the UTF-8 sequence that starts with `lead`; 0: no sequence starts with it.
std::size_t sequence_bytes(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead < 0xe0) return 2;
  if (lead >= 0xe0 && lead < 0xf0) return 3;
  return lead >= 0xf0 && lead < 0xf5 ? 4 : 0;
}

// The second byte shows overlong sequences, surrogates, and code points beyond U+10FFFF.
bool second_fits(unsigned char lead, unsigned char second) {
  if (lead == 0xe0) return second >= 0xa0;
  if (lead == 0xed) return second < 0xa0;
  if (lead == 0xf0) return second >= 0x90;
  return lead != 0xf4 || second < 0x90;
}

}  // namespace

void fail(const Path& path, const std::string& what) {
  throw ExchangeError(path_text(path) + ": " + what);
}

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
    const std::size_t bytes = sequence_bytes(byte(0));
    if (bytes == 0 || bytes > text.size() - at) return false;
    for (std::size_t i = 1; i < bytes; ++i) {
      if ((byte(i) & 0xc0) != 0x80) return false;
    }
    if (bytes > 2 && !second_fits(byte(0), byte(1))) return false;
    at += bytes;
  }
  return true;
}

std::string printable(std::string_view text) {
  constexpr std::size_t kMost = 60;
  constexpr char kDigits[] = "0123456789abcdef";
  std::string shown = "\"";
  for (const char each : text.substr(0, kMost)) {
    const auto byte = static_cast<unsigned char>(each);
    if (byte >= 0x20 && byte < 0x7f) {
      shown += each;
    } else {
      shown += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return shown + (text.size() > kMost ? "...\"" : "\"");
}

}  // namespace gs::arrow

// column_pages.cpp: finds the files behind the pieces of a column, and asks for their pages.
#include "table/column_pages.h"

#include "core/error.h"

namespace gs::table {

namespace {

// Columns of many chunks are in files or in memory as a whole, so a few chunks tell whether the others are looked up.
constexpr int kProbes = 8;

bool any_probe_is_file(const SmallVector<Bytes, 2>& memory) {
  const int step = std::max(memory.size() / kProbes, 1);
  for (int p = 0; p < memory.size(); p += step) {
    if (memory[p].count > 0 && host::known_mapping(memory[p].first).mapping.is_file()) return true;
  }
  return false;
}

}  // namespace

ColumnPages::ColumnPages(const SmallVector<Bytes, 2>& memory) {
  int64_t total = 0;
  for (const Bytes& piece : memory) total += piece.count;
  if (total < host::kLeastMappedBytes || !any_probe_is_file(memory)) return;
  for (const Bytes& piece : memory) {
    file_of_.push_back(-1);
    if (piece.count <= 0) continue;
    const host::KnownMapping& known = host::known_mapping(piece.first);
    if (!known.mapping.is_file()) continue;
    host::check_length(known, piece.first, piece.count);
    may_be_cold_ |= known.may_be_cold();
    const auto same = [&](const File& file) { return file.mapping.begin == known.mapping.begin; };
    auto file = std::find_if(files_.begin(), files_.end(), same);
    if (file == files_.end()) file = files_.insert(file, {known.mapping, piece.first, piece.first, nullptr});
    file->low = std::min(file->low, piece.first);
    file->high = std::max(file->high, piece.first + piece.count);
    file_of_[file_of_.size() - 1] = static_cast<int>(file - files_.begin());
  }
}

bool ColumnPages::drop_resident(const std::vector<std::vector<const std::byte*>>& addresses) {
  bool any_is_cold = false;
  for (std::size_t f = 0; f < files_.size(); ++f) {
    host::KnownMapping& known = host::known_mapping(files_[f].low);
    if (known.may_be_cold() && host::is_cold(known, addresses[f].data(), static_cast<int>(addresses[f].size()))) {
      any_is_cold = true;
      continue;
    }
    for (int& file : file_of_) file = file == static_cast<int>(f) ? -1 : file;
  }
  return any_is_cold;
}

void ColumnPages::make_lists() {
  const int64_t budget = host::page_budget();
  for (File& file : files_) {
    file.pages = std::make_unique<host::PageList>(file.low, file.high - file.low, budget);
  }
}

void ColumnPages::request_lists(const Sharing& sharing) const {
  int64_t bytes = 0;
  for (const File& file : files_) bytes += file.pages->bytes();
  if (bytes > host::page_budget()) return;
  for (const File& file : files_) {
    if (!file.pages->request(sharing.options.interrupted)) throw CallInterrupted{};
  }
}

void request_items(const Sharing& sharing, const Pieces& pieces, const SmallVector<const std::byte*, 2>& base,
                   int64_t width, const Picks& picks) {
  SmallVector<Bytes, 2> memory;
  for (int p = 0; p < pieces.size(); ++p) memory.push_back({base[p], pieces[p].length * width});
  ColumnPages pages(memory);
  pages.request(sharing, picks, [&](int32_t piece, int64_t start, int64_t length) {
    return Bytes{base[piece] + start * width, length * width};
  });
}

}  // namespace gs::table

// saved_tuning.cpp: finds, reads and checks the file of saved thresholds.
#include "host/saved_tuning.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "host/host_info.h"

namespace gs::host {
namespace {

constexpr std::string_view kFirstLine = "gatherscatter tuning 1\n";
constexpr int64_t kMostBytes = 64 * 1024;
constexpr std::array<std::string_view, 3> kVariables = {"GS_FAR_TABLE_BYTES", "GS_STREAM_BYTES", "GS_SERIAL_POINTS"};

std::string_view from_environment(const char* variable) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? std::string_view() : value;
}

// FNV-1a
uint64_t hash_of(std::string_view text) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001B3u;
  return hash;
}

// Reads a regular file. Returns the error number, or 0.
int read_regular(const std::string& path, std::string& text) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe must not block
  if (file < 0) return errno;
  struct stat facts{};
  int error = fstat(file, &facts) != 0 ? errno : !S_ISREG(facts.st_mode) || facts.st_size > kMostBytes ? EINVAL : 0;
  while (error == 0) {
    std::array<char, 4096> part;
    const ssize_t count = read(file, part.data(), part.size());
    if (count == 0) break;
    if (count < 0) {
      if (errno != EINTR) error = errno;
    } else {
      text.append(part.data(), static_cast<std::size_t>(count));
    }
  }
  close(file);
  return error;
}

// Removes the first line from `text` and returns it, without its end.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

// Adds the value of one line. Returns false for a line that has none.
bool add_value(std::string_view line, SavedTuning& saved) {
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) return false;
  const std::string_view variable = line.substr(0, space);
  const std::string_view digits = line.substr(space + 1);
  if (std::find(kVariables.begin(), kVariables.end(), variable) == kVariables.end()) return false;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || value < 1) return false;
  if (saved.find(std::string(variable)) != nullptr) return false;
  saved.values.emplace_back(variable, value);
  return true;
}

// Why the text is not that of a file for this key; empty if it is. Adds its values.
std::string problem_of(std::string_view text, std::string_view key, SavedTuning& saved) {
  if (text.substr(0, kFirstLine.size()) != kFirstLine) return "it does not begin with \"gatherscatter tuning 1\"";
  text.remove_prefix(kFirstLine.size());
  while (!key.empty()) {
    const std::string_view expected = take_line(key);
    const std::string_view found = take_line(text);
    if (found != expected) {
      return "it was measured for \"" + std::string(found.substr(0, 100)) + "\", not for \"" + std::string(expected) +
             "\"";
    }
  }
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (!add_value(line, saved)) return "it has the line \"" + std::string(line.substr(0, 100)) + "\"";
  }
  return {};
}

}  // namespace

const int64_t* SavedTuning::find(const std::string& variable) const {
  const auto found =
      std::find_if(values.begin(), values.end(), [&](const auto& each) { return each.first == variable; });
  return found == values.end() ? nullptr : &found->second;
}

std::string tuning_key() {
  const HostInfo& host = info();
  const int threads = host.threads > 0 ? host.threads : processors();
  return std::string("version ") + GS_VERSION + "\ncpu_model " + host.cpu_model + "\nisa " + host.isa + "\nl2_bytes " +
         std::to_string(host.l2_bytes) + "\nllc_bytes " + std::to_string(host.llc_bytes) + "\nthreads " +
         std::to_string(threads) + "\n";
}

std::string tuning_path(const std::string& key) {
  if (const char* const path = std::getenv("GS_TUNING_FILE")) return path;
  std::string folder(from_environment("XDG_CONFIG_HOME"));
  if (folder.empty() || folder[0] != '/') {  // the specification ignores a relative path
    folder = from_environment("HOME");
    if (folder.empty()) return {};
    folder += "/.config";
  }
  std::array<char, 17> digits{};
  const uint64_t hash = hash_of(std::string_view(key).substr(key.find('\n') + 1));
  const auto end = std::to_chars(digits.data(), digits.data() + 16, hash, 16).ptr;
  return folder + "/gatherscatter/tuning-" + std::string(digits.data(), end) + ".txt";
}

SavedTuning read_tuning(const std::string& path, const std::string& key) {
  SavedTuning saved;
  saved.path = path;
  if (path.empty()) return saved;
  std::string text;
  const int error = read_regular(path, text);
  if (error == ENOENT || error == ENOTDIR) return saved;
  saved.problem = error != 0 ? std::strerror(error) : problem_of(text, key, saved);
  if (!saved.problem.empty()) saved.values.clear();
  return saved;
}

const SavedTuning& saved_tuning() {
  static const SavedTuning saved = [] {
    const std::string key = tuning_key();
    return read_tuning(tuning_path(key), key);
  }();
  return saved;
}

}  // namespace gs::host

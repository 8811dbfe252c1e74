// saved_tuning.h: reads the thresholds that `python -m gatherscatter tune --save` has measured on this host.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace gs::host {

// The file for one host. It begins with the lines of its key, then each line has the name of an environment variable
// and its value.
struct SavedTuning {
  std::string path;     // empty: there is no folder for it
  std::string problem;  // why a file that exists is ignored; empty: it was read, or there is none
  std::vector<std::pair<std::string, int64_t>> values;  // by environment variable

  const int64_t* find(const std::string& variable) const;  // null: not saved
};

// What a host is known by, as lines of a name and a value: package version, processor, caches and threads. Values that
// environment variables set count.
std::string tuning_key();

// The path of the file for a host with this key: GS_TUNING_FILE (may be empty), or a file in `gatherscatter` below
// XDG_CONFIG_HOME or ~/.config, whose name depends on the key without the version.
std::string tuning_path(const std::string& key);

// Reads a file. A file for another key, and a file that is not wholly understood, gives no values and a problem.
SavedTuning read_tuning(const std::string& path, const std::string& key);

// That of this host, read once.
const SavedTuning& saved_tuning();

}  // namespace gs::host

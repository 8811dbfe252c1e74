// settings.h: reads what users and the system say about the processors: settings, levels, quotas. Free of global
// state.
#pragma once

#include <cstdint>
#include <string>

namespace gs::host {

inline constexpr int kMostThreads = 1024;

// The functions of settings throw std::invalid_argument that names the variable. `text` is null where it is not set.
int64_t bytes_setting(const char* variable, const char* text, int64_t otherwise);
int64_t points_setting(const char* variable, const char* text, int64_t otherwise);
int threads_setting(const char* variable, const char* text, int otherwise);
std::string level_setting(const char* variable, const char* text, const std::string& supported);

// Highest instruction set level that this processor and its operating system have: "baseline", "v3" or "v4".
std::string supported_level();

// AVX-512 VBMI, for a processor whose level is v4.
bool has_byte_permutations();

// What the control groups of a process allow. `membership` is the text of /proc/self/cgroup, `root` the mount point
// /sys/fs/cgroup; version 1 and 2, every group up to the root counts. 0 where nothing is limited.
int quota_processors(const std::string& membership, const std::string& root);
int64_t quota_memory(const std::string& membership, const std::string& root);

std::string read_file(const std::string& path);  // empty where it cannot be read

}  // namespace gs::host

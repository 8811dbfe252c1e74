// settings.h: reads settings, instruction set level and quotas, without global state.
#pragma once

#include <cstdint>
#include <string>

namespace gs::host {

inline constexpr int kMostThreads = 1024;

// These four functions parse the value `text` of an environment variable (null: it is not set). They throw
// std::invalid_argument with the name of the variable.
int64_t bytes_setting(const char* variable, const char* text, int64_t otherwise);
int64_t points_setting(const char* variable, const char* text, int64_t otherwise);
int threads_setting(const char* variable, const char* text, int otherwise);
std::string level_setting(const char* variable, const char* text, const std::string& supported);

// Highest instruction set level that the processor and the operating system support: "baseline", "v3" or "v4".
std::string supported_level();

// Whether a processor of level v4 supports AVX-512 VBMI.
bool has_byte_permutations();

// Whether AMD made the processor.
bool is_amd();

// The model of the first processor in the text of /proc/cpuinfo. The kernel gives Arm processors no name; their numbers
// identify the model. "unknown" if there is neither.
std::string processor_model(const std::string& cpuinfo);

// Limits by the control groups of a process, of version 1 and 2; 0 for no limit. `membership` is the text of
// /proc/self/cgroup, `root` is the mount point /sys/fs/cgroup. The lowest limit of all groups up to the root counts.
int quota_processors(const std::string& membership, const std::string& root);
int64_t quota_memory(const std::string& membership, const std::string& root);

std::string read_file(const std::string& path);  // empty if it cannot be read

}  // namespace gs::host

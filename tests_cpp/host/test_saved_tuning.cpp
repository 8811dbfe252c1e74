// test_saved_tuning.cpp: files of saved thresholds that are read, and files that are ignored with a reason.
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "catch.h"
#include "host/saved_tuning.h"
#include "temporary_folder.h"

using namespace gs::host;
using gs::test::TemporaryFolder;

namespace {

const std::string kKey = "version 9.9\ncpu_model a b\nthreads 2\n";
const std::string kStart = "gatherscatter tuning 1\n" + kKey;

class Folder : public TemporaryFolder {
 public:
  using TemporaryFolder::path;
  std::string path() const { return path("file"); }
  SavedTuning read(const std::string& text) const {
    write("file", text);
    return read_tuning(path(), kKey);
  }
};

// Sets an environment variable for a scope; null removes it.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = {true, before};
    value == nullptr ? unsetenv(name) : setenv(name, value, 1);
  }
  ~Variable() { before_.first ? setenv(name_, before_.second.c_str(), 1) : unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::pair<bool, std::string> before_;
};

}  // namespace

TEST_CASE("the values of a file for this key are read") {
  const Folder folder;
  const SavedTuning saved = folder.read(kStart + "GS_STREAM_BYTES 8388608\nGS_SERIAL_POINTS 9223372036854775807\n");
  REQUIRE(saved.problem.empty());
  REQUIRE(saved.path == folder.path());
  REQUIRE(saved.values.size() == 2);
  REQUIRE(*saved.find("GS_STREAM_BYTES") == 8388608);
  REQUIRE(*saved.find("GS_SERIAL_POINTS") == INT64_MAX);
  REQUIRE(saved.find("GS_FAR_TABLE_BYTES") == nullptr);
  REQUIRE(folder.read(kStart).problem.empty());
  REQUIRE(*folder.read(kStart + "GS_STREAM_BYTES 1").find("GS_STREAM_BYTES") == 1);  // without a last line end
}

TEST_CASE("a file that is not wholly understood gives no value") {
  const Folder folder;
  for (const char* line : {"GS_STREAM_BYTES", "GS_STREAM_BYTES 0", "GS_STREAM_BYTES -1", "GS_STREAM_BYTES 1 ",
                           "GS_STREAM_BYTES  1", "GS_STREAM_BYTES 9223372036854775808", "GS_STREAM_BYTES 1e6",
                           "GS_L2_BYTES 1", "stream_bytes 1", "", "GS_SERIAL_POINTS 5"}) {
    const SavedTuning saved = folder.read(kStart + "GS_SERIAL_POINTS 4\n" + line + "\n");
    INFO(line);
    REQUIRE(saved.problem == "it has the line \"" + std::string(line) + "\"");
    REQUIRE(saved.values.empty());
  }
  for (const std::string& text : {std::string(), std::string("gatherscatter tuning 2\n") + kKey,
                                  std::string(70000, 'x'), std::string("\0\xff\n", 3), kStart.substr(0, 20)}) {
    const SavedTuning saved = folder.read(text);
    REQUIRE_FALSE(saved.problem.empty());
    REQUIRE(saved.values.empty());
  }
}

TEST_CASE("a file for another version or processor is stale") {
  const Folder folder;
  const SavedTuning saved =
      folder.read("gatherscatter tuning 1\nversion 9.8\ncpu_model a b\nthreads 2\nGS_STREAM_BYTES 1\n");
  REQUIRE(saved.problem == "it was measured for \"version 9.8\", not for \"version 9.9\"");
  REQUIRE(saved.values.empty());
  REQUIRE(folder.read("gatherscatter tuning 1\nversion 9.9\n").problem ==
          "it was measured for \"\", not for \"cpu_model a b\"");
}

TEST_CASE("what is no file is no problem; what cannot be read is one") {
  const Folder folder;
  for (const std::string& path :
       {std::string(), folder.path("nothing"), folder.path("none/file"), std::string("/dev/null/file")}) {
    const SavedTuning saved = read_tuning(path, kKey);
    REQUIRE(saved.problem.empty());
    REQUIRE(saved.values.empty());
  }
  REQUIRE_FALSE(read_tuning(std::filesystem::temp_directory_path().string(), kKey).problem.empty());
  REQUIRE_FALSE(read_tuning("/dev/zero", kKey).problem.empty());
  const std::string pipe = folder.path("pipe");
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  REQUIRE_FALSE(read_tuning(pipe, kKey).problem.empty());  // and does not wait for a writer
}

TEST_CASE("where the file lies") {
  const Variable named("GS_TUNING_FILE", nullptr);
  const Variable home("HOME", "/own");
  {
    const Variable folder("XDG_CONFIG_HOME", "/etc/own");
    const std::string path = tuning_path(kKey);
    REQUIRE(path.rfind("/etc/own/gatherscatter/tuning-", 0) == 0);
    REQUIRE(tuning_path("version 9.8\ncpu_model a b\nthreads 2\n") == path);  // a new version replaces the file
    REQUIRE(tuning_path("version 9.9\ncpu_model a b\nthreads 3\n") != path);
    const Variable chosen("GS_TUNING_FILE", "");
    REQUIRE(tuning_path(kKey).empty());
  }
  for (const char* ignored : {static_cast<const char*>(nullptr), "", "relative"}) {
    const Variable folder("XDG_CONFIG_HOME", ignored);
    REQUIRE(tuning_path(kKey).rfind("/own/.config/gatherscatter/tuning-", 0) == 0);
    const Variable nowhere("HOME", nullptr);
    REQUIRE(tuning_path(kKey).empty());
  }
}

TEST_CASE("the key names the host") {
  const std::string key = tuning_key();
  for (const char* name : {"version ", "cpu_model ", "isa ", "l2_bytes ", "llc_bytes ", "threads "}) {
    REQUIRE(("\n" + key).find("\n" + std::string(name)) != std::string::npos);
  }
  REQUIRE(key.back() == '\n');
}

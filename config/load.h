// Flags, environment and file -> one configuration with the origin of every value, or every problem.
//
// Precedence: flag, environment, file, default. The file is TOML; a problem in it names line and column.
// Errors:   every problem at once; warnings (names of the reference engine without effect) beside them
// Threads:  pure but for reading the file
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/environment.h"
#include "config/options.h"
#include "config/problem.h"

namespace deepinfer::config {

struct LoadSources {
  // The file to read; a missing one is a problem when is_file_required, else as if it were empty.
  std::filesystem::path file;
  bool is_file_required = false;
  Variables environment;
  // (key, value) of flags, and how each was written: {"ipc.socket", "/run/x", "--socket"}.
  struct Flag {
    std::string key;
    std::string value;
    std::string spelling;
  };
  std::vector<Flag> flags;
};

// Where a value comes from, for people: "default", "/etc/deepinfer/deepinferd.toml:12:1",
// "DEEPINFER_ENGINE__THREADS", "--socket".
using Origins = std::map<std::string, std::string, std::less<>>;  // by key

struct Loaded {
  Options options;  // of use only when there are no problems
  Origins origins;  // of every applied key
  std::vector<Problem> problems;
  std::vector<Problem> warnings;
};

[[nodiscard]] Loaded load(const LoadSources& sources);

// /etc/deepinfer/deepinferd.toml.
[[nodiscard]] std::filesystem::path default_file();

}  // namespace deepinfer::config

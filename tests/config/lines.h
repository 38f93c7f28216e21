// What the tests of the configuration share: problems as the lines that a user reads, files for one test.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "config/assignments.h"
#include "config/problem.h"
#include "config/toml_settings.h"

namespace deepinfer::config {

inline std::vector<std::string> lines_of(const std::vector<Problem>& problems) {
  std::vector<std::string> lines;
  lines.reserve(problems.size());
  for (const Problem& problem : problems) lines.push_back(to_line(problem));
  return lines;
}

// The text as a file called "f".
inline Assignments read_toml(const std::string& text) {
  Assignments state;
  apply_toml(text, "f", state);
  return state;
}

// A folder of its own for one test, removed with everything in it.
class Folder {
 public:
  Folder() {
    std::string name = ::testing::TempDir() + "/deepinfer-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] std::filesystem::path path() const { return path_; }
  [[nodiscard]] std::filesystem::path write(const std::string& name,
                                            const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

inline std::string content_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return std::move(text).str();
}

}  // namespace deepinfer::config

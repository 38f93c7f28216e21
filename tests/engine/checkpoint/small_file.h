// Hand-made safetensors files of a few bytes, and a folder of a test's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include <unistd.h>

#include "engine/checkpoint/problem.h"

namespace deepinfer::test {

// The 8 bytes in front of a header.
[[nodiscard]] inline std::string length_bytes(std::uint64_t length) {
  std::string bytes;
  for (unsigned shift = 0; shift < 64; shift += 8) {
    bytes += static_cast<char>((length >> shift) & 255U);
  }
  return bytes;
}

// Length, header, `data` zero bytes.
[[nodiscard]] inline std::string small_file(const std::string& header, std::size_t data) {
  return length_bytes(header.size()) + header + std::string(data, '\0');
}

// A folder that goes away with the test.
class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "checkpoint-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
    path_ = name;
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline void write_file(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream out(path, std::ios::binary);
  out << bytes;
  if (!out.flush()) throw std::runtime_error("cannot write " + path.string());
}

[[nodiscard]] inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// All problems as lines "where: what", for messages and searches.
[[nodiscard]] inline std::string text_of(const engine::Problems& problems) {
  std::string text;
  for (const engine::Problem& problem : problems) {
    text.append(problem.where).append(": ").append(problem.what).append("\n");
  }
  return text;
}

}  // namespace deepinfer::test

// A file, mapped read-only into memory.
//
// Lifetime: bytes() points into the mapping: it ends with the MappedFile.
// Threads:  any thread after open.
// Cost:     opening reads nothing; pages come in when they are touched.
// Errors:   kInvalidArgument when the file cannot be opened, is no regular file, or cannot be mapped
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "base/result.h"

namespace deepinfer::engine {

class MappedFile {
 public:
  [[nodiscard]] static Result<MappedFile> open(const std::filesystem::path& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  [[nodiscard]] std::span<const std::uint8_t> bytes() const noexcept { return {data_, size_}; }

 private:
  MappedFile(const std::uint8_t* data, std::size_t size) noexcept : data_(data), size_(size) {}
  const std::uint8_t* data_;  // null for an empty file
  std::size_t size_;
};

// The whole text of a small file. kInvalidArgument when it cannot be read or has over `limit` bytes.
[[nodiscard]] Result<std::string> read_text(const std::filesystem::path& path, std::size_t limit);

}  // namespace deepinfer::engine

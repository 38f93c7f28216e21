// A new file, written from front to end, hashed on the way.
//
// Threads:  confined to one thread.
// Errors:   kInvalidArgument with the system's reason
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "engine/checkpoint/sha256.h"

namespace deepinfer::engine {

class OutputFile {
 public:
  // Fails when the file is there already.
  [[nodiscard]] static Result<std::unique_ptr<OutputFile>> create(
      const std::filesystem::path& path);

  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  [[nodiscard]] Status write(std::span<const std::uint8_t> bytes);
  // Makes the file `size` bytes long; what was not written is a hole of zeros.
  [[nodiscard]] Status extend(std::int64_t size);
  // Closes and reports what the system could not tell earlier. The digest is of what was written.
  [[nodiscard]] Result<std::string> finish();

 private:
  OutputFile(std::string name, int descriptor);
  [[nodiscard]] Error failure() const;

  std::string name_;
  int descriptor_;
  Sha256 hash_;
};

}  // namespace deepinfer::engine

// A file of records that only grows, each written whole by one write().
//
// A record that could not be written whole is cut off again, so that the file ends with a whole one.
//
// Errors:   kInvalidArgument with a complete message (messages.h)
// Threads:  confined to one thread
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/file_descriptor.h"
#include "base/result.h"

namespace deepinfer::cli {

class RecordFile {
 public:
  // Not open; open() must come before write().
  RecordFile() = default;

  // The file must not exist.
  [[nodiscard]] static Result<RecordFile> create(const std::filesystem::path& path);
  // Keeps the first `keep_bytes` and appends after them.
  [[nodiscard]] static Result<RecordFile> reopen(const std::filesystem::path& path,
                                                 std::int64_t keep_bytes);

  [[nodiscard]] bool is_open() const { return file_.is_open(); }
  [[nodiscard]] bool is_empty() const { return length_bytes_ == 0; }
  [[nodiscard]] Status write(std::string_view record);
  // Onto the disk.
  [[nodiscard]] Status sync();
  // Syncs, moves the file to its final name and syncs the folder.
  [[nodiscard]] Status publish(const std::filesystem::path& final_path);

 private:
  RecordFile(FileDescriptor file, std::filesystem::path path, std::int64_t length_bytes);
  [[nodiscard]] Error failed(std::string_view what) const;

  FileDescriptor file_;
  std::filesystem::path path_;
  std::int64_t length_bytes_ = 0;
};

// Makes a rename or a new name in the folder of `path` last.
[[nodiscard]] Status sync_folder_of(const std::filesystem::path& path);

}  // namespace deepinfer::cli

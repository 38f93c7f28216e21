// A batch file, read line by line: never in memory as a whole.
//
// A byte order mark at the start is skipped, CR LF ends a line like LF, blank lines are counted but
// not returned.
//
// Limits:   a line of kLongestLine bytes; longer ones are returned as too long, without their text
// Errors:   kInvalidArgument when the file cannot be opened, read, or is no regular file
// Threads:  confined to one thread
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_descriptor.h"
#include "base/result.h"

namespace deepinfer::cli {

inline constexpr std::size_t kLongestLine = std::size_t{64} << 20;

class InputFile {
 public:
  struct Line {
    std::int64_t number = 0;  // from 1 on, blank lines counted
    std::string_view text;    // until the next call; without the line end
    bool is_too_long = false;
    bool has_end = false;        // a line feed ended it; else the file did
    std::int64_t end_bytes = 0;  // where it ends in the file, the line feed included
  };
  enum class Outcome : std::uint8_t { kLine, kEnd };

  [[nodiscard]] static Result<InputFile> open(const std::filesystem::path& path,
                                              std::size_t longest_line = kLongestLine);

  // The next line that is not blank.
  [[nodiscard]] Result<Outcome> next(Line& line);
  // Goes back to the start.
  [[nodiscard]] Status rewind();

  [[nodiscard]] std::int64_t size_bytes() const { return size_bytes_; }
  // Of all bytes read since the start; of the whole file once next() has said kEnd.
  [[nodiscard]] std::uint64_t fingerprint() const { return fingerprint_; }

 private:
  InputFile(FileDescriptor file, std::int64_t size_bytes, std::size_t longest_line);

  // Appends the next line to line_, blank or not; false at the end of the file.
  Result<bool> read_line();
  void take(std::string_view bytes);
  Result<bool> refill();

  FileDescriptor file_;
  std::int64_t size_bytes_;
  std::size_t longest_line_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;  // of what is unread in buffer_
  std::size_t end_ = 0;
  std::string line_;
  bool is_too_long_ = false;
  bool has_end_ = false;
  std::int64_t consumed_bytes_ = 0;
  std::int64_t number_ = 0;
  std::uint64_t fingerprint_;
};

}  // namespace deepinfer::cli

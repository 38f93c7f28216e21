#include "client/cli/input_file.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

namespace deepinfer::cli {
namespace {

// Large enough that reading costs nothing beside parsing.
constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

// FNV-1a, 64 bits: tells an edited file from the one that was begun; no defence against malice.
constexpr std::uint64_t kFingerprintStart = 14695981039346656037ULL;
constexpr std::uint64_t kFingerprintFactor = 1099511628211ULL;

Error io_error(std::string what) {
  return fail(ErrorCode::kInvalidArgument, std::move(what) + ": " + last_system_error());
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\v\f") == std::string_view::npos;
}

}  // namespace

InputFile::InputFile(FileDescriptor file, std::int64_t size_bytes, std::size_t longest_line)
    : file_(std::move(file)),
      size_bytes_(size_bytes),
      longest_line_(longest_line),
      buffer_(kBufferBytes),
      fingerprint_(kFingerprintStart) {}

Result<InputFile> InputFile::open(const std::filesystem::path& path, std::size_t longest_line) {
  // Non-blocking, so that a pipe without a writer is refused below instead of waited for.
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) return io_error("cannot be opened");
  struct stat facts {};
  if (::fstat(file.number(), &facts) != 0) return io_error("cannot be examined");
  if (S_ISDIR(facts.st_mode)) return fail(ErrorCode::kInvalidArgument, "is a directory");
  if (!S_ISREG(facts.st_mode)) {
    return fail(ErrorCode::kInvalidArgument,
                "is not a regular file; it is read twice, so a pipe will not do");
  }
  return InputFile(std::move(file), facts.st_size, longest_line);
}

Result<InputFile::Outcome> InputFile::next(Line& line) {
  while (true) {
    line_.clear();
    is_too_long_ = false;
    has_end_ = false;
    DEEPINFER_TRY(const bool has_line, read_line());
    if (!has_line) return Outcome::kEnd;
    ++number_;
    std::string_view text = line_;
    if (number_ == 1 && text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    if (text.ends_with('\r')) text.remove_suffix(1);
    if (is_blank(text) && !is_too_long_) continue;
    line = {number_, text, is_too_long_, has_end_, consumed_bytes_};
    return Outcome::kLine;
  }
}

Status InputFile::rewind() {
  if (::lseek(file_.number(), 0, SEEK_SET) != 0) return io_error("cannot be read again");
  begin_ = 0;
  end_ = 0;
  consumed_bytes_ = 0;
  number_ = 0;
  fingerprint_ = kFingerprintStart;
  return Done{};
}

Result<bool> InputFile::read_line() {
  bool has_bytes = false;
  while (true) {
    if (begin_ == end_) {
      DEEPINFER_TRY(const bool has_more, refill());
      if (!has_more) return has_bytes;
    }
    has_bytes = true;
    const auto first = buffer_.begin() + static_cast<std::ptrdiff_t>(begin_);
    const auto last = buffer_.begin() + static_cast<std::ptrdiff_t>(end_);
    const auto feed = std::find(first, last, '\n');
    take({&*first, static_cast<std::size_t>(feed - first)});
    consumed_bytes_ += feed - first;
    begin_ = static_cast<std::size_t>(feed - buffer_.begin());
    if (feed == last) continue;
    ++begin_;
    ++consumed_bytes_;
    has_end_ = true;
    return true;
  }
}

void InputFile::take(std::string_view bytes) {
  if (line_.size() + bytes.size() > longest_line_) {
    is_too_long_ = true;
    line_.clear();
  }
  if (!is_too_long_) line_ += bytes;
}

Result<bool> InputFile::refill() {
  ssize_t count = -1;
  do {
    count = ::read(file_.number(), buffer_.data(), buffer_.size());
  } while (count < 0 && errno == EINTR);
  if (count < 0) return io_error("cannot be read");
  begin_ = 0;
  end_ = static_cast<std::size_t>(count);
  for (std::size_t i = 0; i < end_; ++i) {
    fingerprint_ = (fingerprint_ ^ static_cast<unsigned char>(buffer_[i])) * kFingerprintFactor;
  }
  return count > 0;
}

}  // namespace deepinfer::cli

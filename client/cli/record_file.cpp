#include "client/cli/record_file.h"

#include <cerrno>
#include <cstdio>
#include <utility>

#include <fcntl.h>

#include "client/cli/messages.h"

namespace deepinfer::cli {
namespace {

constexpr mode_t kMode = 0666;  // less the user's mask

Error cannot_create(const std::filesystem::path& path) {
  return usage_error("cannot create the file: " + last_system_error(), path.string(),
                     "choose a folder that exists and may be written");
}

}  // namespace

RecordFile::RecordFile(FileDescriptor file, std::filesystem::path path, std::int64_t length_bytes)
    : file_(std::move(file)), path_(std::move(path)), length_bytes_(length_bytes) {}

Result<RecordFile> RecordFile::create(const std::filesystem::path& path) {
  FileDescriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, kMode));
  if (!file.is_open()) return cannot_create(path);
  return RecordFile(std::move(file), path, 0);
}

Result<RecordFile> RecordFile::reopen(const std::filesystem::path& path, std::int64_t keep_bytes) {
  FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kMode));
  if (!file.is_open()) return cannot_create(path);
  RecordFile records(std::move(file), path, keep_bytes);
  if (::ftruncate(records.file_.number(), keep_bytes) != 0) return records.failed("be cut");
  return records;
}

Status RecordFile::write(std::string_view record) {
  std::string_view rest = record;
  while (!rest.empty()) {
    const ssize_t count = ::write(file_.number(), rest.data(), rest.size());
    if (count >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(count));
      continue;
    }
    if (errno == EINTR) continue;
    Error error = failed("be written");
    // The part that went through is cut off; if that fails too, --resume drops the torn line.
    static_cast<void>(::ftruncate(file_.number(), length_bytes_) == 0);
    return error;
  }
  length_bytes_ += static_cast<std::int64_t>(record.size());
  return Done{};
}

Status RecordFile::sync() {
  if (::fdatasync(file_.number()) != 0) return failed("be synced to the disk");
  return Done{};
}

Status RecordFile::publish(const std::filesystem::path& final_path) {
  if (::fsync(file_.number()) != 0) return failed("be synced to the disk");
  if (std::rename(path_.c_str(), final_path.c_str()) != 0) return failed("be moved into place");
  path_ = final_path;
  return sync_folder_of(final_path);
}

Error RecordFile::failed(std::string_view what) const {
  return usage_error("the file cannot " + std::string(what) + ": " + last_system_error(),
                     path_.string(), "free some space, then run the same command with --resume");
}

Status sync_folder_of(const std::filesystem::path& path) {
  const std::filesystem::path parent = path.has_parent_path() ? path.parent_path() : ".";
  const FileDescriptor folder(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems cannot sync a folder and say EINVAL; they have nothing to sync then.
  if (folder.is_open() && (::fsync(folder.number()) == 0 || errno == EINVAL)) return Done{};
  return usage_error("the folder cannot be synced to the disk: " + last_system_error(),
                     parent.string(), "check the disk, then run the same command with --resume");
}

}  // namespace deepinfer::cli

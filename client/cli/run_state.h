// What an interrupted run was working on, in a file beside its output: --resume compares it.
//
// The file is locked while a run is on, so that two runs never write one output.
// Errors:   kInvalidArgument with a complete message (messages.h)
// Lifetime: the lock is held until the RunState goes
// Threads:  confined to one thread
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/file_descriptor.h"
#include "base/result.h"

namespace deepinfer::cli {

struct RunIdentity {
  std::int64_t input_bytes = 0;
  std::uint64_t input_fingerprint = 0;
  std::string model;
  std::string shard;  // "1/1"
  friend bool operator==(const RunIdentity&, const RunIdentity&) = default;
};

class RunState {
 public:
  // The file must not exist.
  [[nodiscard]] static Result<RunState> create(const std::filesystem::path& path,
                                               const RunIdentity& identity);
  // The file must exist and describe `identity`.
  [[nodiscard]] static Result<RunState> reopen(const std::filesystem::path& path,
                                               const RunIdentity& identity);

  // The run is complete, or never began.
  void remove();

 private:
  RunState(FileDescriptor file, std::filesystem::path path);
  FileDescriptor file_;
  std::filesystem::path path_;
};

}  // namespace deepinfer::cli

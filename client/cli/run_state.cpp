#include "client/cli/run_state.h"

#include <array>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>

#include "client/cli/json_text.h"
#include "client/cli/messages.h"

namespace deepinfer::cli {
namespace {

using nlohmann::json;

// A state file is a few hundred bytes.
constexpr std::size_t kLongestState = 65536;

std::string text_of(const RunIdentity& identity) {
  const nlohmann::ordered_json state = {
      {"format", 1},
      {"input_bytes", identity.input_bytes},
      {"input_fingerprint", std::to_string(identity.input_fingerprint)},
      {"model", identity.model},
      {"shard", identity.shard}};
  return state.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string read_all(const FileDescriptor& file) {
  std::string text(kLongestState, '\0');
  const ssize_t count = ::pread(file.number(), text.data(), text.size(), 0);
  text.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
  return text;
}

// A text that has no such field, or one of another type, gives an empty string.
std::string field(const json& state, const char* name) {
  const auto found = state.find(name);
  if (found == state.end()) return {};
  return found->is_string() ? found->get<std::string>() : found->dump();
}

Status lock(const FileDescriptor& file, const std::filesystem::path& path) {
  if (::flock(file.number(), LOCK_EX | LOCK_NB) == 0) return Done{};
  return usage_error("another deepinfer is writing this output", path.string(),
                     "wait for it to end, or choose another output");
}

// Which part of the identity has changed.
Status compare(const json& state, const RunIdentity& identity, const std::filesystem::path& path) {
  const auto differs = [&](const char* name, const std::string& value) {
    return field(state, name) != value;
  };
  if (differs("input_bytes", std::to_string(identity.input_bytes)) ||
      differs("input_fingerprint", std::to_string(identity.input_fingerprint))) {
    return usage_error("the input changed since this output was begun", path.string(),
                       "restore the input, or choose another output");
  }
  if (differs("model", identity.model)) {
    return usage_error(
        "this output was begun with the model " + field(state, "model") + ", not " + identity.model,
        path.string(), "use that model, or choose another output");
  }
  if (differs("shard", identity.shard)) {
    return usage_error(
        "this output was begun as shard " + field(state, "shard") + ", not " + identity.shard,
        path.string(), "use that shard, or choose another output");
  }
  return Done{};
}

}  // namespace

RunState::RunState(FileDescriptor file, std::filesystem::path path)
    : file_(std::move(file)), path_(std::move(path)) {}

Result<RunState> RunState::create(const std::filesystem::path& path, const RunIdentity& identity) {
  constexpr mode_t kMode = 0666;  // less the user's mask
  FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kMode));
  if (!file.is_open()) {
    return usage_error("cannot create the file: " + last_system_error(), path.string(),
                       "choose a folder that exists and may be written");
  }
  RunState state(std::move(file), path);
  DEEPINFER_TRY([[maybe_unused]] const Done locked, lock(state.file_, path));
  const std::string text = text_of(identity);
  if (::write(state.file_.number(), text.data(), text.size()) ==
      static_cast<ssize_t>(text.size())) {
    return state;
  }
  Error error = usage_error("the file cannot be written: " + last_system_error(), path.string(),
                            "free some space");
  state.remove();
  return error;
}

Result<RunState> RunState::reopen(const std::filesystem::path& path, const RunIdentity& identity) {
  FileDescriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!file.is_open()) {
    return usage_error("cannot open the file: " + last_system_error(), path.string(),
                       "make it readable and writable");
  }
  RunState state(std::move(file), path);
  DEEPINFER_TRY([[maybe_unused]] const Done locked, lock(state.file_, path));
  const auto document = parse_json(read_all(state.file_));
  if (!document || !document->is_object()) {
    return usage_error("the file does not describe a run", path.string(),
                       "remove it and the .partial files, then run without --resume");
  }
  DEEPINFER_TRY([[maybe_unused]] const Done same, compare(*document, identity, path));
  return state;
}

void RunState::remove() {
  std::error_code ignored;  // a file that stays is found by the next run, which says so
  std::filesystem::remove(path_, ignored);
}

}  // namespace deepinfer::cli

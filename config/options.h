// The configuration as plain values: what each part of the program is told when it is built.
//
// A field holds its default. Units and ranges stand beside it; config/fields.cpp checks them.
// docs/reference/configuration.md says what each is for.
// Threads:  plain values
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace deepinfer::config {

enum class LogprobsMode : std::uint8_t { kRaw, kProcessed };
enum class Backend : std::uint8_t { kAuto, kCpu, kCuda };
enum class LogLevel : std::uint8_t { kTrace, kDebug, kInfo, kWarning, kError };
enum class LogFormat : std::uint8_t { kText, kJson };

struct ModelSection {
  std::string path;              // checkpoint folder; empty: not set
  std::int64_t max_context = 0;  // tokens, prompt and answer; 0: what the model allows

  friend bool operator==(const ModelSection&, const ModelSection&) = default;
};

struct EngineSection {
  Backend backend = Backend::kAuto;  // this version has kCpu alone, which is what kAuto means
  std::int64_t threads = 0;          // 0 .. 1024, the caller's included; 0: half the processors
  std::int64_t max_sequences = 256;  // 1 .. 65536, running at once
  std::optional<std::int64_t> max_batch_tokens;  // tokens of one step; see max_batch_tokens()
  std::int64_t prefill_chunk = 512;  // tokens, >= 1: most prompt tokens of a sequence in a step

  friend bool operator==(const EngineSection&, const EngineSection&) = default;
};

struct SamplingSection {
  LogprobsMode logprobs_mode = LogprobsMode::kRaw;

  friend bool operator==(const SamplingSection&, const SamplingSection&) = default;
};

// Of the daemon; the embedded engine has no use for these.
struct IpcSection {
  std::string socket;  // path, under 108 bytes; empty: the daemon's default
  // Submissions of a session, a power of two, 2 .. 16384; completions: four times as many.
  std::int64_t ring_entries = 256;
  // Bytes each way, 64 KiB .. 64 GiB, whole pages; backed by memory when used.
  std::int64_t arena_bytes = 64LL << 20;
  std::int64_t max_clients = 1024;  // sessions at once, 1 .. 65536
  // Both lists empty: whoever the socket's mode admits. Root and the daemon's own user always are.
  std::vector<std::uint32_t> allowed_uids;
  std::vector<std::uint32_t> allowed_gids;  // of the peer's own group
  std::uint32_t socket_mode = 0660;         // permission bits

  friend bool operator==(const IpcSection&, const IpcSection&) = default;
};

struct JobsSection {
  // Answers (a request has n) accepted and not ended, of all clients, >= 1.
  std::int64_t max_queued = 100'000;

  friend bool operator==(const JobsSection&, const JobsSection&) = default;
};

struct DrainSection {
  std::chrono::milliseconds grace{300'000};  // SIGTERM to the end of what was accepted

  friend bool operator==(const DrainSection&, const DrainSection&) = default;
};

struct LogSection {
  LogLevel level = LogLevel::kInfo;
  LogFormat format = LogFormat::kText;
  std::string file;  // path; empty: standard error

  friend bool operator==(const LogSection&, const LogSection&) = default;
};

struct Options {
  ModelSection model;
  EngineSection engine;
  SamplingSection sampling;
  IpcSection ipc;
  JobsSection jobs;
  DrainSection drain;
  LogSection log;

  friend bool operator==(const Options&, const Options&) = default;
};

// What was set, else max(4096, max_sequences): every running sequence needs a place in a step.
[[nodiscard]] std::int64_t max_batch_tokens(const EngineSection& engine);

}  // namespace deepinfer::config

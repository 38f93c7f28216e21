// The configuration as plain values: what each part of the program is told when it is built.
//
// A field holds its default. Units and ranges stand beside it; config/settings.cpp checks them.
// Threads:  plain values
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace deepinfer::config {

enum class LogprobsMode : std::uint8_t { kRaw, kProcessed };

struct ModelSection {
  std::string path;              // checkpoint folder; empty: not set
  std::int64_t max_context = 0;  // tokens, prompt and answer; 0: what the model allows
};

struct EngineSection {
  std::int64_t threads = 0;          // 0 .. 1024, the caller's included; 0: half the processors
  std::int64_t max_sequences = 256;  // 1 .. 65536, running at once
  std::optional<std::int64_t> max_batch_tokens;  // tokens of one step; see max_batch_tokens()
  std::int64_t prefill_chunk = 512;  // tokens, >= 1: most prompt tokens of a sequence in a step
};

struct SamplingSection {
  LogprobsMode logprobs_mode = LogprobsMode::kRaw;
};

struct Options {
  ModelSection model;
  EngineSection engine;
  SamplingSection sampling;
};

// What was set, else max(4096, max_sequences): every running sequence needs a place in a step.
[[nodiscard]] std::int64_t max_batch_tokens(const EngineSection& engine);

}  // namespace deepinfer::config

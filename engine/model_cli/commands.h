// The subcommands of deepinfer-model: what each is told, and its entry point.
//
// Each prints its report to standard output, its errors to standard error, and returns the exit code
// of the process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace deepinfer::engine::cli {

struct InspectOptions {
  std::filesystem::path folder;
  bool json = false;
};

struct VerifyOptions {
  std::filesystem::path folder;
  bool json = false;
};

struct SynthCommand {
  std::string preset;
  std::uint64_t seed = 0;
  bool sparse = false;
  std::filesystem::path output;
  bool json = false;
};

struct ExportOptions {
  std::filesystem::path folder;
  std::filesystem::path output;
  bool json = false;
};

[[nodiscard]] int run_inspect(const InspectOptions& options);
[[nodiscard]] int run_verify(const VerifyOptions& options);
[[nodiscard]] int run_synth(const SynthCommand& options);
[[nodiscard]] int run_export(const ExportOptions& options);

}  // namespace deepinfer::engine::cli

#include "engine/model_cli/command_line.h"

#include <charconv>
#include <exception>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>

#include "engine/checkpoint/synth/presets.h"
#include "engine/model_cli/commands.h"
#include "engine/model_cli/terminal.h"

namespace deepinfer::engine::cli {
namespace {

constexpr const char* kExitCodes =
    "Exit codes: 0 done; 2 wrong usage, or a file that cannot be read or written; "
    "4 the checkpoint cannot be used; 130, 143 interrupted.";

struct Arguments {
  InspectOptions inspect;
  VerifyOptions verify;
  SynthCommand synth;
  ExportOptions exporting;
  std::string dtype = "bf16";
};

// Declares the flags; CLI11 fills `arguments` and `exit_code` while it parses.
class CommandLine {
 public:
  CommandLine() {
    app_.set_version_flag("--version", std::string("deepinfer-model ") + DEEPINFER_VERSION);
    app_.require_subcommand(1);
    app_.footer(kExitCodes);
    add_inspect();
    add_verify();
    add_synth();
    add_export();
  }

  int run(int argc, const char* const* argv) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      return report(error);
    }
    return exit_code_;
  }

 private:
  int report(const CLI::ParseError& error) {
    // Help and version come as "errors" with code 0.
    if (error.get_exit_code() == 0) return app_.exit(error);
    print_error({.where = "command line",
                 .what = error.what(),
                 .mend = "see deepinfer-model --help, or --help behind a command"});
    return kUsage;
  }

  void add_inspect() {
    CLI::App* command = app_.add_subcommand(
        "inspect", "Show dimensions, layer roles, tensors and bytes by kind, memory to run");
    InspectOptions& options = arguments_.inspect;
    command->add_option("DIR", options.folder, "Folder of the checkpoint")->required();
    command->add_flag("--json", options.json, "Print one JSON object");
    command->callback([this] { exit_code_ = run_inspect(arguments_.inspect); });
  }

  void add_verify() {
    CLI::App* command = app_.add_subcommand(
        "verify", "Check structure, numbers, tokenizer and checksums; name every problem");
    VerifyOptions& options = arguments_.verify;
    command->add_option("DIR", options.folder, "Folder of the checkpoint")->required();
    command->add_flag("--json", options.json, "Print one JSON object");
    command->callback([this] { exit_code_ = run_verify(arguments_.verify); });
  }

  void add_synth() {
    CLI::App* command =
        app_.add_subcommand("synth", "Write a checkpoint of random, well-scaled weights");
    SynthCommand& options = arguments_.synth;
    std::vector<std::string> presets;
    for (const std::string_view name : preset_names()) presets.emplace_back(name);
    command->add_option("--preset", options.preset, "Shape of the model")
        ->required()
        ->check(CLI::IsMember(presets));
    // As text: the library would take a negative number for a large one.
    command->add_option("--seed", seed_text_, "Seed of all weights, 0 to 2^64 - 1")
        ->capture_default_str()
        ->check([this](const std::string& text) { return read_seed(text); });
    command->add_flag("--sparse", options.sparse, "Headers and holes only, in the final sizes");
    command->add_option("-o,--output", options.output, "Folder to make")->required();
    command->add_flag("--json", options.json, "Print one JSON object");
    command->callback([this] { exit_code_ = run_synth(arguments_.synth); });
  }

  // What is wrong with the text; empty when it is a seed.
  std::string read_seed(const std::string& text) {
    const char* end = text.data() + text.size();
    const std::from_chars_result read = std::from_chars(text.data(), end, arguments_.synth.seed);
    if (read.ec == std::errc() && read.ptr == end) return {};
    return "must be a whole number from 0 to 2^64 - 1, is " + text;
  }

  void add_export() {
    CLI::App* command = app_.add_subcommand("export", "Write a dequantised copy for other tools");
    ExportOptions& options = arguments_.exporting;
    command->add_option("DIR", options.folder, "Folder of the checkpoint")->required();
    command->add_option("--dtype", arguments_.dtype, "Type of the copy's weights")
        ->capture_default_str()
        ->check(CLI::IsMember({"bf16"}));
    command->add_option("-o,--output", options.output, "Folder to make")->required();
    command->add_flag("--json", options.json, "Print one JSON object");
    command->callback([this] { exit_code_ = run_export(arguments_.exporting); });
  }

  CLI::App app_{"deepinfer-model: inspect, check, generate and convert checkpoints",
                "deepinfer-model"};
  Arguments arguments_;
  std::string seed_text_ = "0";
  int exit_code_ = kDone;
};

}  // namespace

int run_command_line(int argc, const char* const* argv) {
  try {
    return CommandLine().run(argc, argv);
  } catch (const std::exception& error) {
    // Memory, or a stream that the system took away: nothing below has a better answer.
    print_error(
        {.where = "deepinfer-model", .what = error.what(), .mend = "free memory and retry"});
    return kUsage;
  }
}

}  // namespace deepinfer::engine::cli

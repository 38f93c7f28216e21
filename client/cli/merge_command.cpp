#include "client/cli/merge_command.h"

#include <filesystem>
#include <limits>
#include <system_error>
#include <unordered_set>
#include <utility>

#include <CLI/CLI.hpp>

#include "client/cli/finished_records.h"
#include "client/cli/input_file.h"
#include "client/cli/messages.h"
#include "client/cli/record_file.h"

namespace deepinfer::cli {
namespace {

// Collects records and remembers whose they are.
class Merger {
 public:
  Merger(RecordFile& output, const CommandContext& context) : output_(output), context_(context) {}

  // The number of a signal that came, or 0.
  Result<int> add(const std::string& shard) {
    auto file = InputFile::open(shard, std::numeric_limits<std::size_t>::max());
    if (!file) return usage_error(file.error().message, shard, "name the output of a batch");
    InputFile::Line line;
    while (true) {
      if (const int number = context_.stop_signal(); number != 0) return number;
      const auto outcome = file->next(line);
      if (!outcome) return usage_error(outcome.error().message, shard, "check the disk");
      if (*outcome == InputFile::Outcome::kEnd) return 0;
      DEEPINFER_TRY([[maybe_unused]] const Done added, add_record(line, shard));
    }
  }

 private:
  Status add_record(const InputFile::Line& line, const std::string& shard) {
    const auto name = line.has_end ? name_of_record(line.text) : std::nullopt;
    const std::string place = "line " + std::to_string(line.number);
    if (!name) {
      return usage_error(place + " is not a record", shard,
                         "finish that shard with --resume, then merge again");
    }
    if (!lines_.insert(name->line).second) {
      return usage_error(
          place + " is a second record of line " + std::to_string(name->line) + " of the input",
          shard, "merge the shards of one input, each once");
    }
    if (name->custom_id && !custom_ids_.insert(*name->custom_id).second) {
      return usage_error(place + " repeats the custom_id " + *name->custom_id, shard,
                         "merge the shards of one input, each once");
    }
    return output_.write(std::string(line.text) + "\n");
  }

  RecordFile& output_;
  const CommandContext& context_;
  std::unordered_set<std::int64_t> lines_;
  std::unordered_set<std::string> custom_ids_;
};

Result<int> merge_into(const std::filesystem::path& partial, const MergeArguments& arguments,
                       const CommandContext& context) {
  DEEPINFER_TRY(RecordFile output, RecordFile::create(partial));
  Merger merger(output, context);
  for (const std::string& shard : arguments.shards) {
    DEEPINFER_TRY(const int number, merger.add(shard));
    if (number != 0) return kExitSignal + number;
  }
  DEEPINFER_TRY([[maybe_unused]] const Done published, output.publish(arguments.output));
  return kExitDone;
}

}  // namespace

void add_merge(CLI::App& command, MergeArguments& arguments) {
  command.add_option("SHARD", arguments.shards, "Output files of the shards")->required();
  command.add_option("-o,--output", arguments.output, "File for all records")->required();
}

int run_merge(const MergeArguments& arguments, const CommandContext& context) {
  std::error_code ignored;  // what cannot be looked at cannot be created, which is reported
  if (std::filesystem::exists(arguments.output, ignored)) {
    print_error(context.err, config::to_line({"the file exists", arguments.output,
                                              "remove it, or choose another name"}));
    return kExitUsage;
  }
  const std::filesystem::path partial = arguments.output + ".partial";
  const bool was_there = std::filesystem::exists(partial, ignored);
  const auto outcome = merge_into(partial, arguments, context);
  if (outcome && *outcome == kExitDone) return kExitDone;
  if (!was_there) std::filesystem::remove(partial, ignored);
  if (outcome) return *outcome;
  print_error(context.err, outcome.error().message);
  return kExitUsage;
}

}  // namespace deepinfer::cli

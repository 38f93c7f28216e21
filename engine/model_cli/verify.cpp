// deepinfer-model verify: runs every check, prints every problem.
#include <iostream>

#include <nlohmann/json.hpp>

#include "engine/checkpoint/config_json.h"
#include "engine/checkpoint/schema_check.h"
#include "engine/checkpoint/shard_set.h"
#include "engine/model_cli/commands.h"
#include "engine/model_cli/terminal.h"
#include "engine/model_cli/verify_files.h"
#include "engine/model_cli/verify_numbers.h"

namespace deepinfer::engine::cli {
namespace {

void append(Problems& all, const Problems& more) {
  all.insert(all.end(), more.begin(), more.end());
}

struct Verified {
  Problems problems;
  std::int64_t tensors = 0;
  std::int64_t bytes = 0;
};

Verified check_everything(const std::filesystem::path& folder) {
  Verified out;
  const ShapeOrProblems config = read_config(folder);
  const ShardSet set = open_shards(folder);
  append(out.problems, config.problems);
  append(out.problems, set.problems);
  if (config.shape && !set.unusable) {
    append(out.problems, match_schema(expected_tensors(*config.shape), set).problems);
  }
  for (const Shard& shard : set.shards) {
    for (const Tensor& tensor : shard.tensors) {
      ++out.tensors;
      out.bytes += tensor.bytes;
    }
  }
  append(out.problems, check_tokenizer(folder, config.shape ? config.shape->vocabulary : -1));
  {
    ProgressLine line("checking numbers");
    append(out.problems,
           check_numbers(set, [&](std::int64_t done) { return line.show(done, out.bytes); }));
  }
  ProgressLine line("checking sums");
  append(out.problems, check_sums(folder, [&](std::int64_t done, std::int64_t total) {
           return line.show(done, total);
         }));
  return out;
}

void print_json(const std::filesystem::path& folder, const Verified& verified) {
  nlohmann::ordered_json report = {{"folder", folder.string()},
                                   {"ok", verified.problems.empty()},
                                   {"tensors", verified.tensors},
                                   {"bytes", verified.bytes},
                                   {"problems", nlohmann::ordered_json::array()}};
  for (const Problem& problem : verified.problems) {
    report["problems"].push_back(
        {{"where", problem.where}, {"what", problem.what}, {"mend", problem.mend}});
  }
  std::cout << report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
}

}  // namespace

int run_verify(const VerifyOptions& options) {
  if (const int code = check_folder(options.folder); code != kDone) return code;
  const Verified verified = check_everything(options.folder);
  print_problems(verified.problems, /*limit=*/0);
  if (interrupted()) return interrupt_exit_code();
  if (options.json) print_json(options.folder, verified);
  if (!verified.problems.empty()) return kModel;
  if (!options.json) {
    std::cout << "sound: " << grouped(verified.tensors) << " tensors, " << grouped(verified.bytes)
              << " bytes\n";
  }
  return kDone;
}

}  // namespace deepinfer::engine::cli

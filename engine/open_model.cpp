#include "engine/open_model.h"

#include <algorithm>
#include <string>
#include <utility>

namespace deepinfer::engine {
namespace {

EngineError model_error(Problem problem) {
  return {.fault = EngineFault::kModel,
          .what = std::move(problem.what),
          .where = std::move(problem.where),
          .mend = std::move(problem.mend),
          .all = {}};
}

EngineError model_error(const Problems& problems) {
  EngineError error = model_error(problems.front());
  for (const Problem& problem : problems) {
    error.all.push_back(problem.what + " (" + problem.where + "): " + problem.mend);
  }
  return error;
}

// What the checkpoint's config and its tokenizer must agree on.
Problems check_tokenizer(const Checkpoint& checkpoint, const Tokenizer& tokenizer,
                         const std::vector<std::int32_t>& token_map) {
  const ModelShape& shape = checkpoint.shape();
  const std::string where = (checkpoint.folder() / "tokenizer.json").string();
  const std::string mend = "use the tokenizer.json that belongs to this checkpoint";
  Problems problems;
  if (tokenizer.vocabulary() != shape.vocabulary) {
    problems.push_back({where,
                        "the tokenizer has " + std::to_string(tokenizer.vocabulary()) +
                            " tokens, config.json says " + std::to_string(shape.vocabulary),
                        mend});
    return problems;
  }
  if (token_map.empty()) return problems;
  const std::int64_t compressed =
      std::int64_t{1} + *std::max_element(token_map.begin(), token_map.end());
  if (compressed != shape.engram.compressed_vocabulary) {
    problems.push_back({where,
                        "the tokenizer gives " + std::to_string(compressed) +
                            " compressed ids, config.json says " +
                            std::to_string(shape.engram.compressed_vocabulary),
                        mend});
  }
  return problems;
}

}  // namespace

std::unique_ptr<OpenModel> open_model(const std::filesystem::path& folder, EngineError& error) {
  Checkpoint::Opened opened = Checkpoint::open(folder);
  if (opened.checkpoint == nullptr) {
    error = model_error(opened.problems);
    return nullptr;
  }
  auto model = std::make_unique<OpenModel>();
  model->checkpoint = std::move(opened.checkpoint);
  const std::filesystem::path file = folder / "tokenizer.json";
  auto tokenizer = Tokenizer::load(file);
  if (!tokenizer) {
    error = model_error(Problem{file.string(), tokenizer.error().message,
                                "restore the checkpoint's tokenizer.json"});
    return nullptr;
  }
  model->tokenizer = *std::move(tokenizer);
  if (!model->checkpoint->shape().engram.layer_ids.empty()) {
    model->token_map = model->tokenizer->engram_map();
  }
  const Problems problems =
      check_tokenizer(*model->checkpoint, *model->tokenizer, model->token_map);
  if (!problems.empty()) {
    error = model_error(problems);
    return nullptr;
  }
  model->weights = load_weights(*model->checkpoint);
  return model;
}

}  // namespace deepinfer::engine

#include "engine/checkpoint/synth/synth_folder.h"

#include <cstddef>
#include <iomanip>
#include <sstream>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "engine/checkpoint/assets.h"
#include "engine/checkpoint/config_json.h"
#include "engine/checkpoint/folder_writer.h"
#include "engine/checkpoint/schema.h"
#include "engine/checkpoint/synth/presets.h"
#include "engine/checkpoint/synth/synth_weights.h"

namespace deepinfer::engine {
namespace {

std::string shard_name(std::int64_t shard, std::int64_t shards) {
  std::ostringstream name;
  name << "model-" << std::setfill('0') << std::setw(5) << shard << "-of-" << std::setw(5) << shards
       << ".safetensors";
  return name.str();
}

nlohmann::ordered_json added_token(const char* spelling) {
  return {{"__type", "AddedToken"}, {"content", spelling}, {"lstrip", false},
          {"normalized", false},    {"rstrip", false},     {"single_word", false}};
}

std::string tokenizer_config(const ModelShape& shape) {
  const nlohmann::ordered_json config = {{"add_bos_token", false},
                                         {"add_eos_token", false},
                                         {"bos_token", added_token("<｜begin▁of▁sentence｜>")},
                                         {"eos_token", added_token("<｜end▁of▁sentence｜>")},
                                         {"pad_token", added_token("<｜▁pad▁｜>")},
                                         {"clean_up_tokenization_spaces", false},
                                         {"model_max_length", shape.max_positions},
                                         {"tokenizer_class", "PreTrainedTokenizerFast"}};
  return config.dump(2) + "\n";
}

// The specs of one shard, as a writer takes them.
std::vector<OutputTensor> outputs(const std::vector<TensorSpec>& specs, std::size_t begin,
                                  std::size_t end) {
  std::vector<OutputTensor> tensors;
  for (std::size_t i = begin; i < end; ++i) {
    tensors.push_back({specs[i].name, specs[i].type, specs[i].shape, specs[i].bytes()});
  }
  return tensors;
}

Status add_small_files(FolderWriter& writer, const std::string& config, const ModelShape& shape) {
  DEEPINFER_TRY(const std::string tokenizer, released_tokenizer());
  DEEPINFER_TRY([[maybe_unused]] const Done first, writer.add_text("config.json", config));
  DEEPINFER_TRY([[maybe_unused]] const Done second, writer.add_text("tokenizer.json", tokenizer));
  return writer.add_text("tokenizer_config.json", tokenizer_config(shape));
}

Status add_weights(FolderWriter& writer, const ModelShape& shape,
                   const std::vector<TensorSpec>& specs, std::uint64_t seed) {
  SynthWeights weights(shape, seed);
  const std::int64_t shards = specs.back().shard;
  for (std::size_t begin = 0; begin < specs.size();) {
    std::size_t end = begin;
    while (end < specs.size() && specs[end].shard == specs[begin].shard) ++end;
    const auto produce = [&](std::size_t index, std::int64_t offset,
                             std::span<std::uint8_t> out) -> Status {
      weights.fill(specs[begin + index], offset, out);
      return Done{};
    };
    DEEPINFER_TRY([[maybe_unused]] const Done added,
                  writer.add_shard(shard_name(specs[begin].shard, shards),
                                   outputs(specs, begin, end), produce));
    begin = end;
  }
  return Done{};
}

}  // namespace

Result<SynthSummary> write_synth(const std::filesystem::path& folder, const SynthOptions& options) {
  DEEPINFER_TRY(const std::string config, preset_config(options.preset));
  const ShapeOrProblems parsed = parse_config(config, options.preset);
  if (!parsed.shape) {
    return fail(ErrorCode::kInternal, "preset " + options.preset + ": " +
                                          parsed.problems.front().where + " " +
                                          parsed.problems.front().what);
  }
  const std::vector<TensorSpec> specs = expected_tensors(*parsed.shape);
  SynthSummary summary;
  summary.tensors = static_cast<std::int64_t>(specs.size());
  summary.files = specs.back().shard;
  for (const TensorSpec& spec : specs) summary.bytes += spec.bytes();

  FolderWriter::Options writer_options;
  writer_options.sparse = options.sparse;
  if (options.progress) {
    writer_options.progress = [&](std::int64_t done) {
      return options.progress(done, summary.bytes);
    };
  }
  DEEPINFER_TRY(const auto writer, FolderWriter::create(folder, std::move(writer_options)));
  DEEPINFER_TRY([[maybe_unused]] const Done small, add_small_files(*writer, config, *parsed.shape));
  DEEPINFER_TRY([[maybe_unused]] const Done large,
                add_weights(*writer, *parsed.shape, specs, options.seed));
  DEEPINFER_TRY([[maybe_unused]] const Done done, writer->commit());
  return summary;
}

}  // namespace deepinfer::engine

#include "engine/model_cli/export_folder.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iomanip>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "engine/checkpoint/folder_writer.h"
#include "engine/checkpoint/mapped_file.h"
#include "kernels/float_types.h"
#include "kernels/gemm/linear.h"

namespace deepinfer::engine::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::int64_t kMaxShardBytes = 5'000'000'000;
constexpr std::size_t kMaxSmallFile = 256U << 20U;

// A tensor of the copy and where its numbers come from.
struct Source {
  const Tensor* weight = nullptr;
  const Tensor* scale = nullptr;  // null: copied as it is
  bool is_engram_table = false;   // scales by row and group, not by block
  OutputTensor output;
};

std::string scale_name(const std::string& weight) {
  constexpr std::string_view kEnding = "weight";
  return weight.substr(0, weight.size() - kEnding.size()) + "scale";
}

std::vector<Source> sources_of(const Checkpoint& checkpoint) {
  std::vector<Source> sources;
  for (const TensorSpec& spec : checkpoint.specs()) {
    if (spec.type == StoredType::kF8E8m0) continue;
    Source source;
    source.weight = checkpoint.find(spec.name);
    source.output = {spec.name, spec.type, spec.shape, spec.bytes()};
    if (spec.type == StoredType::kF8E4m3 || spec.type == StoredType::kI8) {
      source.scale = checkpoint.find(scale_name(spec.name));
      source.is_engram_table = spec.kind == TensorKind::kEngramTable;
      source.output.type = StoredType::kBf16;
      if (spec.type == StoredType::kI8) source.output.shape.back() *= 2;
      source.output.bytes = 2 * spec.parameters();
    }
    sources.push_back(std::move(source));
  }
  return sources;
}

// One row of the weight as fp32.
void unpack_row(const Source& source, std::int64_t row, std::vector<float>& out) {
  const std::int64_t cols = source.output.shape.back();
  out.resize(static_cast<std::size_t>(cols));
  kernels::WeightMatrix matrix;
  matrix.format = source.weight->type == StoredType::kI8 ? kernels::WeightFormat::kFp4Group32
                                                         : kernels::WeightFormat::kFp8Block32;
  matrix.data = source.weight->data;
  matrix.scales = source.scale->data;
  matrix.outputs = source.output.shape.front();
  matrix.cols = cols;
  if (source.is_engram_table) {
    // A matrix of this one row has the scale layout of the table: one for each group of the row.
    matrix.data = source.weight->data + row * cols;
    matrix.scales = source.scale->data + row * source.scale->shape.back();
    matrix.outputs = 1;
    row = 0;
  }
  kernels::unpack_weight_row(matrix, row, out.data());
}

// Bytes [offset, offset + out.size()) of the copy's tensor.
void fill(const Source& source, std::int64_t offset, std::span<std::uint8_t> out) {
  if (source.scale == nullptr) {
    std::memcpy(out.data(), source.weight->data + offset, out.size());
    return;
  }
  const std::int64_t cols = source.output.shape.back();
  std::int64_t element = offset / 2;
  std::vector<float> row;
  for (std::size_t at = 0; at < out.size();) {
    unpack_row(source, element / cols, row);
    for (std::int64_t col = element % cols; col < cols && at < out.size(); ++col, ++element) {
      const kernels::Bf16 number = kernels::to_bf16(row[static_cast<std::size_t>(col)]);
      std::memcpy(out.data() + at, &number.bits, sizeof(number.bits));
      at += sizeof(number.bits);
    }
  }
}

// Cuts the list into files: [begin of each, end of the last].
std::vector<std::size_t> cut_into_files(const std::vector<Source>& sources) {
  std::vector<std::size_t> cuts = {0};
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (bytes > 0 && bytes + sources[i].output.bytes > kMaxShardBytes) {
      cuts.push_back(i);
      bytes = 0;
    }
    bytes += sources[i].output.bytes;
  }
  cuts.push_back(sources.size());
  return cuts;
}

Result<std::string> plain_config(const fs::path& folder) {
  DEEPINFER_TRY(const std::string text, read_text(folder / "config.json", kMaxSmallFile));
  Json config = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!config.is_object()) {
    return fail(ErrorCode::kDataLoss, "config.json changed while it was read");
  }
  const bool is_flat = !config.contains("text_config");
  config.erase("quantization_config");
  for (const char* key : {"expert_dtype", "scale_fmt"}) config.erase(key);
  if (is_flat) config["dtype"] = "bf16";
  return config.dump(2) + "\n";
}

Status copy_small_files(const fs::path& from, FolderWriter& writer) {
  DEEPINFER_TRY(const std::string config, plain_config(from));
  DEEPINFER_TRY([[maybe_unused]] const Done first, writer.add_text("config.json", config));
  for (const char* file : {"tokenizer.json", "tokenizer_config.json", "generation_config.json"}) {
    std::error_code ignored;
    if (!fs::exists(from / file, ignored)) continue;
    DEEPINFER_TRY(const std::string text, read_text(from / file, kMaxSmallFile));
    DEEPINFER_TRY([[maybe_unused]] const Done copied, writer.add_text(file, text));
  }
  return Done{};
}

Status add_files(const std::vector<Source>& sources, const std::vector<std::size_t>& cuts,
                 FolderWriter& writer) {
  const std::size_t files = cuts.size() - 1;
  for (std::size_t file = 0; file < files; ++file) {
    std::vector<OutputTensor> tensors;
    for (std::size_t i = cuts[file]; i < cuts[file + 1]; ++i) tensors.push_back(sources[i].output);
    std::ostringstream name;
    name << "model-" << std::setfill('0') << std::setw(5) << file + 1 << "-of-" << std::setw(5)
         << files << ".safetensors";
    const auto produce = [&](std::size_t index, std::int64_t offset,
                             std::span<std::uint8_t> out) -> Status {
      fill(sources[cuts[file] + index], offset, out);
      return Done{};
    };
    DEEPINFER_TRY([[maybe_unused]] const Done added,
                  writer.add_shard(name.str(), tensors, produce));
  }
  return Done{};
}

}  // namespace

Result<WrittenFolder> export_bf16(const Checkpoint& checkpoint, const fs::path& folder,
                                  const std::function<bool(std::int64_t, std::int64_t)>& progress) {
  const std::vector<Source> sources = sources_of(checkpoint);
  const std::vector<std::size_t> cuts = cut_into_files(sources);
  WrittenFolder written{.folder = folder.string(),
                        .tensors = static_cast<std::int64_t>(sources.size()),
                        .files = static_cast<std::int64_t>(cuts.size()) - 1};
  for (const Source& source : sources) written.bytes += source.output.bytes;

  FolderWriter::Options options;
  options.progress = [&](std::int64_t done) { return progress(done, written.bytes); };
  DEEPINFER_TRY(const auto writer, FolderWriter::create(folder, std::move(options)));
  DEEPINFER_TRY([[maybe_unused]] const Done small, copy_small_files(checkpoint.folder(), *writer));
  DEEPINFER_TRY([[maybe_unused]] const Done large, add_files(sources, cuts, *writer));
  DEEPINFER_TRY([[maybe_unused]] const Done done, writer->commit());
  return written;
}

}  // namespace deepinfer::engine::cli

// deepinfer-model inspect: the report is built once as JSON and printed as such or as tables.
#include <array>
#include <cstddef>
#include <iomanip>
#include <iostream>
#include <string>

#include <nlohmann/json.hpp>

#include "engine/checkpoint/checkpoint.h"
#include "engine/kv/cache_layout.h"
#include "engine/model_cli/commands.h"
#include "engine/model_cli/terminal.h"

namespace deepinfer::engine::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kShownProblems = 100;
constexpr std::size_t kKinds = static_cast<std::size_t>(TensorKind::kVision) + 1;

Json dimensions_of(const ModelShape& shape) {
  return {{"vocabulary", shape.vocabulary},
          {"hidden", shape.hidden},
          {"layers", shape.layers},
          {"decoder_begin", shape.decoder_begin()},
          {"heads", shape.heads},
          {"head_dim", shape.head_dim},
          {"rope_dims", shape.rope_dims},
          {"q_rank", shape.q_rank},
          {"o_groups", shape.o_groups},
          {"o_rank", shape.o_rank},
          {"window_tokens", shape.window},
          {"max_positions", shape.max_positions},
          {"index_heads", shape.index_heads},
          {"index_head_dim", shape.index_head_dim},
          {"index_top", shape.index_top},
          {"candidate_blocks", shape.candidate_blocks},
          {"candidate_block_size", shape.candidate_block_size},
          {"routed_experts", shape.routed_experts},
          {"experts_per_token", shape.experts_per_token},
          {"expert_hidden", shape.expert_hidden},
          {"hyper_connection_copies", shape.copies},
          {"engram_heads", shape.engram.heads},
          {"engram_head_dim", shape.engram.head_dim},
          {"engram_table_rows", shape.engram.table_rows},
          {"draft_layers", shape.draft.layers},
          {"draft_block", shape.draft.layers > 0 ? shape.draft.block : 0},
          {"draft_routed_experts", shape.draft.routed_experts},
          {"draft_experts_per_token", shape.draft.experts_per_token},
          {"vision_layers", shape.vision.layers},
          {"vision_hidden", shape.vision.hidden}};
}

Json layer_row(const ModelShape& shape, std::int64_t layer) {
  const LayerRole& role = shape.role(layer);
  const auto or_null = [](std::int64_t source) { return source < 0 ? Json() : Json(source); };
  const char* candidates = role.is_candidate_source ? "source"
                           : role.uses_candidates   ? "inside"
                                                    : "";
  return {{"layer", layer},
          {"compress_ratio", role.compress_ratio},
          {"kv_source", or_null(role.kv_source)},
          {"index_source", or_null(role.index_source)},
          {"candidates", *candidates == '\0' ? Json() : Json(candidates)},
          {"engram", role.has_engram},
          {"draft_target", role.is_draft_target}};
}

Json tensors_of(const Checkpoint& checkpoint) {
  struct Sum {
    std::int64_t tensors = 0;
    std::int64_t bytes = 0;
    std::int64_t parameters = 0;
  };
  std::array<Sum, kKinds> sums = {};
  Sum total;
  for (const TensorSpec& spec : checkpoint.specs()) {
    for (Sum* sum : {&sums[static_cast<std::size_t>(spec.kind)], &total}) {
      ++sum->tensors;
      sum->bytes += spec.bytes();
      sum->parameters += spec.parameters();
    }
  }
  const auto row = [](const char* kind, const Sum& sum) {
    return Json{{"kind", kind},
                {"parameters", sum.parameters},
                {"bytes", sum.bytes},
                {"tensors", sum.tensors}};
  };
  Json rows = Json::array();
  for (std::size_t i = 0; i < kKinds; ++i) {
    if (sums[i].tensors > 0) rows.push_back(row(name_of(static_cast<TensorKind>(i)), sums[i]));
  }
  return {{"by_kind", std::move(rows)}, {"total", row("total", total)}};
}

Json memory_of(const Checkpoint& checkpoint) {
  std::int64_t tables = 0;
  std::int64_t all = 0;
  for (const TensorSpec& spec : checkpoint.specs()) {
    all += spec.bytes();
    if (spec.kind == TensorKind::kEngramTable) tables += spec.bytes();
  }
  const ModelShape& shape = checkpoint.shape();
  const CacheLayout layout = cache_layout(shape);
  const auto longest = static_cast<std::int64_t>(layout.bytes_per_token() *
                                                 static_cast<double>(shape.max_positions));
  return {{"weight_bytes", all},
          {"engram_table_bytes", tables},
          {"state_bytes_per_sequence", layout.slot_bytes},
          {"kv_bytes_per_token", layout.bytes_per_token()},
          {"kv_bytes_at_max_positions", longest}};
}

void print_dimensions(const Json& dimensions) {
  std::cout << "Dimensions\n";
  for (const auto& [name, value] : dimensions.items()) {
    std::cout << "  " << std::left << std::setw(26) << name << std::right << value.dump() << "\n";
  }
}

void print_layers(const Json& layers) {
  std::cout << "\nLayer roles\n"
            << "  layer  ratio  kv from  selection from  candidates  engram  draft target\n";
  const auto text = [](const Json& value) {
    if (value.is_null()) return std::string("-");
    return value.is_string() ? value.get<std::string>() : value.dump();
  };
  for (const Json& row : layers) {
    std::cout << "  " << std::setw(5) << text(row["layer"]) << std::setw(7)
              << text(row["compress_ratio"]) << std::setw(9) << text(row["kv_source"])
              << std::setw(16) << text(row["index_source"]) << std::setw(12)
              << text(row["candidates"]) << std::setw(8) << (row["engram"] ? "yes" : "-")
              << std::setw(14) << (row["draft_target"] ? "yes" : "-") << "\n";
  }
}

void print_tensor_row(const Json& row) {
  std::cout << "  " << std::left << std::setw(28) << row["kind"].get<std::string>() << std::right
            << std::setw(20) << grouped(row["parameters"]) << std::setw(18) << grouped(row["bytes"])
            << std::setw(10) << grouped(row["tensors"]) << "\n";
}

void print_tensors(const Json& tensors) {
  std::cout << "\nTensors\n"
            << "  " << std::left << std::setw(28) << "kind" << std::right << std::setw(20)
            << "parameters" << std::setw(18) << "bytes" << std::setw(10) << "tensors\n";
  for (const Json& row : tensors["by_kind"]) print_tensor_row(row);
  print_tensor_row(tensors["total"]);
}

void print_memory(const Json& memory) {
  const auto line = [](const char* label, std::int64_t bytes) {
    std::cout << "  " << std::left << std::setw(36) << label << std::right << std::setw(18)
              << grouped(bytes) << "  " << human_bytes(bytes) << "\n";
  };
  const std::int64_t weights = memory["weight_bytes"];
  const std::int64_t tables = memory["engram_table_bytes"];
  const double per_token = memory["kv_bytes_per_token"];
  std::cout << "\nMemory to run, bytes\n";
  line("weights without Engram tables", weights - tables);
  line("Engram tables", tables);
  line("state of one sequence", memory["state_bytes_per_sequence"]);
  std::cout << "  " << std::left << std::setw(36) << "KV bytes per token" << std::right
            << std::setw(18) << per_token << "\n";
  line("KV of one sequence, longest context", memory["kv_bytes_at_max_positions"]);
}

}  // namespace

int run_inspect(const InspectOptions& options) {
  if (const int code = check_folder(options.folder); code != kDone) return code;
  const Checkpoint::Opened opened = Checkpoint::open(options.folder);
  if (opened.checkpoint == nullptr) {
    print_problems(opened.problems, kShownProblems);
    return kModel;
  }
  const Checkpoint& checkpoint = *opened.checkpoint;
  Json report = {{"folder", options.folder.string()},
                 {"dimensions", dimensions_of(checkpoint.shape())},
                 {"layers", Json::array()},
                 {"tensors", tensors_of(checkpoint)},
                 {"memory", memory_of(checkpoint)}};
  for (std::int64_t layer = 0; layer < checkpoint.shape().layers; ++layer) {
    report["layers"].push_back(layer_row(checkpoint.shape(), layer));
  }
  if (options.json) {
    std::cout << report.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
    return kDone;
  }
  print_dimensions(report["dimensions"]);
  print_layers(report["layers"]);
  print_tensors(report["tensors"]);
  print_memory(report["memory"]);
  return kDone;
}

}  // namespace deepinfer::engine::cli

// expected_tensors: the inventory of the released model, row by row, and of the golden checkpoint.
#include "engine/checkpoint/schema.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "engine/checkpoint/assets.h"
#include "engine/checkpoint/config_json.h"
#include "tests/support/golden_file.h"

namespace deepinfer::engine {
namespace {

struct Row {
  std::int64_t parameters = 0;
  std::int64_t bytes = 0;
  std::int64_t tensors = 0;

  bool operator==(const Row&) const = default;
};

// Named in a failure message.
std::ostream& operator<<(std::ostream& out, const Row& row) {
  return out << row.parameters << " parameters, " << row.bytes << " bytes, " << row.tensors
             << " tensors";
}

std::vector<TensorSpec> released_tensors() {
  const ShapeOrProblems parsed = parse_config(std::string(released_config()), "config.json");
  return parsed.shape ? expected_tensors(*parsed.shape) : std::vector<TensorSpec>{};
}

// The parts of spec 1.2 that are finer than a TensorKind.
std::string row_of(const TensorSpec& spec) {
  const std::string& name = spec.name;
  if (name.starts_with("vision.")) return "vision tower";
  if (name.starts_with("aligner.")) return "aligner";
  if (name.starts_with("image_")) return "image delimiters";
  if (!name.starts_with("mtp.")) return name_of(spec.kind);
  if (name.find(".attn.") != std::string::npos) return "draft attention";
  if (name.find(".ffn.experts.") != std::string::npos) return "draft routed experts";
  if (name.find(".ffn.shared_experts.") != std::string::npos) return "draft shared experts";
  const bool is_block =
      name.find("hc_") != std::string::npos || name.find(".ffn.gate.") != std::string::npos ||
      name.find("attn_norm") != std::string::npos || name.find("ffn_norm") != std::string::npos;
  return is_block ? "draft norms, hc, router" : "draft main_proj, norms, markov, confidence";
}

TEST(Schema, HasTheRowsOfTheReleasedInventory) {
  std::map<std::string, Row> rows;
  Row total;
  for (const TensorSpec& spec : released_tensors()) {
    for (Row* row : {&rows[row_of(spec)], &total}) {
      row->parameters += spec.parameters();
      row->bytes += spec.bytes();
      ++row->tensors;
    }
  }

  const std::map<std::string, Row> expected = {
      {"token embedding", {661'913'600, 1'323'827'200, 1}},
      {"output head", {661'913'600, 1'323'827'200, 1}},
      {"final norm", {5'120, 10'240, 1}},
      {"attention", {5'064'696'320, 5'069'721'600, 520}},
      {"attention and expert norms", {409'600, 819'200, 80}},
      {"hyper-connections", {39'323'760, 157'295'040, 240}},
      {"routers", {78'673'920, 157'409'280, 120}},
      {"routed experts", {543'581'798'400, 288'777'830'400, 92'160}},
      {"shared experts", {1'415'577'600, 1'416'960'000, 240}},
      {"compressors", {18'352'128, 36'704'256, 11}},
      {"indexers", {43'516'416, 45'130'752, 32}},
      {"engram tables", {196'613'849'600, 202'758'032'400, 4}},
      {"engram projections", {314'654'720, 315'043'840, 8}},
      {"draft attention", {379'852'224, 380'229'120, 39}},
      {"draft norms, hc, router", {4'946'850, 15'793'800, 33}},
      {"draft routed experts", {13'589'544'960, 7'219'445'760, 2'304}},
      {"draft shared experts", {106'168'320, 106'272'000, 18}},
      {"draft main_proj, norms, markov, confidence", {144'850'176, 211'133'952, 7}},
      {"vision tower", {411'842'560, 823'685'120, 259}},
      {"aligner", {73'410'560, 146'821'120, 4}},
      {"image delimiters", {15'360, 30'720, 3}}};
  for (const auto& [name, row] : expected) EXPECT_EQ(rows[name], row) << name;
  EXPECT_EQ(rows.size(), expected.size());
  EXPECT_EQ(total, (Row{763'205'315'794, 510'286'023'000, 96'085}));
}

TEST(Schema, NamesEachTensorOnceInFortyEightFiles) {
  std::set<std::string> names;
  std::set<std::int64_t> shards;
  for (const TensorSpec& spec : released_tensors()) {
    EXPECT_TRUE(names.insert(spec.name).second) << spec.name;
    shards.insert(spec.shard);
  }
  EXPECT_EQ(shards.size(), 48U);
  EXPECT_EQ(*shards.rbegin(), 48);
}

TEST(Schema, GoldenTinyHoldsExactlyTheseTensors) {
  const ShapeOrProblems parsed = read_config(test::data_path("golden/tiny"));
  ASSERT_TRUE(parsed.shape);
  const test::GoldenFile first(test::data_path("golden/tiny/model-00001-of-00002.safetensors"));
  const test::GoldenFile second(test::data_path("golden/tiny/model-00002-of-00002.safetensors"));

  const std::vector<TensorSpec> specs = expected_tensors(*parsed.shape);

  EXPECT_EQ(specs.size(), first.names().size() + second.names().size());
  for (const TensorSpec& spec : specs) {
    const test::GoldenFile& file = first.has(spec.name) ? first : second;
    ASSERT_TRUE(file.has(spec.name)) << spec.name;
    EXPECT_EQ(file.shape(spec.name), spec.shape) << spec.name;
    EXPECT_EQ(file.dtype(spec.name), name_of(spec.type)) << spec.name;
  }
}

}  // namespace
}  // namespace deepinfer::engine

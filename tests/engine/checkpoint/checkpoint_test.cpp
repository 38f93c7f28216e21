// Checkpoint::open: what it gives, and every kind of folder that it refuses.
#include "engine/checkpoint/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "tests/engine/checkpoint/checkpoint_copy.h"
#include "tests/engine/checkpoint/small_file.h"
#include "tests/support/golden_file.h"

namespace deepinfer::engine {
namespace {

using test::CheckpointCopy;
using test::TempFolder;
using test::text_of;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kFirst = "model-00001-of-00002.safetensors";
constexpr const char* kSecond = "model-00002-of-00002.safetensors";
constexpr const char* kQuery = "layers.0.attn.wq_a.weight";

// Writes the copy to a folder of its own and opens it.
std::string problems_of(const CheckpointCopy& copy) {
  const TempFolder folder;
  copy.write(folder.path());
  return text_of(Checkpoint::open(folder.path()).problems);
}

TEST(Checkpoint, GoldenTinyOpensAndGivesItsBytes) {
  const auto folder = test::data_path("golden/tiny");
  const Checkpoint::Opened opened = Checkpoint::open(folder);
  ASSERT_NE(opened.checkpoint, nullptr) << text_of(opened.problems);
  const test::GoldenFile golden(folder / kFirst);

  const Tensor* tensor = opened.checkpoint->find(kQuery);

  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(tensor->type, StoredType::kF8E4m3);
  EXPECT_EQ(tensor->shape, golden.shape(kQuery));
  const auto bytes = golden.bytes(kQuery);
  ASSERT_EQ(tensor->bytes, static_cast<std::int64_t>(bytes.size()));
  EXPECT_EQ(std::memcmp(tensor->data, bytes.data(), bytes.size()), 0);
  EXPECT_EQ(opened.checkpoint->find("layers.0.attn.nothing"), nullptr);
  EXPECT_EQ(opened.checkpoint->specs().size(), 1124U);
  EXPECT_EQ(opened.checkpoint->folder(), folder);
}

TEST(Checkpoint, GivesWholeElementsAtAlignedAddresses) {
  // Some tensors of this file lie at odd offsets, as the format allows.
  const Checkpoint::Opened opened = Checkpoint::open(test::model_path("nano"));
  ASSERT_NE(opened.checkpoint, nullptr) << text_of(opened.problems);

  for (const TensorSpec& spec : opened.checkpoint->specs()) {
    const Tensor* tensor = opened.checkpoint->find(spec.name);
    ASSERT_NE(tensor, nullptr) << spec.name;
    const auto address = reinterpret_cast<std::uintptr_t>(tensor->data);
    EXPECT_EQ(address % static_cast<std::uintptr_t>(element_bytes(spec.type)), 0U) << spec.name;
  }
}

TEST(Checkpoint, AcceptsPrefixAndScaleAliasAndIgnoresDraftCopies) {
  CheckpointCopy copy;
  copy.rename("embed.weight", "model.embed.weight");
  copy.rename(kQuery, std::string("model.") + kQuery);
  copy.rename("layers.0.attn.wq_a.scale", "layers.0.attn.wq_a.weight_scale_inv");
  copy.shards[kFirst].tensors["mtp.0.embed.weight"] = copy.tensor("head.weight");
  copy.shards[kFirst].tensors["mtp.2.head.weight"] = copy.tensor("head.weight");
  const TempFolder folder;
  copy.write(folder.path());

  const Checkpoint::Opened opened = Checkpoint::open(folder.path());

  ASSERT_NE(opened.checkpoint, nullptr) << text_of(opened.problems);
  EXPECT_NE(opened.checkpoint->find(kQuery), nullptr);
  EXPECT_NE(opened.checkpoint->find("layers.0.attn.wq_a.scale"), nullptr);
}

TEST(Checkpoint, OpensASingleFileWithoutAnIndex) {
  CheckpointCopy copy;
  copy.shards[kFirst].tensors.merge(copy.shards[kSecond].tensors);
  auto node = copy.shards.extract(kFirst);
  copy.shards.clear();
  node.key() = "model.safetensors";
  copy.shards.insert(std::move(node));
  const TempFolder folder;
  copy.write(folder.path());
  std::filesystem::remove(folder.path() / "model.safetensors.index.json");

  const Checkpoint::Opened opened = Checkpoint::open(folder.path());

  EXPECT_NE(opened.checkpoint, nullptr) << text_of(opened.problems);
}

TEST(Checkpoint, NamesAMissingTensor) {
  CheckpointCopy copy;
  copy.erase(kQuery);

  EXPECT_EQ(problems_of(copy), std::string(kQuery) + ": the tensor is missing\n");
}

TEST(Checkpoint, NamesAnUnexpectedTensor) {
  CheckpointCopy copy;
  copy.shards[kFirst].tensors["layers.0.hc_attn_norm.weight"] = copy.tensor("norm.weight");

  EXPECT_EQ(problems_of(copy), std::string(kFirst) +
                                   ": layers.0.hc_attn_norm.weight: config.json implies no such "
                                   "tensor\n");
}

TEST(Checkpoint, NamesAWrongTypeWithBothTypes) {
  CheckpointCopy copy;
  copy.tensor(kQuery).dtype = "I8";

  EXPECT_THAT(problems_of(copy),
              HasSubstr("config.json implies F8_E4M3 [128, 256], the file has I8 [128, 256]"));
}

TEST(Checkpoint, NamesAWrongShapeWithBothShapes) {
  CheckpointCopy copy;
  std::swap(copy.tensor(kQuery).shape[0], copy.tensor(kQuery).shape[1]);

  EXPECT_THAT(problems_of(copy),
              HasSubstr("config.json implies F8_E4M3 [128, 256], the file has F8_E4M3 [256, 128]"));
}

TEST(Checkpoint, NamesATensorThatOccursTwice) {
  CheckpointCopy copy;
  copy.shards[kSecond].tensors["model.embed.weight"] = copy.tensor("embed.weight");

  EXPECT_THAT(problems_of(copy), HasSubstr("the tensor is already in " + std::string(kFirst)));
}

TEST(Checkpoint, NamesAMissingFileOnceAndNotItsTensors) {
  const TempFolder folder;
  CheckpointCopy().write(folder.path());
  std::filesystem::remove(folder.path() / kSecond);

  const Problems problems = Checkpoint::open(folder.path()).problems;

  EXPECT_EQ(text_of(problems), std::string(kSecond) + ": the file is missing\n");
}

TEST(Checkpoint, NamesATruncatedFileByWhatIsCutOff) {
  const TempFolder folder;
  CheckpointCopy().write(folder.path());
  std::filesystem::resize_file(folder.path() / kSecond,
                               std::filesystem::file_size(folder.path() / kSecond) - 1);

  const std::string text = text_of(Checkpoint::open(folder.path()).problems);

  EXPECT_THAT(text, HasSubstr("norm.weight: data_offsets"));
  EXPECT_THAT(text, HasSubstr("reach past the end of the data"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
}

TEST(Checkpoint, NamesAnOversizedFile) {
  const TempFolder folder;
  CheckpointCopy().write(folder.path());
  std::ofstream(folder.path() / kSecond, std::ios::app) << "xyz";

  EXPECT_THAT(text_of(Checkpoint::open(folder.path()).problems),
              HasSubstr("3 bytes after norm.weight belong to no tensor"));
}

TEST(Checkpoint, NamesWhatIndexAndFilesDisagreeAbout) {
  const TempFolder folder;
  CheckpointCopy().write(folder.path());
  test::edit_index(folder.path(), [](nlohmann::json& index) {
    index["weight_map"].erase("embed.weight");
    index["weight_map"]["norm.weight"] = kFirst;
    index["weight_map"]["layers.99.attn.attn_sink"] = kFirst;
    index["weight_map"]["../escape"] = "../other.safetensors";
  });

  const std::string text = text_of(Checkpoint::open(folder.path()).problems);

  EXPECT_THAT(text, HasSubstr("embed.weight: the index does not list this tensor"));
  EXPECT_THAT(text, HasSubstr(std::string(kSecond) +
                              ": norm.weight: the index places this tensor in " + kFirst));
  EXPECT_THAT(text, HasSubstr("layers.99.attn.attn_sink: the index places this tensor here"));
  EXPECT_THAT(text, HasSubstr("plain file name, got \"../other.safetensors\""));
}

TEST(Checkpoint, ChecksTheTotalSizeOfTheIndex) {
  const TempFolder folder;
  CheckpointCopy().write(folder.path());
  test::edit_index(folder.path(),
                   [](nlohmann::json& index) { index["metadata"]["total_size"] = 13; });

  EXPECT_THAT(text_of(Checkpoint::open(folder.path()).problems),
              HasSubstr("metadata.total_size is 13 bytes, the tensors have 13836192"));
}

TEST(Checkpoint, RefusesABadIndex) {
  for (const char* text : {"", "[]", "{}", R"({"weight_map":[]})", "{\"weight_map\":{}"}) {
    const TempFolder folder;
    CheckpointCopy().write(folder.path());
    test::write_file(folder.path() / "model.safetensors.index.json", text);

    const Checkpoint::Opened opened = Checkpoint::open(folder.path());

    EXPECT_EQ(opened.checkpoint, nullptr) << text;
    ASSERT_EQ(opened.problems.size(), 1U) << text_of(opened.problems);
    EXPECT_EQ(opened.problems[0].where, "model.safetensors.index.json");
  }
}

TEST(Checkpoint, RefusesAFolderWithoutWeightsOrConfig) {
  const TempFolder folder;

  const std::string text = text_of(Checkpoint::open(folder.path()).problems);

  EXPECT_THAT(text, HasSubstr("config.json: cannot open the file"));
  EXPECT_THAT(text, HasSubstr("there is neither model.safetensors.index.json nor"));
}

TEST(Checkpoint, RefusesAShardThatIsAFolder) {
  const TempFolder folder;
  CheckpointCopy().write(folder.path());
  std::filesystem::remove(folder.path() / kFirst);
  std::filesystem::create_directory(folder.path() / kFirst);

  EXPECT_THAT(text_of(Checkpoint::open(folder.path()).problems), HasSubstr("not a regular file"));
}

TEST(Checkpoint, ReportsProblemsOfConfigAndFilesTogether) {
  CheckpointCopy copy;
  copy.config["text_config"]["head_dim"] = 63;
  const TempFolder folder;
  copy.write(folder.path());
  std::filesystem::remove(folder.path() / kSecond);

  const std::string text = text_of(Checkpoint::open(folder.path()).problems);

  EXPECT_THAT(text, HasSubstr("/text_config/head_dim"));
  EXPECT_THAT(text, HasSubstr("the file is missing"));
  EXPECT_THAT(text, Not(HasSubstr("the tensor is missing")));
}

}  // namespace
}  // namespace deepinfer::engine

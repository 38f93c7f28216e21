// engram_hashes and engram_hash: the constants of three models, every golden of the released layout,
// and the worked example of the specification.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "kernels/engram/engram.h"
#include "tests/support/golden_file.h"
#include "tests/support/result_matchers.h"

namespace deepinfer::kernels {
namespace {

constexpr std::int32_t kPad = 2;

std::vector<EngramHash> released() { return engram_hashes({.layer_ids = {1, 14}}); }

// The ids of the last four tokens of every position; is_text[p] is 0 for the tokens of an image span.
std::vector<std::int32_t> histories(const std::vector<std::int64_t>& ids,
                                    const std::vector<std::int64_t>& is_text) {
  std::vector<std::int32_t> history;
  for (std::size_t p = 0; p < ids.size(); ++p) {
    bool is_blocked = false;
    for (std::size_t back = 0; back < 4; ++back) {
      is_blocked = is_blocked || p < back || (!is_text.empty() && is_text[p - back] == 0);
      history.push_back(is_blocked ? kPad : static_cast<std::int32_t>(ids[p - back]));
    }
  }
  return history;
}

std::vector<std::int64_t> rows_of(const EngramHash& hash, const std::vector<std::int64_t>& ids,
                                  const std::vector<std::int64_t>& is_text = {}) {
  const std::vector<std::int32_t> history = histories(ids, is_text);
  std::vector<std::int64_t> rows(ids.size() * static_cast<std::size_t>(hash.columns()));
  const Status status =
      engram_hash({.hash = &hash,
                   .history = View<const std::int32_t, 2>(history.data(), ids.size(), hash.orders),
                   .table_rows = View<std::int64_t, 2>(rows.data(), ids.size(), hash.columns())});
  EXPECT_TRUE(status.has_value());
  return rows;
}

// Constants of one layer as they stand in a flat list of all layers.
void expect_constants(const std::vector<EngramHash>& hashes,
                      const std::vector<std::int64_t>& multipliers,
                      const std::vector<std::int64_t>& primes,
                      const std::vector<std::int64_t>& offsets) {
  std::vector<std::int64_t> all_multipliers;
  std::vector<std::int64_t> all_primes;
  std::vector<std::int64_t> all_offsets;
  for (const EngramHash& hash : hashes) {
    all_multipliers.insert(all_multipliers.end(), hash.multipliers.begin(), hash.multipliers.end());
    all_primes.insert(all_primes.end(), hash.primes.begin(), hash.primes.end());
    all_offsets.insert(all_offsets.end(), hash.offsets.begin(), hash.offsets.end());
  }
  EXPECT_EQ(all_multipliers, multipliers);
  EXPECT_EQ(all_primes, primes);
  EXPECT_EQ(all_offsets, offsets);
}

TEST(EngramHashes, GiveTheConstantsOfTheReleasedLayoutGoldenEngramHash) {
  const test::GoldenFile golden(test::data_path("golden/units.safetensors"));

  const std::vector<EngramHash> hashes = released();

  expect_constants(hashes, golden.integers("engram_hash.multipliers"),
                   golden.integers("engram_hash.primes"), golden.integers("engram_hash.offsets"));
  const auto table_rows = [](const EngramHash& hash) {
    return std::accumulate(hash.primes.begin(), hash.primes.end(), std::int64_t{0});
  };
  EXPECT_EQ(table_rows(hashes[0]), 384006168);
  EXPECT_EQ(table_rows(hashes[1]), 384016682);
}

TEST(EngramHashes, GiveTheConstantsOfTheTinyModelGoldenTinyEngram) {
  const test::GoldenFile golden(test::data_path("golden/units.safetensors"));

  const std::vector<EngramHash> hashes = engram_hashes(
      {.layer_ids = {1, 3}, .heads = 2, .first_prime_after = 97, .compressed_vocabulary = 1002});

  expect_constants(hashes, golden.integers("tiny_engram.multipliers"),
                   golden.integers("tiny_engram.primes"), golden.integers("tiny_engram.offsets"));
}

TEST(EngramHash, NamesTheRowsOfEveryGoldenEngramHashCase) {
  const test::GoldenFile golden(test::data_path("golden/units.safetensors"));
  const std::vector<EngramHash> hashes = released();

  for (const std::string name :
       {"edge", "len1", "len2", "len3", "len4", "masked", "pads", "random", "repeat"}) {
    SCOPED_TRACE(name);
    const std::string prefix = "engram_hash." + name;
    const std::vector<std::int64_t> ids = golden.integers(prefix + ".compressed_ids");
    const std::vector<std::int64_t> expected = golden.integers(prefix + ".rows");
    const std::vector<std::int64_t> is_text = golden.has(prefix + ".mask")
                                                  ? golden.integers(prefix + ".mask")
                                                  : std::vector<std::int64_t>{};
    for (std::size_t layer = 0; layer < 2; ++layer) {
      const std::vector<std::int64_t> rows = rows_of(hashes[layer], ids, is_text);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        EXPECT_EQ(rows[i], expected[(i / 24 * 2 + layer) * 24 + i % 24]) << "value " << i;
      }
    }
  }
}

TEST(EngramHash, GivesTheWorkedExampleOfTheSpecification) {
  const std::vector<EngramHash> hashes = released();
  const std::vector<std::int64_t> ids = {0, 237, 5095, 251, 7208, 242};

  const std::vector<std::int64_t> first = rows_of(hashes[0], ids);
  const std::vector<std::int64_t> second = rows_of(hashes[1], ids);

  const std::vector<std::int64_t> last_of_first(first.end() - 24, first.end());
  EXPECT_EQ(last_of_first, (std::vector<std::int64_t>{
                               8434518,   28335418,  33056762,  54845833,  79590735,  82522014,
                               107990915, 114522034, 130425857, 150965795, 160866148, 176873966,
                               204352630, 218104334, 238747352, 249482421, 265625474, 283863772,
                               292296123, 304668435, 328974802, 341520388, 359388308, 379106837}));
  EXPECT_EQ(second[std::size_t{5} * 24], 15511642);
  EXPECT_EQ(second[5 * 24 + 23], 380659356);
  EXPECT_EQ(first[0], 5702652);
  EXPECT_EQ(first[24], 13754019);
  EXPECT_EQ(first[25], 17482000);
}

// Multipliers of every layer as strings, and the number of table rows in the model's config.
void expect_meta(const std::filesystem::path& folder) {
  SCOPED_TRACE(folder.string());
  std::ifstream meta_file(folder / "engram_meta.json");
  std::ifstream config_file(folder / "config.json");
  const nlohmann::json meta = nlohmann::json::parse(meta_file);
  const nlohmann::json config = nlohmann::json::parse(config_file)["text_config"];

  const std::vector<EngramHash> hashes =
      engram_hashes({.layer_ids = meta["engram_layer_ids"].get<std::vector<std::int64_t>>(),
                     .orders = config["engram_max_ngram_size"].get<std::int64_t>(),
                     .heads = config["engram_n_heads"].get<std::int64_t>(),
                     .first_prime_after = config["engram_vocab_size"].get<std::int64_t>(),
                     .compressed_vocabulary = meta["compressed_vocab_size"].get<std::int64_t>()});

  ASSERT_EQ(hashes.size(), meta["multipliers"].size());
  for (std::size_t layer = 0; layer < hashes.size(); ++layer) {
    const EngramHash& hash = hashes[layer];
    for (std::size_t back = 0; back < hash.multipliers.size(); ++back) {
      EXPECT_EQ(std::to_string(hash.multipliers[back]),
                meta["multipliers"][layer][back].get<std::string>());
    }
    EXPECT_EQ(hash.offsets.back() + hash.primes.back(),
              config["engram_num_embeddings"][layer].get<std::int64_t>());
  }
}

TEST(EngramHashes, ReproduceTheEngramMetaFilesOfTinyAndNano) {
  expect_meta(test::data_path("golden/tiny"));
  expect_meta(test::model_path("nano"));
}

TEST(EngramHash, RefusesShapesThatDisagree) {
  const std::vector<EngramHash> hashes = released();
  std::vector<std::int32_t> history(8);
  std::vector<std::int64_t> rows(48);
  const View<const std::int32_t, 2> good_history(history.data(), 2, 4);
  const View<std::int64_t, 2> good_rows(rows.data(), 2, 24);
  EngramHash incomplete = hashes[0];
  incomplete.primes.pop_back();

  EXPECT_FAILS(engram_hash({.hash = nullptr, .history = good_history, .table_rows = good_rows}),
               ErrorCode::kInvalidArgument);
  EXPECT_FAILS(engram_hash({.hash = &incomplete, .history = good_history, .table_rows = good_rows}),
               ErrorCode::kInvalidArgument);
  EXPECT_FAILS(engram_hash({.hash = &hashes[0],
                            .history = View<const std::int32_t, 2>(history.data(), 2, 3),
                            .table_rows = good_rows}),
               ErrorCode::kInvalidArgument);
  EXPECT_FAILS(engram_hash({.hash = &hashes[0],
                            .history = good_history,
                            .table_rows = View<std::int64_t, 2>(rows.data(), 1, 24)}),
               ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace deepinfer::kernels

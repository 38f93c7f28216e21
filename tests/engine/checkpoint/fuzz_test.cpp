// The checkpoint parsers under a few thousand deterministic mutations of sound inputs.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "engine/checkpoint/assets.h"
#include "tests/engine/checkpoint/mutations.h"
#include "tests/engine/checkpoint/small_file.h"
#include "tests/fuzz/checkpoint_fuzz.h"

namespace deepinfer::test {
namespace {

const std::uint8_t* bytes_of(const std::string& text) {
  return reinterpret_cast<const std::uint8_t*>(text.data());
}

TEST(CheckpointFuzz, AnyHeaderIsReadSafelyOrRefused) {
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
      R"("b":{"dtype":"I8","shape":[8],"data_offsets":[24,32]},)"
      R"("c":{"dtype":"BF16","shape":[0],"data_offsets":[32,32]}})";
  Mutator mutator(1);
  for (int round = 0; round < 4000; ++round) {
    // Most keep a true length, so that the damage reaches the JSON and not the length alone.
    std::string file = small_file(mutator.mutate(header), 32);
    if (mutator.below(4) == 0) file = mutator.mutate(file);
    ASSERT_TRUE(header_is_handled(bytes_of(file), file.size())) << "round " << round;
  }
}

TEST(CheckpointFuzz, AnyConfigIsReadSafelyOrRefused) {
  const std::string config(engine::released_config());
  Mutator mutator(2);
  for (int round = 0; round < 1000; ++round) {
    const std::string text = mutator.mutate(config);
    ASSERT_TRUE(config_is_handled(bytes_of(text), text.size())) << "round " << round;
  }
}

}  // namespace
}  // namespace deepinfer::test

// Damages good configurations in every way that one byte allows, and many at random: each is read or
// reported, never otherwise. The same entry point serves a fuzzer.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/toml_fuzz.h"

namespace deepinfer::config {
namespace {

const std::vector<std::string>& seeds() {
  static const std::vector<std::string> texts{
      "[model]\npath = \"synth:nano\"\n[engine]\nthreads = 2\nmax_batch_tokens = 4_096\n"
      "[ipc]\narena_bytes = \"64MiB\"\nallowed_uids = [0, \"root\"]\nsocket_mode = '0660'\n",
      "engine.threads = 0x10\nipc = {ring_entries = 8, allowed_gids = []}\n[drain]\n"
      "grace = 1.5 # \xC3\xBC\n[hooks.balancer]\npath = \"\"\"a\\\n  b\"\"\"\nat = "
      "2026-12-01T00:00:00Z\n"
      "[[log]]\nlevel = true\n"};
  return texts;
}

void feed(const std::string& text) {
  ASSERT_TRUE(toml_is_handled(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()))
      << text;
}

TEST(TomlMutation, EveryBytePutInEveryPlaceIsHandled) {
  for (const std::string& seed : seeds()) {
    for (std::size_t i = 0; i < seed.size(); ++i) {
      for (const char byte : {'\0', '"', '[', ']', '{', '.', '=', '\\', '\n', '_', '9', '\xFF'}) {
        std::string text = seed;
        text[i] = byte;
        feed(text);
      }
    }
  }
}

TEST(TomlMutation, EveryBeginningIsHandled) {
  for (const std::string& seed : seeds()) {
    for (std::size_t length = 0; length <= seed.size(); ++length) feed(seed.substr(0, length));
  }
}

TEST(TomlMutation, RandomCutsAndCopiesAreHandled) {
  // A fixed seed: every run damages the same way.
  std::mt19937 random(20261201);  // NOLINT(cert-msc32-c,cert-msc51-cpp): repeatable on purpose
  for (int round = 0; round < 3000; ++round) {
    std::string text = seeds()[random() % seeds().size()];
    for (int edit = 0; edit < 4; ++edit) {
      const std::size_t from = random() % text.size();
      const std::string piece = text.substr(from, random() % 12);
      if (random() % 2 == 0) text.erase(from, piece.size());
      text.insert(random() % (text.size() + 1), piece);
      if (text.empty()) text = "[]";
    }
    feed(text);
  }
}

}  // namespace
}  // namespace deepinfer::config

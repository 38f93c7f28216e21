#include "config/print.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>

#include "tests/config/lines.h"

namespace deepinfer::config {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Print, TheDefaultsAreAllThereInAFixedOrder) {
  EXPECT_EQ(to_toml(load({})), R"([model]
path = ""  # default
max_context = 0  # default

[engine]
backend = "auto"  # default
threads = 0  # default
max_sequences = 256  # default
# max_batch_tokens = 4096  # default
prefill_chunk = 512  # default

[sampling]
logprobs_mode = "raw"  # default

[ipc]
socket = ""  # default
ring_entries = 256  # default
arena_bytes = "64MiB"  # default
max_clients = 1024  # default
allowed_uids = []  # default
allowed_gids = []  # default
socket_mode = "0660"  # default

[jobs]
max_queued = 100000  # default

[drain]
grace = "5min"  # default

[log]
level = "info"  # default
format = "text"  # default
file = ""  # default
)");
}

TEST(Print, OriginsStandBehindTheValues) {
  LoadSources sources;
  sources.environment = {{"DEEPINFER_ENGINE__THREADS", "8"},
                         {"DEEPINFER_ENGINE__MAX_BATCH_TOKENS", "5000"}};
  sources.flags = {{"ipc.socket", "/run/\"x\"", "--socket"}};
  const std::string text = to_toml(load(sources));

  EXPECT_THAT(text, HasSubstr("\nthreads = 8  # DEEPINFER_ENGINE__THREADS\n"));
  EXPECT_THAT(text, HasSubstr("\nmax_batch_tokens = 5000  # DEEPINFER_ENGINE__MAX_BATCH_TOKENS\n"));
  EXPECT_THAT(text, HasSubstr("\nsocket = \"/run/\\\"x\\\"\"  # --socket\n"));
}

TEST(Print, AnOriginCannotBreakOutOfItsComment) {
  Loaded loaded = load({});
  loaded.origins["engine.threads"] = "/tmp/a\n[evil]\x01\xFF.toml:1:1";
  const Assignments again = read_toml(to_toml(loaded));

  EXPECT_THAT(lines_of(again.problems), IsEmpty());
}

// Values from everywhere in their ranges, with the characters that TOML, terminals and people trip over.
class Values {
 public:
  explicit Values(std::uint32_t seed) : random_(seed) {}

  Options options() {
    Options options;
    options.model = {text(), number(0, 1'000'000'000)};
    options.engine.backend = number(0, 1) == 0 ? Backend::kAuto : Backend::kCpu;
    options.engine.threads = number(0, 1024);
    options.engine.max_sequences = number(1, 65536);
    if (number(0, 1) == 0) options.engine.max_batch_tokens = number(65536, 1'000'000'000);
    options.engine.prefill_chunk = number(1, 1'000'000'000);
    options.sampling.logprobs_mode = static_cast<LogprobsMode>(number(0, 1));
    options.ipc.socket = text();
    options.ipc.ring_entries = std::int64_t{1} << number(1, 14);
    options.ipc.arena_bytes = number(16, 1 << 24) * 4096;
    options.ipc.max_clients = number(1, 65536);
    options.ipc.allowed_uids = ids();
    options.ipc.allowed_gids = ids();
    options.ipc.socket_mode = static_cast<std::uint32_t>(number(0, 0777));
    options.jobs.max_queued = number(1, 1'000'000'000);
    options.drain.grace = std::chrono::milliseconds(number(0, 1) == 0 ? number(0, 3'200'000'000'000)
                                                                      : number(0, 900) * 60'000);
    options.log = {static_cast<LogLevel>(number(0, 4)), static_cast<LogFormat>(number(0, 1)),
                   text()};
    return options;
  }

 private:
  std::int64_t number(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }
  std::string text() {
    static const std::vector<std::string> pieces{"a",
                                                 "/",
                                                 "\"",
                                                 "\\",
                                                 "#",
                                                 "\n",
                                                 "\r",
                                                 "\t",
                                                 "\x1B",
                                                 "\x7F",
                                                 "'''",
                                                 "\xC3\xBC",
                                                 "\x01",
                                                 " ",
                                                 "\xF0\x9F\x99\x82",
                                                 "\xEF\xBB\xBF",
                                                 "=",
                                                 "]",
                                                 "\\u",
                                                 "\xEF\xBF\xBF",
                                                 "$"};
    std::string out;
    for (std::int64_t left = number(0, 12); left > 0; --left) {
      out +=
          pieces[static_cast<std::size_t>(number(0, static_cast<std::int64_t>(pieces.size()) - 1))];
    }
    return out;
  }
  std::vector<std::uint32_t> ids() {
    std::vector<std::uint32_t> out(static_cast<std::size_t>(number(0, 3)));
    for (std::uint32_t& id : out) id = static_cast<std::uint32_t>(number(0, 4'294'967'294));
    return out;
  }

  std::mt19937 random_;
};

TEST(Print, WhatIsPrintedReadsBackEqual) {
  Values values(20261201);  // the same every time
  for (int round = 0; round < 500; ++round) {
    Loaded loaded;
    loaded.options = values.options();
    const std::string text = to_toml(loaded);
    const Assignments again = read_toml(text);

    ASSERT_THAT(lines_of(again.problems), IsEmpty()) << text;
    ASSERT_EQ(again.options, loaded.options) << text;
  }
}

}  // namespace
}  // namespace deepinfer::config

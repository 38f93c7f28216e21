#include "daemon/response_writer.h"

#include <gtest/gtest.h>

#include "tests/daemon/daemon_parts.h"

namespace deepinfer::daemon {
namespace {

using ipc::CompletionKind;

class ResponseWriterTest : public ::testing::Test {
 protected:
  static constexpr ipc::Geometry kTiny{4, 4, 64U << 10U, 64U << 10U};

  [[nodiscard]] static RequestResult result_of(std::size_t bytes) {
    RequestResult result;
    result.choices.resize(1);
    result.choices[0].text.assign(bytes, 'x');
    return result;
  }

  std::unique_ptr<ipc::DaemonEnd> end = *ipc::DaemonEnd::create(kTiny, TestClient::kSession, 1);
  TestClient client = TestClient::of(*end);
  ResponseWriter writer{*end, 100};
};

TEST_F(ResponseWriterTest, CutsALargeResultIntoPieces) {
  constexpr std::size_t kBytes = 1'000'000;  // many times the result arena
  ASSERT_TRUE(writer.finished(1, result_of(kBytes)));
  EXPECT_EQ(writer.waiting(), 1U);

  while (client.heard.empty()) {
    client.take_all();
    ASSERT_TRUE(writer.flush());
  }

  EXPECT_EQ(client.heard[0].kind, CompletionKind::kResult);
  EXPECT_EQ(client.heard[0].result().choices[0].text.size(), kBytes);
  EXPECT_EQ(writer.waiting(), 0U);
}

TEST_F(ResponseWriterTest, KeepsTheOrderOfWhatWaits) {
  for (std::uint64_t i = 0; i < 20; ++i) ASSERT_TRUE(writer.accepted(i));
  EXPECT_EQ(writer.waiting(), 16U);

  while (client.heard.size() < 20) {
    ASSERT_TRUE(client.take());
    ASSERT_TRUE(writer.flush());
  }

  for (std::uint64_t i = 0; i < 20; ++i) EXPECT_EQ(client.heard[i].user_data, i);
}

TEST_F(ResponseWriterTest, LeavesOutTokensThatFindNoRoom) {
  for (std::uint64_t i = 0; i < 4; ++i) ASSERT_TRUE(writer.accepted(i));
  TokenEvent event;
  event.text = "lost";
  ASSERT_TRUE(writer.token(9, event));
  ASSERT_TRUE(writer.finished(9, result_of(10)));
  client.take_all();
  ASSERT_TRUE(writer.flush());
  client.take_all();

  ASSERT_EQ(client.heard.size(), 5U);
  EXPECT_EQ(client.heard[4].kind, CompletionKind::kResult);
}

}  // namespace
}  // namespace deepinfer::daemon

#include "tests/client_sdk/leak_check.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <variant>

#include "tests/client_sdk/client_fixture.h"

namespace deepinfer::client {
namespace {

constexpr int kBetweenRequests = 100;  // sessions that also carry a request: one in so many

struct Footprint {
  std::ptrdiff_t descriptors = 0;
  int mappings = 0;
};

Footprint footprint() {
  Footprint now;
  now.descriptors = std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("memfd:") != std::string::npos) ++now.mappings;
  }
  return now;
}

bool open_and_close(const ClientOptions& options, bool with_request) {
  ClientError error;
  const auto client = Client::connect(options, error);
  if (client == nullptr) return false;
  return !with_request ||
         std::holds_alternative<RequestResult>(client->generate(text_request("x")));
}

}  // namespace

void expect_no_leak(FakeDaemon& daemon, const ClientOptions& options, int sessions) {
  const auto is_alone = [&] { return daemon.session_count() == 0; };
  ASSERT_TRUE(open_and_close(options, true));
  ASSERT_TRUE(wait_until(is_alone));
  const Footprint before = footprint();

  for (int i = 0; i < sessions; ++i) {
    ASSERT_TRUE(open_and_close(options, i % kBetweenRequests == 0)) << "session " << i;
  }

  ASSERT_TRUE(wait_until(is_alone));
  const Footprint after = footprint();
  EXPECT_EQ(after.descriptors, before.descriptors);
  EXPECT_EQ(after.mappings, before.mappings);
}

}  // namespace deepinfer::client

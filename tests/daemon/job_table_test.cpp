#include "daemon/job_table.h"

#include <gtest/gtest.h>

#include <random>

namespace deepinfer::daemon {
namespace {

using Kind = JobTable::Kind;

JobTable::Time at(int second) { return JobTable::Time{std::chrono::seconds{second}}; }
JobId id(std::uint64_t number) { return {7, number}; }

class JobTableTest : public ::testing::Test {
 protected:
  void open(std::uint64_t number, Kind kind = Kind::kNamed, std::uint64_t session = 1,
            std::uint32_t uid = 1000) {
    table.open({}, {id(number), uid, SessionId{session}, kind, at(0)});
  }
  [[nodiscard]] JobInfo info(std::uint64_t number) const { return table.find(id(number))->info; }

  JobTable table;
};

TEST_F(JobTableTest, CountsARequestOnItsWay) {
  open(1);
  table.request_queued(id(1));
  EXPECT_EQ(info(1).counts.queued, 1);
  table.request_started(id(1));
  EXPECT_EQ(info(1).counts.queued, 0);
  EXPECT_EQ(info(1).counts.running, 1);
  table.request_ended(id(1), {JobTable::Stage::kRunning, Ending::kCompleted}, at(1));

  EXPECT_EQ(info(1).counts.completed, 1);
  EXPECT_EQ(info(1).counts.total, 1);
  EXPECT_EQ(info(1).state, JobState::kRunning);
}

TEST_F(JobTableTest, EndsAClosedJobWithItsLastRequest) {
  open(1);
  table.request_queued(id(1));
  table.close(id(1), at(1));
  EXPECT_FALSE(info(1).ended);

  table.request_ended(id(1), {JobTable::Stage::kQueued, Ending::kFailed}, at(2));

  EXPECT_EQ(info(1).state, JobState::kCompleted);
  EXPECT_EQ(info(1).ended, at(2));
  EXPECT_EQ(table.running(), 0);
}

TEST_F(JobTableTest, KeepsACancelledJobCancelled) {
  open(1);
  table.request_queued(id(1));
  table.cancel(id(1), at(1));
  EXPECT_EQ(info(1).state, JobState::kCancelled);
  EXPECT_FALSE(info(1).ended);

  table.request_ended(id(1), {JobTable::Stage::kQueued, Ending::kCancelled}, at(2));

  EXPECT_EQ(info(1).state, JobState::kCancelled);
  EXPECT_EQ(info(1).ended, at(2));
}

TEST_F(JobTableTest, LosesTheOpenJobsOfASessionThatIsGone) {
  open(1);
  open(2, Kind::kUnnamed);
  open(3, Kind::kUnnamed);
  open(4, Kind::kNamed, 2);
  table.request_queued(id(3));

  table.session_gone(SessionId{1}, at(5));

  EXPECT_EQ(info(1).state, JobState::kLost);
  EXPECT_EQ(info(2).state, JobState::kCompleted);  // nothing was unfinished
  EXPECT_EQ(info(3).state, JobState::kLost);
  EXPECT_EQ(info(4).state, JobState::kRunning);
  EXPECT_EQ(table.running(), 1);
}

TEST_F(JobTableTest, ListsTheNewestFirstInPages) {
  for (std::uint64_t i = 1; i <= 5; ++i) open(i, Kind::kNamed, 1, i % 2 == 0 ? 1000 : 2000);

  const auto all = table.list(std::nullopt, std::nullopt, 2);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].id, id(5));
  const auto rest = table.list(std::nullopt, all[1].id, 10);
  ASSERT_EQ(rest.size(), 3U);
  EXPECT_EQ(rest[0].id, id(3));
  EXPECT_EQ(table.list(1000, std::nullopt, 10).size(), 2U);
  EXPECT_TRUE(table.list(std::nullopt, id(99), 10).empty());
}

TEST_F(JobTableTest, ForgetsTheOldestOfManyEndedJobs) {
  for (std::uint64_t i = 0; i <= kKeptJobs; ++i) {
    open(i);
    table.close(id(i), at(1));
  }

  EXPECT_EQ(table.find(id(0)), nullptr);
  EXPECT_NE(table.find(id(1)), nullptr);
  EXPECT_EQ(table.list(std::nullopt, std::nullopt, 5000).size(), kKeptJobs);
}

// What a table should count of one job.
class Ledger {
 public:
  // One thing that can happen to a request; nothing when there is none that it can happen to.
  void move(JobTable& table, std::mt19937& random) {
    const auto what = random() % 3;
    if (what == 0) {
      table.request_queued(id(1));
      ++queued;
    } else if (what == 1 && queued > 0) {
      table.request_started(id(1));
      --queued;
      ++running;
    } else if (what == 2 && queued + running > 0) {
      end_one(table, random);
    }
  }

  std::int64_t queued = 0;
  std::int64_t running = 0;

 private:
  void end_one(JobTable& table, std::mt19937& random) {
    const bool is_running = running > 0 && (queued == 0 || random() % 2 == 0);
    const auto from = is_running ? JobTable::Stage::kRunning : JobTable::Stage::kQueued;
    table.request_ended(id(1), {from, static_cast<Ending>(random() % 3)}, at(1));
    --(is_running ? running : queued);
  }
};

TEST_F(JobTableTest, KeepsTheSumOfItsCountsThroughRandomHistories) {
  std::mt19937 random(1);  // NOLINT(cert-msc51-cpp): the same history every time
  open(1);
  Ledger ledger;
  for (int i = 0; i < 20'000; ++i) {
    ledger.move(table, random);
    const JobCounts counts = info(1).counts;
    ASSERT_EQ(counts.queued, ledger.queued);
    ASSERT_EQ(counts.running, ledger.running);
    ASSERT_EQ(counts.total,
              counts.completed + counts.failed + counts.cancelled + ledger.queued + ledger.running);
  }
}

TEST(JobId, SurvivesItsText) {
  const JobId job{0x0123456789abcdef, 0xfedcba9876543210};

  EXPECT_EQ(to_text(job), "job_0123456789abcdeffedcba9876543210");
  EXPECT_EQ(parse_job_id(to_text(job)), job);
  EXPECT_EQ(parse_job_id("0123456789abcdeffedcba9876543210"), job);
  EXPECT_FALSE(parse_job_id("job_0123"));
  EXPECT_FALSE(parse_job_id("job_0123456789ABCDEFfedcba9876543210"));
}

}  // namespace
}  // namespace deepinfer::daemon

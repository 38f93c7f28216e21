#include "tests/bench/ipc/measure.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file_descriptor.h"

namespace deepinfer::bench {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::uint64_t kWarmUp = 500;         // round trips before anything counts
constexpr unsigned kLongestMeasurement = 120;  // seconds
constexpr auto kLongestEnd = std::chrono::seconds(5);

// Moves this thread to the first of them and allows it all.
void allow(std::initializer_list<int> processors) {
  cpu_set_t all{};
  cpu_set_t first{};
  CPU_SET(static_cast<std::size_t>(*processors.begin()), &first);
  for (const int processor : processors) CPU_SET(static_cast<std::size_t>(processor), &all);
  ::sched_setaffinity(0, sizeof(first), &first);
  if (processors.size() > 1) ::sched_setaffinity(0, sizeof(all), &all);
}

// Keeps the client where it belongs; in the end, what this thread was allowed before holds again.
class ClientHome {
 public:
  explicit ClientHome(Placement placement) : placement_(placement) {
    ::sched_getaffinity(0, sizeof(before_), &before_);
    settle();
  }
  ClientHome(const ClientHome&) = delete;
  ClientHome& operator=(const ClientHome&) = delete;
  ~ClientHome() { ::sched_setaffinity(0, sizeof(before_), &before_); }

  // Brings the client back where the scheduler has put it beside its server, as it may where both
  // processors are allowed.
  void check() {
    ++checks_;
    if (::sched_getcpu() == placement_.client) return;
    ++times_away_;
    settle();
  }
  [[nodiscard]] double share_away() const { return times_away_ / std::max(checks_, 1.0); }

 private:
  void settle() const {
    if (placement_.may_use_both) {
      allow({placement_.client, placement_.server});
    } else {
      allow({placement_.client});
    }
  }

  Placement placement_;
  cpu_set_t before_{};
  double checks_ = 0;
  double times_away_ = 0;
};

void give_up(int) {
  constexpr std::string_view kWords =
      "deepinfer-bench-ipc: error: an arm does not answer (server process): run it again; if it "
      "stays, that arm loses wake-ups\n";
  [[maybe_unused]] const auto written = ::write(2, kWords.data(), kWords.size());
  ::_exit(1);
}

// The server's process; killed when it does not end by itself.
class Server {
 public:
  // Returns in the parent only.
  static Result<pid_t> start(Arm& arm, const Job& job, int processor) {
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child < 0) return fail(ErrorCode::kResourceExhausted, "fork: " + last_system_error());
    if (child > 0) return child;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    ::alarm(0);
    allow({processor});
    const Status served = arm.serve(job);
    if (!served) {
      std::fprintf(stderr, "deepinfer-bench-ipc: server: %s\n", served.error().message.c_str());
    }
    ::_exit(served ? 0 : 1);
  }

  explicit Server(pid_t process) : process_(process) {}
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }

  [[nodiscard]] Status wait() {
    const auto deadline = Steady::now() + kLongestEnd;
    int status = 0;
    while (::waitpid(process_, &status, WNOHANG) == 0) {
      if (Steady::now() > deadline) return fail(ErrorCode::kInternal, "the server does not end");
      ::usleep(200);
    }
    process_ = -1;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      return fail(ErrorCode::kInternal, "the server failed");
    }
    return Done{};
  }

 private:
  pid_t process_;
};

// One job there and its answer back.
Status round_trip(Arm& arm, std::uint64_t number) {
  DEEPINFER_TRY(const bool is_sent, arm.send(number));
  if (!is_sent) return fail(ErrorCode::kInternal, "no room for a single job");
  DEEPINFER_TRY(const std::uint64_t got, arm.receive());
  if (got != 1) return fail(ErrorCode::kInternal, "one job, several answers");
  return Done{};
}

double percentile(std::vector<double>& values, std::size_t percent) {
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(values.size() * percent / 100);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

// What one measurement is made of. `number` is the next job's.
struct Course {
  Arm& arm;
  const Plan& plan;
  ClientHome home;
  std::uint64_t number = 0;
};

// Fills p50 and p99.
Status measure_latency(Course& course, Sample& sample) {
  for (std::uint64_t i = 0; i < kWarmUp; ++i) {
    DEEPINFER_TRY([[maybe_unused]] const Done done, round_trip(course.arm, course.number++));
  }
  course.home.check();
  std::vector<double> times;
  times.reserve(course.plan.samples);
  for (std::uint64_t i = 0; i < course.plan.samples; ++i) {
    const auto begun = Steady::now();
    DEEPINFER_TRY([[maybe_unused]] const Done done, round_trip(course.arm, course.number++));
    times.push_back(std::chrono::duration<double, std::micro>(Steady::now() - begun).count());
    course.home.check();
  }
  sample.p50 = percentile(times, 50);
  sample.p99 = percentile(times, 99);
  return Done{};
}

// Fills jobs_per_second: always as many jobs under way as the depth says.
Status measure_throughput(Course& course, Sample& sample) {
  const Plan& plan = course.plan;
  std::uint64_t sent = 0;
  std::uint64_t answered = 0;
  std::uint64_t checked = 0;
  const auto begun = Steady::now();
  while (answered < plan.jobs) {
    while (sent < plan.jobs && sent - answered < plan.depth) {
      DEEPINFER_TRY(const bool is_sent, course.arm.send(course.number));
      if (!is_sent) break;
      ++course.number;
      ++sent;
    }
    DEEPINFER_TRY(const std::uint64_t got, course.arm.receive());
    answered += got;
    if (answered - checked >= plan.depth) {
      checked = answered;
      course.home.check();
    }
  }
  const std::chrono::duration<double> took = Steady::now() - begun;
  sample.jobs_per_second = static_cast<double>(plan.jobs) / took.count();
  return Done{};
}

}  // namespace

Result<Sample> measure(Arm& arm, const Job& job, const Plan& plan, Placement placement) {
  DEEPINFER_TRY([[maybe_unused]] const Done prepared, arm.prepare());
  std::signal(SIGALRM, give_up);
  ::alarm(kLongestMeasurement);
  DEEPINFER_TRY(const pid_t process, Server::start(arm, job, placement.server));
  Server server(process);
  Course course{arm, plan, ClientHome(placement)};
  DEEPINFER_TRY([[maybe_unused]] const Done connected, arm.connect(job));

  Sample sample;
  DEEPINFER_TRY([[maybe_unused]] const Done latency, measure_latency(course, sample));
  DEEPINFER_TRY([[maybe_unused]] const Done rate, measure_throughput(course, sample));
  sample.moved_share = course.home.share_away();
  arm.finish();
  DEEPINFER_TRY([[maybe_unused]] const Done ended, server.wait());
  ::alarm(0);
  return sample;
}

}  // namespace deepinfer::bench

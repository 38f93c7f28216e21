#include "tests/bench/report.h"

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>
#include <sys/utsname.h>

namespace deepinfer::bench {
namespace {

double median_of_sorted(const std::vector<double>& samples) {
  const std::size_t middle = samples.size() / 2;
  if (samples.size() % 2 == 1) return samples[middle];
  return (samples[middle - 1] + samples[middle]) / 2;
}

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  const std::string key = "model name";
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, key.size(), key) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

std::string kernel_name() {
  utsname names{};
  if (::uname(&names) != 0) return "unknown";
  return static_cast<const char*>(names.release);
}

}  // namespace

nlohmann::ordered_json summary_of(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return {{"median", median_of_sorted(samples)},
          {"min", samples.front()},
          {"max", samples.back()},
          {"repetitions", samples.size()}};
}

nlohmann::ordered_json this_machine() {
  return {{"cpu", cpu_name()},
          {"processors", std::thread::hardware_concurrency()},
          {"kernel", kernel_name()}};
}

}  // namespace deepinfer::bench

// Runs one of our programs as a user does: a process with arguments, streams and an exit code.
//
// Threads:  confined to one thread
#pragma once

#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include <sys/resource.h>
#include <sys/types.h>

namespace deepinfer::e2e {

struct Finished {
  int exit_code = 0;  // 128 + the signal's number when a signal ended it
  std::string out;
  std::string err;
};

struct Invocation {
  std::vector<std::string> words;  // the program's path first
  // Added to a bare environment: nothing else of ours is inherited.
  std::vector<std::pair<std::string, std::string>> environment;
  rlim_t largest_file = RLIM_INFINITY;  // bytes
  uid_t user = 0;                       // not 0: the process runs as this user, and as this group
};

// A process that was started; its output goes to files until it ends.
class Program {
 public:
  explicit Program(const Invocation& invocation);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program();  // kills it if it still runs

  void send(int signal) const;
  [[nodiscard]] pid_t process() const { return process_; }
  [[nodiscard]] bool has_ended();
  [[nodiscard]] Finished wait();

 private:
  pid_t process_ = -1;
  bool has_ended_ = false;
  int status_ = 0;
  int out_ = -1;  // unnamed files
  int err_ = -1;
};

[[nodiscard]] Finished run(const Invocation& invocation);

}  // namespace deepinfer::e2e

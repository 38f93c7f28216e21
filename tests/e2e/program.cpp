#include "tests/e2e/program.h"

#include <array>
#include <cstdlib>

#include <fcntl.h>
#include <grp.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace deepinfer::e2e {
namespace {

std::string content_of(int file) {
  std::string text;
  std::array<char, 65536> buffer{};
  off_t offset = 0;
  while (true) {
    const ssize_t count = ::pread(file, buffer.data(), buffer.size(), offset);
    if (count <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
    offset += count;
  }
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Between fork and exec: only calls that are safe there.
[[noreturn]] void become(char* const* words, char* const* environment, const Invocation& invocation,
                         std::pair<int, int> streams) {
  const rlimit files{invocation.largest_file, RLIM_INFINITY};
  if (invocation.largest_file != RLIM_INFINITY) ::setrlimit(RLIMIT_FSIZE, &files);
  ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
  ::dup2(streams.first, STDOUT_FILENO);
  ::dup2(streams.second, STDERR_FILENO);
  if (invocation.user != 0 && (::setgroups(0, nullptr) != 0 || ::setgid(invocation.user) != 0 ||
                               ::setuid(invocation.user) != 0)) {
    ::_exit(126);
  }
  ::execve(words[0], words, environment);
  ::_exit(127);
}

}  // namespace

Program::Program(const Invocation& invocation)
    : out_(::memfd_create("out", MFD_CLOEXEC)), err_(::memfd_create("err", MFD_CLOEXEC)) {
  std::vector<std::string> words = invocation.words;
  std::vector<std::string> environment{"PATH=/usr/bin:/bin"};
  for (const auto& [name, value] : invocation.environment) {
    environment.push_back(name);
    environment.back().append("=").append(value);
  }
  const std::vector<char*> word_pointers = pointers_to(words);
  const std::vector<char*> environment_pointers = pointers_to(environment);
  process_ = ::fork();
  if (process_ == 0) {
    become(word_pointers.data(), environment_pointers.data(), invocation, {out_, err_});
  }
  if (process_ < 0) std::abort();
}

Program::~Program() {
  if (!has_ended_) {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, &status_, 0);
  }
  ::close(out_);
  ::close(err_);
}

void Program::send(int signal) const { ::kill(process_, signal); }

bool Program::has_ended() {
  if (!has_ended_) has_ended_ = ::waitpid(process_, &status_, WNOHANG) == process_;
  return has_ended_;
}

Finished Program::wait() {
  if (!has_ended_) ::waitpid(process_, &status_, 0);
  has_ended_ = true;
  Finished finished;
  finished.exit_code = WIFSIGNALED(status_) ? 128 + WTERMSIG(status_) : WEXITSTATUS(status_);
  finished.out = content_of(out_);
  finished.err = content_of(err_);
  return finished;
}

Finished run(const Invocation& invocation) {
  Program program(invocation);
  return program.wait();
}

}  // namespace deepinfer::e2e

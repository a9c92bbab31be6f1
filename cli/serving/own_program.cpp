#include "cli/serving/own_program.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "sim/error.hpp"

namespace sluice::cli {
namespace {

struct Pipe {
  int read = -1, write = -1;
  [[nodiscard]] Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
      throw EnvironmentError(std::string("cannot make a pipe: ") + std::strerror(errno));
    }
    read = ends[0];
    write = ends[1];
  }
  Pipe(const Pipe&) = delete;  // Closes once.
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close_write();
    ::close(read);
  }
  void close_write() {
    if (write >= 0) ::close(write);
    write = -1;
  }
};

/// Reads both pipes until their other ends are closed.
void drain(const Pipe& out, const Pipe& errors, ProgramOutput& output) {
  std::array<pollfd, 2> watched{pollfd{out.read, POLLIN, 0}, pollfd{errors.read, POLLIN, 0}};
  std::array<std::string*, 2> texts{&output.out, &output.errors};
  std::array<char, 65536> buffer{};
  for (int open = 2; open > 0;) {
    if (::poll(watched.data(), watched.size(), -1) < 0 && errno != EINTR) return;
    for (std::size_t i = 0; i < watched.size(); ++i) {
      if (watched[i].fd < 0 || watched[i].revents == 0) continue;
      const ssize_t got = ::read(watched[i].fd, buffer.data(), buffer.size());
      if (got > 0) {
        texts[i]->append(buffer.data(), static_cast<std::size_t>(got));
      } else if (got == 0 || errno != EINTR) {
        watched[i].fd = -1;
        --open;
      }
    }
  }
}

}  // namespace

ProgramOutput run_own_program(const std::vector<std::string>& words) {
  std::vector<std::string> all{"sluice"};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  arguments.reserve(all.size() + 1);
  for (std::string& word : all) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  Pipe out, errors;
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) {
    throw EnvironmentError(std::string("cannot start another process: ") + std::strerror(errno));
  }
  if (child == 0) {  // Calls that are safe between fork and exec only.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);
    const int nothing = ::open("/dev/null", O_RDONLY);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(out.write, STDOUT_FILENO);
    ::dup2(errors.write, STDERR_FILENO);
    ::execv("/proc/self/exe", arguments.data());
    ::_exit(127);
  }
  out.close_write();
  errors.close_write();
  ProgramOutput output;
  drain(out, errors, output);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  output.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return output;
}

}  // namespace sluice::cli

#include "engine/python/python_child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/python/interpreters.hpp"
#include "engine/python/prelude.hpp"
#include "engine/python/process_work.hpp"
#include "sim/error.hpp"

extern char** environ;

namespace sluice::engine {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// Longest line that is still taken for a reply.
constexpr std::size_t kLongestReply = std::size_t{1} << 30;

std::string seconds(milliseconds time) { return std::to_string(time.count() / 1000) + " s"; }

/// Waits until the socket is ready; false once `until` has passed.
bool ready(int socket, short events, Clock::time_point until, short& found) {
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(until - Clock::now()).count();
    if (left <= 0) return false;
    pollfd one{.fd = socket, .events = events, .revents = 0};
    const int count = ::poll(&one, 1, static_cast<int>(std::min<std::int64_t>(left, 60'000)));
    if (count < 0 && errno != EINTR) return false;
    if (count <= 0) continue;
    found = one.revents;
    return true;
  }
}

/// Attributes and file actions of a process that is about to be spawned.
class Spawned {
 public:
  [[nodiscard]] Spawned(int input, int errors) {
    ::posix_spawn_file_actions_init(&files_);
    ::posix_spawn_file_actions_adddup2(&files_, input, 0);
    ::posix_spawn_file_actions_addopen(&files_, 1, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_adddup2(&files_, errors, 2);
    ::posix_spawnattr_init(&attributes_);
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    // A group of its own: the terminal's interrupt is for Sluice, which ends the process itself.
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~Spawned() {
    ::posix_spawn_file_actions_destroy(&files_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  Spawned(const Spawned&) = delete;  // Owns the C library's structures.
  Spawned& operator=(const Spawned&) = delete;

  /// Starts the program; 0 or an error number.
  int run(const std::vector<std::string>& words, pid_t& process) {
    std::vector<char*> argv;
    argv.reserve(words.size() + 1);
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    return ::posix_spawn(&process, words[0].c_str(), &files_, &attributes_, argv.data(), environ);
  }

 private:
  posix_spawn_file_actions_t files_{};
  posix_spawnattr_t attributes_{};
};

[[noreturn]] void refuse_start(const PythonScript& script, const std::string& missing,
                               const std::string& tried) {
  const auto found = std::ranges::find(script.modules, missing, &PythonModule::name);
  check(found != script.modules.end(), "a missing module is one of the script's");
  std::string line = script.purpose + ": needs Python with " + missing + ": ";
  if (!found->apt_package.empty()) line += "apt-get install " + found->apt_package + ", or ";
  throw EnvironmentError(line + "pip install " + found->pip_package +
                         " and name that environment's python in SLUICE_PYTHON (tried " +
                         (tried.empty() ? "no python3: none was found" : tried) + ")");
}

}  // namespace

PythonChild::PythonChild(const PythonScript& script, const PythonLimits& limits)
    : purpose_(script.purpose) {
  std::string tried;
  std::string missing = script.modules.empty() ? "" : script.modules.front().name;
  for (const std::string& interpreter : python_interpreters()) {
    const Started started = start(interpreter, script, limits);
    if (started == Started::yes) return;
    if (started == Started::module_missing) missing = missing_;
    tried.append(tried.empty() ? "" : ", ").append(interpreter);
    if (started != Started::no_such_program) continue;
    const char* named = std::getenv("SLUICE_PYTHON");
    if (named != nullptr && interpreter == named) {
      throw EnvironmentError("SLUICE_PYTHON: " + interpreter +
                             " cannot be run: give the path of a Python, or unset it");
    }
    tried += " (cannot be run)";
  }
  refuse_start(script, missing, tried);
}

PythonChild::~PythonChild() { stop(); }

PythonChild::Started PythonChild::start(const std::string& interpreter, const PythonScript& script,
                                        const PythonLimits& limits) {
  stop();
  interpreter_ = interpreter;
  std::array<int, 2> ends{};
  errors_ = ::memfd_create("python", MFD_CLOEXEC);
  if (errors_ < 0 || ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw EnvironmentError(purpose_ + ": cannot make a socket: " + std::strerror(errno));
  }
  socket_ = ends[0];
  std::vector<std::string> words = {interpreter,
                                    "-I",
                                    "-B",
                                    "-c",
                                    std::string(kPrelude) + std::string(script.text),
                                    std::to_string(limits.memory.count())};
  for (const PythonModule& module : script.modules) words.push_back(module.name);
  const int error = Spawned(ends[1], errors_).run(words, process_);
  ::close(ends[1]);
  if (error != 0) {
    process_ = -1;
    stop();
    return Started::no_such_program;
  }
  hello_ = read_line(limits.start);
  const auto hello = nlohmann::json::parse(hello_, nullptr, false);
  if (hello.is_object() && hello.contains("missing") && hello["missing"].is_string()) {
    missing_ = hello["missing"].get<std::string>();
    stop();
    return Started::module_missing;
  }
  if (!hello.is_object() || !hello.contains("versions") || !hello["versions"].is_object()) {
    refuse_reply(hello_);
  }
  said_before_ = ::lseek(errors_, 0, SEEK_END);
  return Started::yes;
}

std::string PythonChild::version(const std::string& module) const {
  return nlohmann::json::parse(hello_).at("versions").value(module, std::string("unknown"));
}

std::string PythonChild::read_line(milliseconds limit) {
  std::string line;
  exchange(
      {},
      [&line](std::string_view found) {
        line = found;
        return Replies::complete;
      },
      limit);
  return line;
}

std::string PythonChild::ask(const std::string& request, milliseconds limit) {
  std::string line;
  exchange(
      {&request, 1},
      [&line](std::string_view found) {
        line = found;
        return Replies::complete;
      },
      limit);
  return line;
}

bool PythonChild::take_lines(const std::function<Replies(std::string_view)>& reply) {
  bool complete = false;
  std::size_t taken = 0;
  while (!complete) {
    const std::size_t end = received_.find('\n', std::max(taken, searched_));
    if (end == std::string::npos) break;
    complete = reply(std::string_view(received_).substr(taken, end - taken)) == Replies::complete;
    taken = end + 1;
  }
  received_.erase(0, taken);
  searched_ = complete ? 0 : received_.size();
  if (received_.size() > kLongestReply) fail("wrote a line without an end");
  return complete;
}

void PythonChild::send_some(std::span<const std::string> requests, Position& at) {
  static constexpr std::string_view kFeed = "\n";
  while (at.request < requests.size()) {
    const std::string& whole = requests[at.request];
    const bool ends = at.byte == whole.size();
    const std::string_view rest = ends ? kFeed : std::string_view(whole).substr(at.byte);
    const ssize_t sent = ::send(socket_, rest.data(), rest.size(),
                                MSG_NOSIGNAL | MSG_DONTWAIT | (ends ? 0 : MSG_MORE));
    if (sent < 0) {
      // What a process that went wrote before is read first.
      if (errno != EAGAIN && errno != EINTR) at.request = requests.size();
      return;
    }
    at.byte += static_cast<std::size_t>(sent);
    if (at.byte > whole.size()) at = {.request = at.request + 1, .byte = 0};
  }
}

void PythonChild::exchange(std::span<const std::string> requests,
                           const std::function<Replies(std::string_view)>& reply,
                           milliseconds limit) {
  if (socket_ < 0) fail("has ended");
  Position at;
  if (take_lines(reply)) return;
  std::array<char, 1 << 16> buffer{};
  auto until = Clock::now() + limit;
  // On a busy machine a process may wait long for its turn: behind the limit it is given as much of
  // the processor.
  milliseconds computed{0};
  bool waits = false;  // Whether the limit has passed since the last reply.
  const auto goes_on = [&] {
    const ProcessWork work = work_of(process_);
    if (!waits) computed = work.computed;
    waits = true;
    return work.busy && work.computed - computed < limit;
  };
  for (;;) {
    const bool sends = at.request < requests.size();
    short events = 0;
    if (!ready(socket_, static_cast<short>(POLLIN | (sends ? POLLOUT : 0)), until, events)) {
      until = Clock::now() + limit;
      if (goes_on()) continue;
      fail("did not answer within " + seconds(limit));
    }
    if (sends && (events & POLLOUT) != 0) send_some(requests, at);
    if ((events & (POLLIN | POLLHUP | POLLERR)) == 0) continue;
    const ssize_t got = ::recv(socket_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got <= 0) fail("ended");
    received_.append(buffer.data(), static_cast<std::size_t>(got));
    const std::size_t before = received_.size();
    if (take_lines(reply)) return;
    if (received_.size() == before) continue;
    until = Clock::now() + limit;
    waits = false;
  }
}

void PythonChild::refuse_reply(std::string_view line) {
  std::string shown;
  for (const char letter : line.substr(0, 60)) {
    const auto code = static_cast<unsigned char>(letter);
    shown += code < 0x20 || code > 0x7e ? '?' : letter;
  }
  fail("wrote what is no reply: \"" + shown + (line.size() > 60 ? "..." : "") + "\"");
}

std::string PythonChild::errors_from(off_t begin) const {
  std::string text(4096, '\0');
  const off_t size = ::lseek(errors_, 0, SEEK_END);
  const off_t first = std::max(begin, size - static_cast<off_t>(text.size()));
  if (size <= first) return {};
  text.resize(static_cast<std::size_t>(size - first));
  const ssize_t got = ::pread(errors_, text.data(), text.size(), first);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
  text.erase(text.find_last_not_of(" \n") + 1);
  return text;
}

std::string PythonChild::said() const {
  return errors_ < 0 ? std::string() : errors_from(said_before_);
}

std::string PythonChild::last_words() const {
  std::string text = errors_from(0);
  const std::size_t feed = text.rfind('\n');
  if (feed != std::string::npos) text.erase(0, feed + 1);
  return text;
}

void PythonChild::fail(const std::string& what) {
  std::string line = purpose_ + ": " + interpreter_ + " " + what;
  if (socket_ >= 0) {
    ::close(socket_);
    socket_ = -1;
  }
  if (process_ > 0) {
    int status = 0;
    // The end of a process that closed its socket follows at once; any other is ended.
    for (int tries = 0; ::waitpid(process_, &status, WNOHANG) == 0; ++tries) {
      if (tries == 50) ::kill(process_, SIGKILL);
      ::poll(nullptr, 0, 10);
    }
    process_ = -1;
    if (what == "ended" && WIFSIGNALED(status)) {
      line += std::string(" by signal ") + std::to_string(WTERMSIG(status));
    } else if (what == "ended") {
      line += " with exit status " + std::to_string(WEXITSTATUS(status));
    }
  }
  if (errors_ >= 0) {
    const std::string words = last_words();
    if (!words.empty()) line += ": " + words;
  }
  stop();
  throw EnvironmentError(line);
}

void PythonChild::stop() noexcept {
  if (socket_ >= 0) ::close(socket_);
  if (errors_ >= 0) ::close(errors_);
  if (process_ > 0) {
    ::kill(process_, SIGKILL);
    int status = 0;
    while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
  }
  socket_ = errors_ = -1;
  process_ = -1;
  received_.clear();
  searched_ = 0;
}

}  // namespace sluice::engine

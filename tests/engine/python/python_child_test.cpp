#include "engine/python/python_child.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "sim/error.hpp"
#include "tests/engine/scratch_folder.hpp"

namespace sluice::engine::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Names an interpreter in SLUICE_PYTHON for one test.
class NamedPython {
 public:
  [[nodiscard]] explicit NamedPython(const std::string& path) {
    const char* before = std::getenv("SLUICE_PYTHON");
    if (before != nullptr) before_ = before;
    ::setenv("SLUICE_PYTHON", path.c_str(), 1);
  }
  ~NamedPython() {
    if (before_) {
      ::setenv("SLUICE_PYTHON", before_->c_str(), 1);
    } else {
      ::unsetenv("SLUICE_PYTHON");
    }
  }
  NamedPython(const NamedPython&) = delete;  // Restores the variable once.
  NamedPython& operator=(const NamedPython&) = delete;

 private:
  std::optional<std::string> before_;
};

PythonScript script(std::string_view text) {
  return {.purpose = "the test", .text = text, .modules = {}};
}

/// An executable shell script.
std::string program(const ScratchFolder& folder, const std::string& text) {
  const auto file = folder.path() / "python";
  std::ofstream(file) << "#!/bin/sh\n" << text;
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  return file.string();
}

/// Message of the EnvironmentError that `call` throws.
std::string failed_with(const std::function<void()>& call) {
  try {
    call();
  } catch (const EnvironmentError& error) {
    return error.what();
  }
  return "nothing failed";
}

constexpr const char* kEcho = "for request in requests():\n    reply(request)\n";

TEST(PythonChild, AnswersALineForEachLineWhileMoreAreSent) {
  PythonChild child(script(kEcho));
  EXPECT_EQ(child.ask(R"({"a":1})", seconds(20)), R"({"a":1})");
  // Ten megabytes each way: far more than a socket holds.
  const std::vector<std::string> requests(1000, "[\"" + std::string(10'000, 'x') + "\"]");
  std::size_t replies = 0;
  child.exchange(
      requests,
      [&](std::string_view line) {
        EXPECT_EQ(line, requests[0]);
        return ++replies == requests.size() ? PythonChild::Replies::complete
                                            : PythonChild::Replies::go_on;
      },
      seconds(20));
  EXPECT_EQ(replies, requests.size());
}

TEST(PythonChild, OneThatDiesSaysWhyInOneLine) {
  PythonChild raises(script("for request in requests():\n    raise ValueError('no such thing')\n"));
  const std::string why = failed_with([&] { (void)raises.ask("{}", seconds(20)); });
  EXPECT_NE(why.find("ended with exit status 1: ValueError: no such thing"), std::string::npos)
      << why;
  EXPECT_EQ(why.find('\n'), std::string::npos);
  PythonChild killed(script("next(requests())\nos.kill(os.getpid(), 9)\n"));
  EXPECT_NE(failed_with([&] { (void)killed.ask("{}", seconds(20)); }).find("by signal 9"),
            std::string::npos);
  EXPECT_NE(failed_with([&] { (void)killed.ask("{}", seconds(20)); }).find("has ended"),
            std::string::npos);
}

TEST(PythonChild, OneThatHangsIsEnded) {
  PythonChild child(script("next(requests())\nwhile True:\n    time.sleep(1)\n"));
  EXPECT_NE(failed_with([&] { (void)child.ask("{}", milliseconds(50)); }).find("did not answer"),
            std::string::npos);
}

TEST(PythonChild, OneThatComputesIsGivenItsTimeOnABusyMachine) {
  // While others have the processors, it has computed less than the limit when that has passed.
  PythonChild slow(
      script("next(requests())\nend = time.process_time() + 0.2\n"
             "while time.process_time() < end:\n    pass\nreply({})\nflush()\n"));
  std::vector<std::jthread> others;
  for (unsigned i = 0; i < 4 * std::max(1U, std::thread::hardware_concurrency()); ++i) {
    others.emplace_back([](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
      }
    });
  }
  EXPECT_EQ(slow.ask("{}", milliseconds(400)), "{}");
  others.clear();
  PythonChild endless(script("next(requests())\nwhile True:\n    pass\n"));
  EXPECT_NE(failed_with([&] { (void)endless.ask("{}", milliseconds(50)); }).find("did not answer"),
            std::string::npos);
}

TEST(PythonChild, MoreMemoryThanItsLimitIsAnErrorInTheScript) {
  PythonChild child(script("next(requests())\nheld = 'x' * (1 << 31)\n"),
                    {.memory = Bytes(1LL << 29)});
  EXPECT_NE(failed_with([&] { (void)child.ask("{}", seconds(20)); }).find("MemoryError"),
            std::string::npos);
}

TEST(PythonChild, AnInterpreterThatIsNoneIsNamed) {
  const ScratchFolder folder;
  const auto said = [&](const std::string& text, milliseconds start = seconds(20)) {
    const NamedPython named(program(folder, text));
    return failed_with([&] { const PythonChild child(script(kEcho), {.start = start}); });
  };
  EXPECT_NE(said("exit 7\n").find("python ended with exit status 7"), std::string::npos);
  EXPECT_NE(said("echo no >&2; exit 1\n").find("status 1: no"), std::string::npos);
  EXPECT_NE(said("echo garbage >&0; sleep 5\n").find("wrote what is no reply: \"garbage\""),
            std::string::npos);
  EXPECT_NE(said("echo '[1]' >&0; sleep 5\n").find("wrote what is no reply"), std::string::npos);
  EXPECT_NE(said("sleep 5\n", milliseconds(50)).find("did not answer"), std::string::npos);
  const NamedPython absent((folder.path() / "absent").string());
  EXPECT_NE(failed_with([&] { const PythonChild child(script(kEcho)); }).find("SLUICE_PYTHON: "),
            std::string::npos);
}

TEST(PythonChild, AModuleThatNoInterpreterHasIsNamedWithTheCommandsThatInstallIt) {
  PythonScript needs = script(kEcho);
  needs.modules = {{"json", "", "json"}, {"no_such_module", "python3-no-such", "no-such"}};
  const std::string said = failed_with([&] { const PythonChild child(needs); });
  EXPECT_NE(said.find("needs Python with no_such_module: apt-get install python3-no-such, or pip "
                      "install no-such"),
            std::string::npos)
      << said;
}

TEST(PythonChild, AModulesVersionIsKnown) {
  PythonScript needs = script(kEcho);
  needs.modules = {{"json", "", "json"}};
  EXPECT_EQ(PythonChild(needs).version("json"), "2.0.9");
}

}  // namespace
}  // namespace sluice::engine::test

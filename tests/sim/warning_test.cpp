#include "sim/warning.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace sluice::sim {
namespace {

TEST(Warning, IsOneLineOfUtf8WithoutWhatSteersATerminal) {
  testing::internal::CaptureStderr();
  warn("a file\n\x1b[31m\xff.json");
  note("b\r");
  tell("c");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "sluice: warning: a file  [31m\uFFFD.json\nsluice: note: b \nsluice: c\n");
}

TEST(Warning, GoesToAListenerInsteadOfStderrWhileThereIsOne) {
  std::vector<std::pair<MessageKind, std::string>> heard;
  set_message_listener(
      [&](MessageKind kind, const std::string& line) { heard.emplace_back(kind, line); });
  testing::internal::CaptureStderr();
  warn("a\nb");
  note("c");
  tell("d");
  set_message_listener(nullptr);
  warn("e");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "sluice: warning: e\n");
  const std::vector<std::pair<MessageKind, std::string>> expected = {
      {MessageKind::warning, "a b"}, {MessageKind::note, "c"}, {MessageKind::wait, "d"}};
  EXPECT_EQ(heard, expected);
}

}  // namespace
}  // namespace sluice::sim

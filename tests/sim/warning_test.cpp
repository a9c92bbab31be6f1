#include "sim/warning.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace sluice::sim

#include "sim/message_line.hpp"

#include <gtest/gtest.h>

namespace sluice::sim {
namespace {

TEST(MessageLine, LeavesTextOfOneLineAsItIs) {
  EXPECT_EQ(message_line(""), "");
  EXPECT_EQ(message_line("x.json: task \"a\": größer"), "x.json: task \"a\": größer");
}

TEST(MessageLine, HasASpaceForWhateverEndsALineOrSteersATerminal) {
  EXPECT_EQ(message_line("a\nb\r\nc\vd\fe\x1c!"), "a b  c d e !");
  EXPECT_EQ(message_line("\x1b[31m\x7f"), " [31m ");
  EXPECT_EQ(message_line("a\u0085b\u2028c\u2029d"), "a b c d");
  EXPECT_EQ(message_line("a\u00a0b"), "a\u00a0b");  // A space that ends no line.
}

TEST(MessageLine, HasAReplacementForWhatIsNoUtf8) {
  EXPECT_EQ(message_line("a\xff\xc3"), "a\uFFFD\uFFFD");
}

}  // namespace
}  // namespace sluice::sim

// Files that nobody else opens: no other process finds them, and nothing of them is left behind.
#include "engine/disk/direct_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "tests/engine/scratch_folder.hpp"

namespace sluice::engine {
namespace {

TEST(NamelessFile, HoldsWhatIsWrittenAndLiesInNoFolder) {
  const test::ScratchFolder folder;
  const int file = open_nameless_file(folder.path(), "state-");
  ASSERT_GE(file, 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  const std::string written = "weights";
  ASSERT_EQ(pwrite(file, written.data(), written.size(), 0), std::ssize(written));
  std::string read(written.size(), ' ');
  EXPECT_EQ(pread(file, read.data(), read.size(), 0), std::ssize(written));
  EXPECT_EQ(read, written);
  EXPECT_NE(fcntl(file, F_GETFD) & FD_CLOEXEC, 0);  // Children do not keep it.
  EXPECT_EQ(close(file), 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(NamelessFile, SaysWhyThereIsNone) {
  const test::ScratchFolder folder;
  EXPECT_EQ(open_nameless_file(folder.path() / "missing", "state-"), -1);
  EXPECT_EQ(errno, ENOENT);
}

}  // namespace
}  // namespace sluice::engine

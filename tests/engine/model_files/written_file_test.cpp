#include "engine/model_files/written_file.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "sim/error.hpp"
#include "tests/engine/scratch_folder.hpp"

namespace sluice::engine::test {
namespace {

std::size_t files_in(const ScratchFolder& folder) {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator(folder.path()), {}));
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

TEST(FileInWriting, ReplacesAFileWhenItIsWhole) {
  const ScratchFolder folder;
  const std::filesystem::path path = folder.path() / "tokens";
  std::ofstream(path) << "old";
  const auto content = [&path] {
    std::ifstream in(path);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  FileInWriting file(path);
  file.append(bytes_of("ne"));
  EXPECT_EQ(content(), "old");
  file.append(bytes_of("w"));
  file.commit();
  EXPECT_EQ(content(), "new");
  EXPECT_EQ(files_in(folder), 1U);
}

TEST(FileInWriting, LeavesNothingWhereItIsGivenUp) {
  const ScratchFolder folder;
  {
    FileInWriting file(folder.path() / "tokens");
    file.append(bytes_of("half"));
    EXPECT_EQ(files_in(folder), 1U) << "it lies beside its place";
  }
  EXPECT_EQ(files_in(folder), 0U);
}

TEST(FileInWriting, APlaceThatCannotBeTakenIsNamed) {
  const ScratchFolder folder;
  std::filesystem::create_directories(folder.path() / "tokens" / "full");
  FileInWriting file(folder.path() / "tokens");
  try {
    file.commit();
    FAIL() << "a folder is in the way";
  } catch (const EnvironmentError& error) {
    EXPECT_NE(std::string(error.what()).find((folder.path() / "tokens").string()),
              std::string::npos);
  }
}

}  // namespace
}  // namespace sluice::engine::test

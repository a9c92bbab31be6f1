#include "planner/requests/stated_paths.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace sluice::planner {
namespace {

using std::filesystem::path;

class StatedPaths : public ::testing::Test {
 protected:
  StatedPaths()
      : folder_(path(::testing::TempDir()) /
                ("stated_paths_" +
                 std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()))) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ / "rows");
    for (const char* name : {"a.jsonl", "own.jinja", "mask.npy", "qwen3", "bytes-2m"}) {
      std::ofstream(folder_ / name) << "x";
    }
  }
  ~StatedPaths() override { std::filesystem::remove_all(folder_); }

  path folder_;
};

TEST_F(StatedPaths, LeadToWhatIsThere) {
  RunConfig run;
  run.model = "rows";
  run.data = {{.name = "a.jsonl"}, {.name = "rows/*.jsonl"}, {.name = "gone.jsonl"}};
  run.chat_template = "own.jinja";
  run.data_mask = "mask.npy";
  run.out = "rows";
  lead_paths_to(run, folder_);
  EXPECT_EQ(run.model, (folder_ / "rows").string());
  EXPECT_EQ(run.data[0].name, folder_ / "a.jsonl");
  EXPECT_EQ(run.data[1].name, folder_ / "rows/*.jsonl");
  EXPECT_EQ(run.data[2].name, "gone.jsonl");
  EXPECT_EQ(run.chat_template, (folder_ / "own.jinja").string());
  EXPECT_EQ(run.data_mask, folder_ / "mask.npy");
  EXPECT_EQ(run.out, "rows");
}

TEST_F(StatedPaths, NamesStayNamesBesideFilesThatAreCalledLikeThem) {
  RunConfig run;
  run.model = "bytes-2m";
  run.chat_template = "qwen3";
  run.machine = "here";
  lead_paths_to(run, folder_);
  EXPECT_EQ(run.model, "bytes-2m");
  EXPECT_EQ(run.chat_template, "qwen3");
  EXPECT_EQ(run.machine, "here");
}

TEST_F(StatedPaths, ARegistryOfTheFolderIsItsDatasetDir) {
  std::ofstream(folder_ / "dataset_info.json") << "{}";
  RunConfig run;
  run.data = {{.name = "identity"}};
  lead_paths_to(run, folder_);
  EXPECT_EQ(run.data[0].name, "identity");
  EXPECT_EQ(run.dataset_dir, folder_);
}

TEST_F(StatedPaths, FollowTheWorkingFolderThatTheRunStates) {
  RunConfig run;
  run.data = {{.name = "a.jsonl"}};
  lead_to_working_folder(run);
  EXPECT_EQ(run.data[0].name, "a.jsonl");
  run.working_folder = folder_;
  lead_to_working_folder(run);
  EXPECT_EQ(run.data[0].name, folder_ / "a.jsonl");
}

}  // namespace
}  // namespace sluice::planner

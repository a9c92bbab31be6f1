#include "engine/model_files/kept_checkpoints.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "engine/model_files/checkpoint_file.hpp"
#include "tests/engine/scratch_folder.hpp"

namespace sluice::engine::test {
namespace {

void make(const std::filesystem::path& checkpoints, std::int64_t step,
          std::optional<double> loss = std::nullopt) {
  const auto folder = checkpoints / checkpoint_name(step);
  std::filesystem::create_directories(folder);
  CheckpointFile file;
  file.facts.step = step;
  file.facts.val_loss = loss;
  std::ofstream(folder / "checkpoint.json") << checkpoint_text(file);
}

using Steps = std::vector<std::int64_t>;

TEST(KeptCheckpoints, AllStayWhereNothingIsSaid) {
  const ScratchFolder scratch;
  for (const std::int64_t step : {1, 2, 3}) make(scratch.path(), step);
  drop_checkpoints(scratch.path(), {}, 3);
  EXPECT_EQ(checkpoint_steps(scratch.path()), (Steps{3, 2, 1}));
}

TEST(KeptCheckpoints, TheNewestAndTheBestStay) {
  const ScratchFolder scratch;
  make(scratch.path(), 10, 3.0);
  make(scratch.path(), 20, 2.0);
  make(scratch.path(), 30, 2.5);
  make(scratch.path(), 40);  // This one was not evaluated.
  make(scratch.path(), 100, 2.2);
  drop_checkpoints(scratch.path(), {.last = 2, .best = true}, 100);
  EXPECT_EQ(checkpoint_steps(scratch.path()), (Steps{100, 40, 20}));
  drop_checkpoints(scratch.path(), {.last = 1}, 100);
  EXPECT_EQ(checkpoint_steps(scratch.path()), (Steps{100}));
}

TEST(KeptCheckpoints, LaterOnesAreOfAnotherBeginning) {
  const ScratchFolder scratch;
  for (const std::int64_t step : {1, 2, 9}) make(scratch.path(), step);
  drop_checkpoints(scratch.path(), {.last = 1}, 2);
  EXPECT_EQ(checkpoint_steps(scratch.path()), (Steps{9, 2}));
}

TEST(KeptCheckpoints, ATornOneHasNoLoss) {
  const ScratchFolder scratch;
  make(scratch.path(), 1, 1.0);
  make(scratch.path(), 2, 2.0);
  make(scratch.path(), 3, 3.0);
  std::ofstream(scratch.path() / "step-1" / "checkpoint.json") << "{}";
  drop_checkpoints(scratch.path(), {.last = 1, .best = true}, 3);
  EXPECT_EQ(checkpoint_steps(scratch.path()), (Steps{3, 2}));
}

TEST(SweepCheckpoints, RemovesWhatWasWrittenOrRemovedInPartAndNothingElse) {
  const ScratchFolder scratch;
  make(scratch.path(), 1);
  for (const char* name : {".step-2.partial", ".step-3.dropped", ".mine", "notes"}) {
    std::filesystem::create_directories(scratch.path() / name / "inside");
  }
  sweep_checkpoints(scratch.path());
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(scratch.path())) {
    left.push_back(entry.path().filename().string());
  }
  std::ranges::sort(left);
  EXPECT_EQ(left, (std::vector<std::string>{".mine", "notes", "step-1"}));
  sweep_checkpoints(scratch.path() / "absent");
}

}  // namespace
}  // namespace sluice::engine::test

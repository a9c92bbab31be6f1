#include "profiler/study/study.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "profiler/study/study_schedule.hpp"
#include "sim/error.hpp"

namespace sluice::profiler {
namespace {

StudyPoint point(const char* job, double predicted, double measured, double half_width = 0.1) {
  return {.job = job,
          .predicted = Seconds(predicted),
          .low = Seconds(predicted * (1 - half_width)),
          .high = Seconds(predicted * (1 + half_width)),
          .measured = Seconds(measured)};
}

TEST(StudyStatistics, OfNothingAreZero) {
  EXPECT_EQ(study_statistics({}).points, 0U);
  EXPECT_EQ(study_statistics({}).mean_error, 0);
}

TEST(StudyStatistics, ErrorsAreOverTheMeasured) {
  const StudyPoint points[] = {point("a", 1.1, 1), point("b", 0.98, 1), point("c", 3, 2.5, 0.1)};
  const StudyStatistics s = study_statistics(points);
  EXPECT_NEAR(s.mean_error, (0.1 + 0.02 + 0.2) / 3, 1e-12);
  EXPECT_NEAR(s.bias, (0.1 - 0.02 + 0.2) / 3, 1e-12);
  EXPECT_NEAR(s.worst_error, 0.2, 1e-12);
  EXPECT_NEAR(s.percentile_95, 0.2, 1e-12);
  EXPECT_NEAR(s.inside_interval, 2.0 / 3, 1e-12);  // 2.5 is below 2.7.
}

TEST(StudyStatistics, The95thPercentileLeavesOutOneInTwenty) {
  std::vector<StudyPoint> points(20, point("a", 1.01, 1));
  points[3].predicted = Seconds(2);
  EXPECT_NEAR(study_statistics(points).percentile_95, 0.01, 1e-12);
  points[4].predicted = Seconds(1.5);
  EXPECT_NEAR(study_statistics(points).percentile_95, 0.5, 1e-12);
}

TEST(StudyStatistics, PairsAreOfOneJobAndDifferEnough) {
  const StudyPoint points[] = {point("a", 1.0, 1.0), point("a", 0.9, 1.05), point("a", 1.2, 1.2),
                               point("b", 9.0, 1.5)};
  const StudyStatistics s = study_statistics(points);
  EXPECT_EQ(s.over_3.pairs, 3U);
  EXPECT_EQ(s.over_3.right, 2U);  // 1.0 against 1.05 is the wrong way round.
  EXPECT_EQ(s.over_8.pairs, 2U);
  EXPECT_EQ(s.over_8.right, 2U);
}

TEST(BurstSchedule, RunsWithEqualNumbersAlternate) {
  EXPECT_EQ(burst_schedule({2, 2, 2}), (std::vector<std::size_t>{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(burst_schedule({}), std::vector<std::size_t>{});
}

TEST(BurstSchedule, BurstsOfARunWithMoreLieBetweenTheOthers) {
  EXPECT_EQ(burst_schedule({1, 0, 4, 1}), (std::vector<std::size_t>{0, 2, 2, 2, 3, 2}));
  EXPECT_EQ(burst_schedule({4, 1, 1, 1}), (std::vector<std::size_t>{0, 0, 1, 0, 2, 0, 3}));
}

class StudyFile : public testing::Test {
 protected:
  StudyFile() : path_(std::filesystem::path(testing::TempDir()) / "study.runs") {}
  ~StudyFile() override { std::filesystem::remove(path_); }
  std::vector<StudyRun> read(const std::string& text) {
    std::ofstream(path_) << text;
    return read_study(path_);
  }
  void refuses(const std::string& text, const std::string& part) {
    try {
      read(text);
      FAIL() << "not refused: " << text;
    } catch (const BadRequest& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  }
  std::filesystem::path path_;
};

TEST_F(StudyFile, LaterFlagsOverrideDefaults) {
  const auto runs = read(
      "# a comment\n"
      "defaults --model bytes-2m --seq-len 64 --batch-size 8\n"
      "a calibrate --seq-len 32  # shorter\n"
      "\n"
      "b predict\n");
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].name, "a");
  EXPECT_TRUE(runs[0].calibrates);
  EXPECT_EQ(runs[0].config.seq_len, 32);
  EXPECT_FALSE(runs[1].calibrates);
  EXPECT_EQ(runs[1].config.seq_len, 64);
}

TEST_F(StudyFile, ALineSaysItsBursts) {
  const auto runs = read(
      "a calibrate --bursts 3 --seq-len 32\ndefaults --bursts 2\nb predict\nc predict --bursts "
      "5\n");
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[0].bursts, 3);
  EXPECT_EQ(runs[0].config.seq_len, 32);
  EXPECT_EQ(runs[1].bursts, 2);
  EXPECT_EQ(runs[2].bursts, 5);
  EXPECT_EQ(read("a predict\n")[0].bursts, std::nullopt);
  for (const char* number : {"", "0", "101", "2x"}) {
    refuses(std::string("a predict --bursts ") + number + "\n",
            ":1: --bursts: must be a number from 1 to 100");
  }
}

TEST_F(StudyFile, RefusalsNameTheLine) {
  refuses("a predict --model bytes-2m\nb perhaps\n", ":2: must be NAME");
  refuses("a predict --modell bytes-2m\n", ":1: ");
  refuses("a predict\na predict\n", ":2: a is there already");
  refuses("# nothing\n", "has no runs");
  EXPECT_THROW(read_study("/nowhere/at/all.runs"), BadRequest);
}

}  // namespace
}  // namespace sluice::profiler

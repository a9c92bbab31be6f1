#include "engine/datasets/data.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>

#include "planner/files/hash.hpp"
#include "sim/error.hpp"
#include "tests/engine/scratch_folder.hpp"

namespace sluice::engine::test {
namespace {

std::string counting_text(std::size_t bytes) {
  std::string text(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(i % 251);
  return text;
}

std::filesystem::path write(const ScratchFolder& folder, const std::string& text) {
  std::ofstream(folder.path() / "text", std::ios::binary) << text;
  return folder.path() / "text";
}

TEST(Shuffle, IsABijectionForEverySize) {
  for (const std::int64_t size : {1, 2, 3, 4, 5, 17, 64, 100, 1000}) {
    std::vector<std::int64_t> image;
    for (std::int64_t i = 0; i < size; ++i)
      image.push_back(shuffled(i, size, {.seed = 7, .epoch = 0}));
    std::sort(image.begin(), image.end());
    std::vector<std::int64_t> all(static_cast<std::size_t>(size));
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(image, all) << size;
  }
}

TEST(Shuffle, DependsOnSeedAndEpochAndMovesMostThings) {
  const auto order = [](std::uint64_t seed, std::uint64_t epoch) {
    std::vector<std::int64_t> image;
    for (std::int64_t i = 0; i < 1000; ++i)
      image.push_back(shuffled(i, 1000, {.seed = seed, .epoch = epoch}));
    return image;
  };
  EXPECT_EQ(order(1, 0), order(1, 0));
  EXPECT_NE(order(1, 0), order(2, 0));
  EXPECT_NE(order(1, 0), order(1, 1));
  const std::vector<std::int64_t> image = order(1, 0);
  int fixed = 0;
  for (std::int64_t i = 0; i < 1000; ++i) fixed += image[static_cast<std::size_t>(i)] == i ? 1 : 0;
  EXPECT_LT(fixed, 12);  // A random permutation leaves one in place on average.
}

TEST(ByteText, WindowsOverlapByTheTokenThatIsBothTargetAndInput) {
  // 101 bytes at length 10: windows start at 0, 10, ..., 90, so there are 10; a twentieth is
  // less than one, so one is validation.
  const ScratchFolder folder;
  const std::string text = counting_text(101);
  ByteText data(write(folder, text), 10, 1);
  EXPECT_EQ(data.training_windows(), 9);
  EXPECT_EQ(data.validation_windows(), 1);
  std::vector<std::int32_t> inputs(10), targets(10);
  data.read_validation(0, inputs, targets);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(inputs[static_cast<std::size_t>(i)], 90 + i);
    EXPECT_EQ(targets[static_cast<std::size_t>(i)], 91 + i);
  }
}

TEST(ByteText, AnEpochReadsEveryTrainingWindowOnceAndNoValidationWindow) {
  const ScratchFolder folder;
  ByteText data(write(folder, counting_text(2001)), 20, 3);
  ASSERT_EQ(data.training_windows(), 95);
  for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
    std::vector<std::int64_t> windows;
    for (std::int64_t i = 0; i < 95; ++i) windows.push_back(data.training_window(epoch * 95 + i));
    std::sort(windows.begin(), windows.end());
    std::vector<std::int64_t> all(95);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(windows, all);
  }
}

TEST(ByteText, ASequenceDependsOnItsPositionAlone) {
  const ScratchFolder folder;
  const std::filesystem::path file = write(folder, counting_text(4001));
  ByteText data(file, 20, 3);
  std::vector<std::int32_t> inputs(80), targets(80), again(20), again_targets(20);
  data.read(300, inputs, targets);
  ByteText other(file, 20, 3);
  other.read(302, again, again_targets);
  EXPECT_TRUE(std::equal(again.begin(), again.end(), inputs.begin() + 40));
  EXPECT_TRUE(std::equal(again_targets.begin(), again_targets.end(), targets.begin() + 40));
}

/// Windows of one token each: the number of the window, learnt where `learns` says so.
class NumberedWindows : public WindowedText {
 public:
  NumberedWindows(std::int64_t count, const std::function<bool(std::int64_t)>& learns)
      : WindowedText(1, 3) {
    cut("numbers", count + 1, "tokens");
    leave_out("numbers", learns);
  }
  [[nodiscard]] std::string hash() const override { return ""; }
  [[nodiscard]] double unigram_entropy() const override { return 0; }
  [[nodiscard]] std::int64_t vocabulary() const override { return 1; }
  [[nodiscard]] std::string description() const override { return ""; }
  [[nodiscard]] DataSummary summary(std::int64_t /*shown_rows*/) const override { return {}; }

 private:
  void read_window(std::int64_t window, std::int32_t* inputs, std::int32_t* targets) override {
    *inputs = *targets = static_cast<std::int32_t>(window);
  }
};

/// Windows that `count` reads give, sorted.
std::vector<std::int32_t> windows_read(NumberedWindows& data, std::int64_t first,
                                       std::int64_t count) {
  std::vector<std::int32_t> inputs(static_cast<std::size_t>(count)), targets(inputs.size());
  data.read(first, inputs, targets);
  std::sort(inputs.begin(), inputs.end());
  return inputs;
}

TEST(WindowedText, WindowsWithNothingToLearnAreInNeitherPart) {
  NumberedWindows data(100, [](std::int64_t window) { return window % 5 != 0 && window < 98; });
  EXPECT_EQ(data.left_out_windows(), 22);
  ASSERT_EQ(data.training_windows(), 75);
  ASSERT_EQ(data.validation_windows(), 3);
  std::vector<std::int32_t> learnt;
  for (std::int32_t window = 0; window < 98; ++window) {
    if (window % 5 != 0) learnt.push_back(window);
  }
  std::vector<std::int32_t> validation(3), targets(3);
  data.read_validation(0, validation, targets);
  EXPECT_EQ(validation, (std::vector<std::int32_t>{94, 96, 97}));
  learnt.resize(75);
  for (const std::int64_t epoch : {0, 1}) EXPECT_EQ(windows_read(data, epoch * 75, 75), learnt);
}

TEST(WindowedText, WindowsThatAllHaveTargetsKeepTheirOrder) {
  NumberedWindows all(100, [](std::int64_t) { return true; });
  NumberedWindows some(100, [](std::int64_t window) { return window != 7; });
  EXPECT_EQ(all.left_out_windows(), 0);
  EXPECT_EQ(some.left_out_windows(), 1);
  some.take_all_windows();
  EXPECT_EQ(some.left_out_windows(), 0);
  for (std::int64_t position = 0; position < 200; ++position) {
    EXPECT_EQ(windows_read(all, position, 1), windows_read(some, position, 1));
    EXPECT_EQ(windows_read(all, position, 1).front(), all.training_window(position));
  }
}

TEST(WindowedText, FewerThanTwoWindowsToLearnAreRefused) {
  const auto learning = [](std::int64_t windows) {
    return [windows](std::int64_t window) { return window < windows; };
  };
  EXPECT_THROW(NumberedWindows(10, learning(0)), BadRequest);
  EXPECT_THROW(NumberedWindows(10, learning(1)), BadRequest);
  NumberedWindows two(10, learning(2));
  EXPECT_EQ(two.training_windows(), 1);
  EXPECT_EQ(two.validation_windows(), 1);
}

TEST(ByteText, HashIsThatOfTheFile) {
  const ScratchFolder folder;
  const std::string text = counting_text(200001);
  EXPECT_EQ(ByteText(write(folder, text), 100, 1).hash(), planner::sha256_hex(text));
}

TEST(ByteText, RefusesWhatItCannotRead) {
  const ScratchFolder folder;
  EXPECT_THROW(ByteText(folder.path() / "absent", 10, 1), BadRequest);
  EXPECT_THROW(ByteText(folder.path(), 10, 1), BadRequest);
  EXPECT_THROW(ByteText(write(folder, counting_text(20)), 10, 1), BadRequest);
  EXPECT_NO_THROW(ByteText(write(folder, counting_text(21)), 10, 1));
}

TEST(UnigramEntropy, OfEquallyFrequentBytesIsTheLogOfTheirNumber) {
  const ScratchFolder folder;
  EXPECT_NEAR(unigram_entropy(write(folder, "abcdabcd")), std::log(4.0), 1e-12);
  EXPECT_EQ(unigram_entropy(write(folder, "aaaa")), 0.0);
}

}  // namespace
}  // namespace sluice::engine::test

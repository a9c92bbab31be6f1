#include "engine/run_folders/event_file.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>

#include "engine/training/trainer.hpp"
#include "tests/engine/scratch_folder.hpp"

namespace sluice::engine::test {
namespace {

std::string bytes_of_only_file(const std::filesystem::path& folder) {
  const std::filesystem::directory_iterator first(folder);
  std::ifstream in(first->path(), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Data of the TFRecord at `at`, which is advanced behind it; its checksums are verified.
std::string next_record(const std::string& file, std::size_t& at) {
  const auto number = [&file](std::size_t from, int bytes) {
    std::uint64_t value = 0;
    for (int i = bytes; i-- > 0;)
      value = value << 8 | static_cast<unsigned char>(file.at(from + i));
    return value;
  };
  const auto masked = [](std::string_view bytes) {
    return (crc32c(bytes) >> 15 | crc32c(bytes) << 17) + 0xa282ead8U;
  };
  const std::uint64_t length = number(at, 8);
  EXPECT_EQ(number(at + 8, 4), masked(std::string_view(file).substr(at, 8)));
  std::string data = file.substr(at + 12, length);
  EXPECT_EQ(number(at + 12 + length, 4), masked(data));
  at += 16 + length;
  return data;
}

TEST(Crc32c, HasTheVectorsOfItsStandard) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
  EXPECT_EQ(crc32c(""), 0U);
}

TEST(EventFile, HoldsRecordsOfEvents) {
  const ScratchFolder folder;
  EventFile events(EventFile::fresh_path(folder.path() / "tensorboard"), 5);
  const std::array<Scalar, 2> scalars = {Scalar{"a", 0.5},
                                         Scalar{"b", std::numeric_limits<double>::quiet_NaN()}};
  events.append(300, scalars);
  const std::string file = bytes_of_only_file(folder.path() / "tensorboard");
  std::size_t at = 0;
  // Field 1, wall time, takes nine bytes; then file_version = 3, session_log = 7, summary = 5.
  EXPECT_EQ(next_record(file, at).substr(9), std::string("\x1a\x0d") + "brain.Event:2");
  EXPECT_EQ(next_record(file, at).substr(9), std::string("\x10\x05\x3a\x02\x08\x01"));
  // step = 300 as a varint; one value, "a" as fp32: what is not finite is left out.
  EXPECT_EQ(next_record(file, at).substr(9), std::string("\x10\xac\x02\x2a\x0a\x0a\x08\x0a\x01") +
                                                 "a" + std::string("\x15\x00\x00\x00\x3f", 5));
  EXPECT_EQ(at, file.size());
}

TEST(TrainingStops, AreTheMultiplesOfBothAndTheEnd) {
  const TrainingStops stops = {.steps = 20, .evaluate_every = 6, .save_every = 4};
  std::vector<std::int64_t> found;
  for (std::int64_t step = 0; step < stops.steps; found.push_back(step)) step = stops.next(step);
  EXPECT_EQ(found, (std::vector<std::int64_t>{4, 6, 8, 12, 16, 18, 20}));
  EXPECT_TRUE(stops.evaluates_at(12) && stops.saves_at(12));
  EXPECT_TRUE(stops.saves_at(4) && !stops.evaluates_at(4));
  EXPECT_TRUE(stops.evaluates_at(20));
  EXPECT_FALSE(stops.saves_at(20));  // The save at the end is not among these.
  const TrainingStops best = {
      .steps = 20, .evaluate_every = 0, .save_every = 4, .evaluate_saves = true};
  EXPECT_TRUE(best.evaluates_at(4));
  EXPECT_FALSE(best.evaluates_at(6));
}

}  // namespace
}  // namespace sluice::engine::test

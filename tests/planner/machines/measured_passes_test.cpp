// Measured passes in a profile: their file, their hash, and what is refused.
#include <gtest/gtest.h>

#include "planner/machines/profile_file.hpp"
#include "tests/planner/refusal.hpp"
#include "tests/planner/round_machine.hpp"

namespace sluice::planner {
namespace {

MachineProfile with_passes() {
  MachineProfile profile = test::round_profile(DeviceKind::cuda);
  profile.passes = {{.key = "norm/block|h64.i128.a4.2.16.v256|s32.b1.c32.bf16",
                     .time = Seconds(0.25),
                     .deviation = Seconds(0.0125),
                     .count = 7,
                     .note = "quick probe"},
                    {.key = "update/device/4096", .time = Seconds(1e-5)}};
  return profile;
}

TEST(MeasuredPasses, AFileHoldsThemAll) {
  const MachineProfile profile = with_passes();
  const MachineProfile read = profile_from_json(to_json_text(profile), "profile");
  EXPECT_EQ(read.passes, profile.passes);
  EXPECT_EQ(profile_hash(read), profile_hash(profile));
}

TEST(MeasuredPasses, EachNumberIsInTheHash) {
  const MachineProfile profile = with_passes();
  const std::string hash = profile_hash(profile);
  MachineProfile other = profile;
  other.passes[0].key += "x";
  EXPECT_NE(profile_hash(other), hash);
  other = profile;
  other.passes[0].time *= 2;
  EXPECT_NE(profile_hash(other), hash);
  other = profile;
  other.passes[0].deviation *= 2;
  EXPECT_NE(profile_hash(other), hash);
  other = profile;
  other.passes[0].count += 1;
  EXPECT_NE(profile_hash(other), hash);
}

TEST(MeasuredPasses, AProfileWithoutThemIsAsItWas) {
  const MachineProfile bare = test::round_profile(DeviceKind::cuda);
  MachineProfile emptied = with_passes();
  emptied.passes.clear();
  EXPECT_EQ(profile_hash(emptied), profile_hash(bare));
  EXPECT_EQ(to_json_text(bare).find("passes"), std::string::npos);
}

TEST(MeasuredPasses, WhatNoProbeWritesIsRefusedByName) {
  const auto changed = [](const std::string& from, const std::string& to) {
    std::string text = to_json_text(with_passes());
    const auto at = text.find(from);
    EXPECT_NE(at, text.npos);
    return text.replace(at, from.size(), to);
  };
  const auto read = [](const std::string& text) { (void)profile_from_json(text, "p.json"); };
  EXPECT_EQ(refusal([&] { read(changed("\"seconds\": 0.25", "\"seconds\": 0.0")); }),
            "p.json: passes[0]: seconds: must be more than 0");
  EXPECT_EQ(refusal([&] { read(changed("\"count\": 7", "\"count\": 0")); }),
            "p.json: passes[0]: count: must be at least 1");
  EXPECT_EQ(
      refusal([&] {
        read(changed("update/device/4096", "norm/block|h64.i128.a4.2.16.v256|s32.b1.c32.bf16"));
      }),
      "p.json: passes[1]: key: is given twice");
}

}  // namespace
}  // namespace sluice::planner

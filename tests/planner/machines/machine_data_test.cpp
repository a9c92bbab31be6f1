// Tests of profiles, calibration, the store and the catalogue of machines.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>

#include "planner/catalogue/catalogue.hpp"
#include "planner/catalogue/store.hpp"
#include "planner/files/whole_file.hpp"
#include "planner/machines/host_bandwidth.hpp"
#include "planner/machines/profile_file.hpp"
#include "tests/planner/refusal.hpp"

namespace sluice::planner {
namespace {

/// A folder of its own for each test.
class DatasetFolder : public testing::Test {
 protected:
  DatasetFolder() {
    path_ = std::filesystem::path(testing::TempDir()) /
            ("sluice_" + std::to_string(getpid()) + "_" +
             testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(path_);
  }
  ~DatasetFolder() override { std::filesystem::remove_all(path_); }
  std::filesystem::path path_;
};
using Calibrations = DatasetFolder;
using Stores = DatasetFolder;

TEST(Profile, EveryCatalogueMachineReadsBackWhatItWrites) {
  EXPECT_GE(catalogue_machines().size(), 10u);
  for (const CatalogueMachine& entry : catalogue_machines()) {
    const MachineProfile machine = find_machine(entry.name);
    EXPECT_EQ(machine.name, entry.name);
    const std::string text = to_json_text(machine);
    EXPECT_EQ(to_json_text(profile_from_json(text, "p.json")), text);
    for (const FactField& field : fact_fields()) {
      EXPECT_FALSE(field.of(machine).note.empty()) << entry.name << " " << field.name;
    }
    EXPECT_GT(machine.h2d.value, BytesPerSecond(1e9));
    EXPECT_FALSE(machine.gemm.empty());
    EXPECT_FALSE(machine.update.empty());
  }
}

TEST(Profile, HashChangesWithEveryNumber) {
  const MachineProfile machine = find_machine("h200");
  const std::string hash = profile_hash(machine);
  for (const FactField& field : fact_fields()) {
    MachineProfile other = machine;
    Fact changed = field.of(other);
    changed.value += 1;
    field.set(other, changed);
    EXPECT_NE(profile_hash(other), hash) << field.name;
  }
  MachineProfile priced = machine;
  priced.price_usd = 1;
  EXPECT_EQ(profile_hash(priced), hash) << "a price is no property of the machine";
}

TEST(Profile, SetsFactsByQuantityOrFactor) {
  MachineProfile machine = find_machine("h200");
  set_fact(machine, "h2d", "12 GB/s");
  EXPECT_EQ(machine.h2d.value, BytesPerSecond(12e9));
  EXPECT_EQ(machine.h2d.source, Source::estimated);
  const BytesPerSecond before = machine.dram.value;
  set_fact(machine, "dram", "0.5x");
  EXPECT_EQ(machine.dram.value, before / 2);
  EXPECT_REFUSED(set_fact(machine, "h2d", "12"), "machine.h2d: \"12\" has no unit");
  EXPECT_REFUSED(set_fact(machine, "h2d", "-1x"), "positive factor");
  EXPECT_REFUSED(set_fact(machine, "pcie", "1x"), "unknown number of a machine");
  EXPECT_REFUSED(set_fact(machine, "pcie", "1x"), "(sluice machines show NAME lists them)");
  EXPECT_REFUSED(set_fact(machine, "cores", "-2"), "must not be negative");
  EXPECT_REFUSED(set_fact(machine, "h2d", "0 GB/s"), "machine.h2d: \"0 GB/s\" must be more than 0");
  EXPECT_REFUSED(set_fact(machine, "cores", "1e30"), "machine.cores: \"1e30\" is too large");
  EXPECT_REFUSED(set_fact(machine, "hbm", "1e300x"), "machine.hbm: \"1e300x\" is too large");
}

TEST(Profile, ABandwidthThatIsStatedIsThatOfATriad) {
  MachineProfile machine = find_machine("h100-sxm");
  const BytesPerSecond before = host_bandwidth(machine), link = machine.dram.value;
  EXPECT_NEAR(before.count(), 150e9, 0.04 * 150e9);  // On all cores updates nearly fill the memory.
  const double one = machine.update.at(1).value, most = machine.update.rbegin()->second.value;
  set_fact(machine, "dram", "75 GB/s");
  EXPECT_NEAR(host_bandwidth(machine).count(), 75e9, 0.04 * 75e9);
  EXPECT_NEAR(machine.dram.value.count(), 75e9 * (link / before), 1e6);
  EXPECT_NEAR(machine.update.rbegin()->second.value, most * 75e9 / before.count(), 0.04 * most);
  EXPECT_GT(machine.update.at(1).value, 0.98 * one);  // One thread waits for its core.
  EXPECT_NE(machine.dram.note.find("75 GB/s"), std::string::npos);
  MachineProfile same = find_machine("h100-sxm");
  set_host_bandwidth(same, before, "the same");
  EXPECT_DOUBLE_EQ(same.dram.value / link, 1);
  EXPECT_DOUBLE_EQ(same.update.at(4).value, find_machine("h100-sxm").update.at(4).value);
}

TEST(Profile, RefusesNamingTheField) {
  const std::string text = to_json_text(here_estimate());
  const auto changed = [&text](const std::string& from, const std::string& to) {
    std::string other = text;
    return profile_from_json(other.replace(other.find(from), from.size(), to), "p.json");
  };
  MachineProfile without = here_estimate();
  without.d2h.value = BytesPerSecond(0);
  EXPECT_REFUSED(profile_from_json(to_json_text(without), "p.json"),
                 "d2h_bytes_per_s: must be stated, and more than 0");
  EXPECT_REFUSED(changed("\"h2d_bytes_per_s\"", "\"h2d_byte_per_s\""),
                 "did you mean \"h2d_bytes_per_s\"");
  EXPECT_REFUSED(changed("\"source\": \"estimated\"", "\"source\": \"guessed\""), "source");
  EXPECT_REFUSED(changed("\"device\": \"host\"", "\"device\": \"tpu\""), "device");
  MachineProfile slowed = here_estimate();
  slowed.interference = {{LaneKind::compute, LaneKind::disk_read, slowed.cores}};
  std::string other = to_json_text(slowed);
  EXPECT_EQ(profile_from_json(other, "p.json").interference.at(0).from, LaneKind::disk_read);
  other.replace(other.find("disk-read"), 9, "tape-read");
  EXPECT_REFUSED(profile_from_json(other, "p.json"),
                 "\"tape-read\" is no lane: one of compute, h2d");
}

TEST(Here, IsLabelledAsAnEstimate) {
  const MachineProfile here = here_estimate();
  EXPECT_EQ(here.device, DeviceKind::host);
  EXPECT_GE(here.cores.value, 1);
  EXPECT_GT(here.host.value, 1e8);
  for (const FactField& field : fact_fields()) {
    EXPECT_EQ(field.of(here).source, Source::estimated) << field.name;
    EXPECT_FALSE(field.of(here).note.empty()) << field.name;
  }
}

TEST(Catalogue, RefusesUnknownNamesWithTheNearestOrTheFix) {
  EXPECT_REFUSED(find_model("qwen25-7b"), "did you mean \"qwen2.5-7b\"");
  EXPECT_REFUSED(find_model("nobody/no-model"), "hf download nobody/no-model config.json");
  EXPECT_REFUSED(find_model("missing/config.json"), "there is no file missing/config.json");
  EXPECT_REFUSED(find_machine("h2000"), "did you mean \"h200\"");
  EXPECT_REFUSED(find_machine("./missing.json"), "there is no file ./missing.json");
}

CalibrationSample sample(const std::string& key, double value, double deviation,
                         std::int64_t count) {
  return {"p1", CostKey{key}, value, deviation, count, "autotune", "2026-01-01T00:00:00Z"};
}

// {1, 3} and {5, 5, 5}: mean 19/5, variance (1 + 9 + 75)/5 - (19/5)^2 = 17 - 14.44 = 2.56.
TEST(Calibration, MergesAsIfAllHadBeenMeasuredTogether) {
  const CalibrationSample merged = merge(sample("k", 2, 1, 2), sample("k", 5, 0, 3));
  EXPECT_NEAR(merged.value, 3.8, 1e-12);
  EXPECT_NEAR(merged.deviation, 1.6, 1e-12);
  EXPECT_EQ(merged.count, 5);
}

TEST(Calibration, WhatWasLearntAgainIsOfBothAndWhatWasNotStays) {
  const auto calibration = [](const std::vector<CalibrationSample>& samples) {
    Calibration all;
    for (const CalibrationSample& each : samples) all[each.key] = each;
    return all;
  };
  const Calibration known = calibration({sample("a", 2, 1, 2), sample("b", 7, 0, 4)});
  const Calibration both = merged(
      known, calibration({sample("a", 5, 0, 3), sample("b", 7, 0, 4), sample("c", 1, 0, 1)}));
  ASSERT_EQ(both.size(), 3u);
  EXPECT_EQ(both.at(CostKey{"a"}), merge(sample("a", 2, 1, 2), sample("a", 5, 0, 3)));
  EXPECT_EQ(both.at(CostKey{"b"}), sample("b", 7, 0, 4)) << "counted once";
  EXPECT_EQ(both.at(CostKey{"c"}), sample("c", 1, 0, 1));
  const Calibration rounded = merged(known, calibration({sample("b", 7 * (1 + 1e-14), 0, 4)}));
  EXPECT_EQ(rounded.at(CostKey{"b"}).count, 4) << "rescaling there and back is no measurement";
}

TEST_F(Calibrations, LoadWhatWasAppendedForOneProfile) {
  const auto file = path_ / "c.jsonl";
  EXPECT_TRUE(load_calibration(file, "p1").empty());
  CalibrationSample other = sample("a", 9, 0, 1);
  other.profile_hash = "p2";
  append_calibration(file, std::vector{sample("a", 1, 0, 1), sample("b", 2, 0, 1), other});
  append_calibration(file, std::vector{sample("a", 3, 0, 1)});
  const Calibration loaded = load_calibration(file, "p1");
  ASSERT_EQ(loaded.size(), 2u);
  EXPECT_DOUBLE_EQ(loaded.at(CostKey{"a"}).value, 2);
  reset_calibration(file, "p1");
  EXPECT_TRUE(load_calibration(file, "p1").empty());
  EXPECT_EQ(load_calibration(file, "p2").size(), 1u);
}

TEST_F(Calibrations, SayByWhatClockATaskWasTimed) {
  const auto file = path_ / "c.jsonl";
  CalibrationSample by_cupti = sample("a", 1, 0, 1);
  by_cupti.timing = sim::SpanSource::cupti;
  CalibrationSample by_event = sample("b", 1, 0, 1);
  by_event.timing = sim::SpanSource::event;
  append_calibration(file, std::vector{by_cupti, by_event});
  // Lines from before the field was added.
  std::ofstream(file, std::ios::app)
      << R"({"schema": "sluice/calibration/1", "profile_hash": "p1", "cost_key": "c", "value": 1,)"
      << R"( "deviation": 0, "count": 1, "source": "autotune", "time": "2026-01-01T00:00:00Z"})"
      << "\n";
  const Calibration loaded = load_calibration(file, "p1");
  EXPECT_EQ(loaded.at(CostKey{"a"}).timing, sim::SpanSource::cupti);
  EXPECT_EQ(loaded.at(CostKey{"b"}).timing, sim::SpanSource::event);
  EXPECT_EQ(loaded.at(CostKey{"c"}).timing, sim::SpanSource::clock);
  std::ofstream(file, std::ios::app)
      << R"({"schema": "sluice/calibration/1", "profile_hash": "p1", "cost_key": "c", "value": 1,)"
      << R"( "deviation": 0, "count": 1, "source": "x", "timing": "simulated", "time": "t"})"
      << "\n";
  EXPECT_REFUSED(load_calibration(file, "p1"), "timing");
}

TEST_F(Calibrations, ALineCutShortIsIgnoredAndThenOverwritten) {
  const auto file = path_ / "c.jsonl";
  append_calibration(file, std::vector{sample("a", 1, 0, 1)});
  std::ofstream(file, std::ios::app) << "{\"schema\": \"slu";
  EXPECT_EQ(load_calibration(file, "p1").size(), 1u);
  append_calibration(file, std::vector{sample("b", 1, 0, 1)});
  EXPECT_EQ(load_calibration(file, "p1").size(), 2u);
  std::ofstream(file, std::ios::app) << "garbage\n";
  EXPECT_REFUSED(load_calibration(file, "p1"), "c.jsonl:3");
}

TEST(DiskFull, IsAnEnvironmentErrorThatNamesTheFile) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "/dev/full is absent";
  try {
    write_whole_file("/dev/full", "text");
    FAIL() << "was written";
  } catch (const EnvironmentError& error) {
    EXPECT_NE(std::string(error.what()).find("/dev/full: No space left"), std::string::npos)
        << error.what();
  }
}

TEST_F(Stores, KeepProfilesCalibrationAndPlans) {
  const Store store(path_);
  EXPECT_FALSE(store.newest_profile());
  MachineProfile older = here_estimate();
  MachineProfile newer = older;
  scale_by(newer.h2d, 2);
  const auto old_path = store.save(older);
  store.save(newer);
  std::filesystem::last_write_time(
      old_path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  EXPECT_EQ(profile_hash(store.newest_profile().value()), profile_hash(newer));
  EXPECT_FALSE(store.newest_profile(DeviceKind::cuda));
  EXPECT_FALSE(store.plan("job", "profile"));
  PlanFile file;
  file.job_hash = "job";
  file.profile_hash = "profile";
  file.plan.units.resize(3);
  store.save(file);
  EXPECT_EQ(store.plan("job", "profile"), file);
}

}  // namespace
}  // namespace sluice::planner

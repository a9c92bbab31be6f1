// Parts of the probe that need no GPU: loads of host memory, the disk, links, curves.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>

#include "engine/disk/block_queue.hpp"
#include "profiler/probe/curves.hpp"
#include "profiler/probe/disk_bench.hpp"
#include "profiler/probe/memory_bench.hpp"
#include "profiler/probe/pci_link.hpp"
#include "sim/error.hpp"
#include "tests/engine/scratch_folder.hpp"

namespace sluice::profiler {
namespace {

using planner::Fact;

Fact rate(double value) {
  return {
      .value = value, .deviation = 0, .count = 2, .source = planner::Source::measured, .note = {}};
}

TEST(AlignedMemory, BeginsAtAHugePageAndIsZero) {
  const AlignedMemory memory{Bytes(1000)};
  const auto bytes = memory.as<std::uint8_t>();
  ASSERT_EQ(bytes.size(), 1000u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes.data()) % (2u << 20u), 0u);
  for (const std::uint8_t byte : bytes) EXPECT_EQ(byte, 0);
}

TEST(DramBench, ReadsEveryWordOnAnyNumberOfThreads) {
  DramBench bench(Bytes(4 * 65536 * 3 + 8), 3);
  bench.read(1);
  const std::uint64_t once = bench.sum();
  bench.read(3);
  EXPECT_EQ(bench.sum(), 2 * once);
  EXPECT_NE(once, 0u);
}

TEST(DramBench, TheTriadWritesWhatItSays) {
  DramBench bench(Bytes(4 * 100), 2);
  bench.read(1);
  const std::uint64_t before = bench.sum();
  bench.triad(2);  // a = b + c / 2 = 0.625 a
  bench.read(1);
  EXPECT_NE(bench.sum() - before, before);
  EXPECT_EQ(bench.triad_bytes(), 1200);
}

TEST(UpdateBench, UpdatesOnFewerThreadsThanItHas) {
  UpdateBench bench(100'000, 2);
  bench.update(1);
  bench.update();
  EXPECT_EQ(bench.parameters(), 100'000);
}

/// A quick probe of a drive, over a file of 32 MiB unless it is told of another size.
DiskRates rates_of(const std::filesystem::path& folder, Seconds lasting = Seconds(0),
                   std::optional<Bytes> size = std::nullopt) {
  return measure_disk({.drive = {.folder = folder, .lasting = lasting, .size = size},
                       .file = 32_MiB,
                       .budget = Seconds(0.1)});
}

TEST(DiskBench, MeasuresEveryRateAndLeavesNoFile) {
  const engine::test::ScratchFolder folder;
  const DiskRates rates = rates_of(folder.path());
  EXPECT_GT(rates.read.value, BytesPerSecond(0));
  EXPECT_GT(rates.write.value, BytesPerSecond(0));
  EXPECT_EQ(rates.read.source, planner::Source::measured);
  EXPECT_EQ(rates.depth.has_value(), engine::has_io_uring());
  planner::MachineProfile profile;
  rates.enter(profile);
  EXPECT_EQ(profile.disk_read.value, rates.read.value);
  EXPECT_EQ(profile.disk_write.value, rates.write.value);
  EXPECT_EQ(profile.disk_both.value > BytesPerSecond(0), rates.shared_limit().has_value());
  EXPECT_EQ(profile.disk_depth.value > 0, rates.depth.has_value());
  EXPECT_NE(rates.text().find("GB/s"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(DiskBench, TakesAsLongAsItIsToldForBothAtOnce) {
  const engine::test::ScratchFolder folder;
  const DiskRates rates = rates_of(folder.path(), Seconds(1.2));
  ASSERT_TRUE(rates.lasted.has_value());
  EXPECT_NE(rates.lasted->find("GB/s together"), std::string::npos) << *rates.lasted;
  EXPECT_NE(rates.text().find(*rates.lasted), std::string::npos);
  EXPECT_GT(rates.read_beside.value, BytesPerSecond(0));
  EXPECT_GT(rates.write_beside.value, BytesPerSecond(0));
  EXPECT_GE(rates.read_beside.count, 3);  // Where a fall was seen, after it.
}

TEST(DiskBench, MeasuresOverAsMuchAsItIsTold) {
  const engine::test::ScratchFolder folder;
  const DiskRates rates = rates_of(folder.path(), Seconds(0), 192_MiB);
  EXPECT_EQ(rates.file, 192_MiB);
  EXPECT_NE(rates.text().find("in a file of 192 MiB"), std::string::npos) << rates.text();
  try {
    (void)rates_of(folder.path(), Seconds(0), Bytes(std::int64_t{1} << 60));
    FAIL();
  } catch (const EnvironmentError& error) {
    EXPECT_NE(std::string(error.what()).find("--disk-size"), std::string::npos) << error.what();
  }
}

TEST(DiskBench, SaysBeforeWhatTakesLong) {
  DiskBenchOptions options;
  EXPECT_EQ(options.long_work(), std::nullopt);
  options.drive.size = Bytes(std::int64_t{64} << 30);
  EXPECT_EQ(options.long_work(), "writing a file of 64.0 GiB");
  options.drive.lasting = Seconds(30);
  EXPECT_EQ(options.long_work(), "writing a file of 64.0 GiB, then reading and writing for 30 s");
}

TEST(DiskBench, NamesAFolderThatIsNotThere) {
  try {
    (void)rates_of("/nowhere/at/all");
    FAIL();
  } catch (const EnvironmentError& error) {
    EXPECT_NE(std::string(error.what()).find("/nowhere/at/all"), std::string::npos);
  }
}

/// A /sys folder of one GPU.
class FakeSystem {
 public:
  FakeSystem(const char* speed, const char* width, const char* node) {
    const auto device = folder_.path() / "sys/bus/pci/devices/0000:1a:00.0";
    std::filesystem::create_directories(device);
    write(device / "current_link_speed", speed);
    write(device / "current_link_width", width);
    write(device / "max_link_speed", "32.0 GT/s PCIe");
    write(device / "max_link_width", "16");
    write(device / "numa_node", node);
  }
  [[nodiscard]] std::optional<PciLink> link() const {
    return pci_link(SystemFiles(folder_.path()), "0000:1A:00.0");
  }

 private:
  static void write(const std::filesystem::path& path, const char* text) {
    std::ofstream(path) << text << '\n';
  }
  engine::test::ScratchFolder folder_;
};

TEST(PciLink, IsReadByTheNameThatCudaGives) {
  const auto link = FakeSystem("16.0 GT/s PCIe", "8", "1").link();
  ASSERT_TRUE(link);
  EXPECT_EQ(link->generation, 4);
  EXPECT_EQ(link->width, 8);
  EXPECT_EQ(link->best_generation, 5);
  EXPECT_EQ(link->best_width, 16);
  EXPECT_EQ(link->numa_node, 1);
}

TEST(PciLink, BelowItsBestIsAWarning) {
  EXPECT_EQ(examine_link(FakeSystem("32.0 GT/s PCIe", "16", "-1").link(), 1)[0].verdict,
            Verdict::ok);
  EXPECT_EQ(examine_link(FakeSystem("32.0 GT/s PCIe", "8", "-1").link(), 1)[0].verdict,
            Verdict::warn);
  EXPECT_EQ(examine_link(FakeSystem("8.0 GT/s PCIe", "16", "-1").link(), 1)[0].verdict,
            Verdict::warn);
  EXPECT_EQ(examine_link(std::nullopt, 1)[0].verdict, Verdict::warn);
}

TEST(PciLink, SeveralNodesAreAWarningThatNamesTheGpusOwn) {
  const Findings findings = examine_link(FakeSystem("32.0 GT/s PCIe", "16", "1").link(), 2);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_NE(findings[1].fix.value_or("").find("--membind=1"), std::string::npos);
  EXPECT_EQ(examine_link(FakeSystem("32.0 GT/s PCIe", "16", "-1").link(), 2).size(), 2u);
}

TEST(Curve, IsTheMedianWithinAQuarterDecadeAndAscends) {
  const auto curve = curve_of(
      {{1e12, rate(700)}, {1.1e9, rate(100)}, {0.9e9, rate(300)}, {1e9, rate(200)}, {0, rate(1)}},
      "test");
  ASSERT_EQ(curve.size(), 2u);
  EXPECT_EQ(curve[0].rate.value, FlopsPerSecond(200));
  EXPECT_EQ(curve[0].rate.count, 6);
  EXPECT_GT(curve[0].rate.deviation, FlopsPerSecond(50));  // shapes differ
  EXPECT_NEAR(curve[0].size.count(), 1e9, 0.02e9);
  EXPECT_EQ(curve[1].rate.value, FlopsPerSecond(700));
  EXPECT_TRUE(curve_of({}, "test").empty());
}

TEST(CopyLatency, IsWhatShortCopiesTakeBesidesTheirBytes) {
  // 3 us + bytes / 50 GB/s.
  const auto copy = [](double bytes) {
    return SizedRate{bytes, rate(bytes / (3e-6 + bytes / 50e9))};
  };
  const auto latency = copy_latency({copy(4096), copy(65536), copy(1 << 20), copy(1 << 30)}, 50e9);
  ASSERT_TRUE(latency);
  EXPECT_NEAR(latency->value.count(), 3e-6, 1e-12);
  EXPECT_EQ(latency->count, 3);
  EXPECT_FALSE(copy_latency({copy(1 << 30)}, 50e9));
}

TEST(MeanOfWays, SpreadsAsTheWaysDiffer) {
  const auto fact = [](double value, double deviation, std::int64_t count) {
    planner::Fact fact;
    fact.value = value, fact.deviation = deviation, fact.count = count;
    return fact;
  };
  const planner::Fact both = mean_of_directions(fact(14, 1, 2), fact(6, 3, 5));
  EXPECT_EQ(both.value, 10);
  EXPECT_EQ(both.deviation, 5);  // 3, and half of what lies between them.
  EXPECT_EQ(both.count, 7);
}

}  // namespace
}  // namespace sluice::profiler

// Tests of machines put together from parts: the catalogue's and the user's.
#include "planner/catalogue/composed_machine.hpp"

#include <gtest/gtest.h>

#include <set>

#include "planner/catalogue/catalogue.hpp"
#include "planner/machines/profile_file.hpp"
#include "planner/requests/run_arguments.hpp"
#include "tests/planner/refusal.hpp"

namespace sluice::planner {
namespace {

TEST(ComposedMachine, CatalogueSpansTheGenerations) {
  std::set<std::string> architectures, links;
  for (const Build& build : builds()) {
    architectures.insert(find_gpu(build.parts.gpu).architecture);
    const int slot = find_cpu(build.parts.cpu).pcie;
    links.insert(std::string(to_string(find_gpu(build.parts.gpu).link)) + "/" +
                 std::to_string(slot));
    EXPECT_NO_THROW(check_parts(build.parts)) << build.name;
    EXPECT_EQ(find_machine(build.name).name, build.name);
  }
  EXPECT_GE(builds().size(), 24u);
  EXPECT_EQ(architectures,
            (std::set<std::string>{"sm_70", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_103",
                                   "sm_120", "sm_121", "gfx942", "gfx950", "gfx1151", "apple"}));
  EXPECT_TRUE(links.contains("pcie4/3") && links.contains("c2c/5") && links.contains("pcie5/5"));
}

TEST(ComposedMachine, ModulesOfNodesNeedAServersBoard) {
  EXPECT_TRUE(goes_with(find_gpu("h200"), find_cpu("xeon-8570")));
  EXPECT_FALSE(goes_with(find_gpu("h200"), find_cpu("ryzen-9-9950x")));
  EXPECT_TRUE(goes_with(find_gpu("h100-pcie"), find_cpu("ryzen-9-9950x")));
  EXPECT_FALSE(goes_with(find_gpu("gh200"), find_cpu("epyc-9355")));
  EXPECT_THROW((void)find_composition("h200 + ryzen-9-9950x"), BadRequest);
}

TEST(ComposedMachine, TextReadsBack) {
  for (const Build& build : builds()) {
    EXPECT_EQ(find_composition(to_text(build.parts)), build.parts) << build.name;
  }
  Composition parts = find_build("rtx-4090")->parts;
  parts.ram = {.count = 4, .module_gib = 48, .kind = "DDR5", .speed = 5600};
  EXPECT_EQ(to_text(parts), "rtx-4090 + 4x48 GiB DDR5-5600");
  EXPECT_EQ(find_composition(to_text(parts)), parts);
  EXPECT_EQ(find_machine(to_text(parts)).name, to_text(parts));
  EXPECT_FALSE(find_composition("no-such-gpu").has_value());
}

// Two channels of 8 bytes at 5,600 MT/s are 89.6 GB/s; four modules run at 3,600, 57.6 GB/s.
TEST(ComposedMachine, FourModulesOnTwoChannelsRunSlower) {
  const CpuPart& cpu = find_cpu("ryzen-9-9950x");
  EXPECT_DOUBLE_EQ(memory_peak(cpu, parse_memory_kit("2x32 GiB DDR5-5600")).count(), 89.6e9);
  EXPECT_DOUBLE_EQ(memory_peak(cpu, parse_memory_kit("4x32 GiB DDR5-5600")).count(), 57.6e9);
  EXPECT_DOUBLE_EQ(memory_peak(cpu, parse_memory_kit("1x32 GiB DDR5-8000")).count(), 44.8e9);
  const MachineProfile two = find_machine("rtx-4090 + 2x48 GiB DDR5-5600");
  EXPECT_NEAR(two.dram.value.count(), 1.4 * 0.78 * 89.6e9, 1);  // Copies and updates together.
  EXPECT_NE(two.dram.note.find("2 channels at 5600 MT/s"), std::string::npos);
}

TEST(ComposedMachine, TheSlowerEndOfTheSlotDecides) {
  EXPECT_LT(find_machine("rtx-5090 + xeon-w-2295 + 4x32 GiB DDR4-2933 + 1x gen3").h2d.value.count(),
            13e9);
  EXPECT_GT(find_machine("rtx-5090").h2d.value.count(), 50e9);
  EXPECT_GT(find_machine("gh200").h2d.value.count(), 300e9);
}

// Eight lanes of PCIe 5 carry half of sixteen, and of PCIe 4 as much as sixteen of PCIe 3.
TEST(ComposedMachine, EightLanesCarryHalf) {
  const BytesPerSecond whole = find_machine("rtx-5070-ti").h2d.value;
  EXPECT_EQ(find_machine("rtx-5060-ti").h2d.value, whole / 2);
  EXPECT_EQ(find_machine("rtx-5060-ti + ryzen-9-5950x + 4x32 GiB DDR4-3200").h2d.value,
            BytesPerSecond(12.35e9));
}

// CPU and GPU of one chip share one memory: both pools are parts of it, and so are all rates.
TEST(ComposedMachine, OneMemoryIsOnePoolAndOneRate) {
  for (const char* name : {"dgx-spark", "gb10", "strix-halo", "m3-ultra", "m4-max"}) {
    const MachineProfile machine = find_machine(name);
    const Composition parts = find_composition(name).value();
    const double pool = static_cast<double>(parts.ram.total().count());
    EXPECT_LE(machine.hbm.value + machine.host.value, pool) << name;
    EXPECT_GE(machine.hbm.value + machine.host.value, 0.94 * pool) << name;
    const double rate = find_gpu(parts.gpu).bandwidth.count();
    EXPECT_LE(machine.hbm_bandwidth.value.count(), rate) << name;
    EXPECT_LE(machine.dram.value.count(), rate) << name;
    EXPECT_LE(machine.h2d.value.count(), rate / 2)
        << name;  // A copy reads and writes the same memory.
    EXPECT_NEAR(memory_peak(find_cpu(parts.cpu), parts.ram).count(), rate, 0.01 * rate) << name;
  }
  EXPECT_REFUSED(find_machine("strix-halo + ryzen-9-9950x"), "one chip");
  EXPECT_REFUSED(find_machine("rtx-4090 + gb10-cpu"), "one chip with gb10");
}

TEST(ComposedMachine, EveryNumberIsLabelledAndEstimatesAreWide) {
  for (const Build& build : builds()) {
    if (build.profile) continue;
    const MachineProfile machine = find_machine(build.name);
    for (const FactField& field : fact_fields()) {
      EXPECT_FALSE(field.of(machine).note.empty()) << build.name << " " << field.name;
    }
    EXPECT_GE(machine.dram.deviation, 0.1 * machine.dram.value) << build.name;
    EXPECT_LE(machine.gemm.back().rate.value, machine.peak_bf16.value) << build.name;
    EXPECT_GE(machine.gemm_ceiling.value, machine.gemm.back().rate.value) << build.name;
    // The saturated rate of a GPU that nobody measured has a larger deviation than that of one that
    // was.
    if (find_gpu(build.parts.gpu).saturated) {
      EXPECT_GE(machine.gemm.back().rate.deviation, 0.07 * machine.gemm.back().rate.value);
      EXPECT_EQ(machine.gemm.back().rate.source, Source::estimated);
    }
  }
}

TEST(ComposedMachine, RefusesWhatCannotBeBuiltWithWhatCan) {
  const std::string host = "rtx-4090 + ryzen-9-9950x + ";
  EXPECT_REFUSED(find_machine(host + "3x32 GiB DDR5-5600"),
                 "does not take 3 modules: one of 1, 2, 4");
  EXPECT_REFUSED(find_machine(host + "8x32 GiB DDR5-5600"), "one of 1, 2, 4");
  EXPECT_REFUSED(find_machine(host + "2x128 GiB DDR5-5600"), "one of 8, 16, 24, 32, 48, 64 GiB");
  EXPECT_REFUSED(find_machine(host + "2x32 GiB DDR5-5700"), "there is no DDR5-5700: one of 4000");
  EXPECT_REFUSED(find_machine(host + "2x32 GiB DDR4-3200"), "takes DDR5");
  EXPECT_REFUSED(find_machine(host + "2x32 GB DDR5"), "COUNTx KIND");
  EXPECT_REFUSED(find_machine(host + "3x gen4"), "at most 2 drives");
  EXPECT_REFUSED(find_machine("rtx-4090 + ryzen-9-9960x"), "did you mean \"ryzen-9-9950x\"");
  EXPECT_REFUSED(find_machine("gh200 + epyc-9354"), "joined to a grace CPU");
  EXPECT_REFUSED(find_machine("rtx-4090 + grace"), "no superchip");
  EXPECT_REFUSED(parse_ssd_set("1x gen9"), "ssd");
}

// More drives leave every number of a measured machine but its drives' as it is; more memory leaves
// its GPU and its link.
TEST(MeasuredMachine, KeepsWhatAReplacedPartDoesNotTouch) {
  const MachineProfile measured = find_machine("h100-sxm");
  const MachineProfile drives = find_machine("h100-sxm + 2x gen4-dc");
  EXPECT_EQ(drives.cores.value, measured.cores.value);
  EXPECT_EQ(drives.dram.value, measured.dram.value);
  EXPECT_EQ(drives.dram.deviation, measured.dram.deviation);
  EXPECT_EQ(drives.host.value, measured.host.value);
  EXPECT_EQ(drives.update.size(), measured.update.size());
  EXPECT_EQ(drives.passes.size(), measured.passes.size());
  EXPECT_NE(drives.disk.value, measured.disk.value);
  const MachineProfile memory = find_machine("h200 + 16x16 GiB DDR5-4800");
  const MachineProfile h200 = find_machine("h200");
  EXPECT_GT(memory.host.value, 1.9 * h200.host.value);
  EXPECT_EQ(memory.cores.value, h200.cores.value);
  EXPECT_EQ(memory.h2d.value, h200.h2d.value);
  EXPECT_EQ(memory.gemm.size(), h200.gemm.size());
  EXPECT_EQ(memory.name, "h200 + 16x16 GiB DDR5-4800");
}

std::string composed(std::vector<std::string> words) {
  words.insert(words.begin(), {"--model", "m"});
  return parse_run(words).config.machine;
}

TEST(PartFlags, ReplacePartsOfTheMachineOrOfTheUsualOne) {
  EXPECT_EQ(composed({"--gpu", "rtx-4090"}), "rtx-4090");
  EXPECT_EQ(composed({"--machine", "rtx-4090", "--ram", "4x32 GiB DDR5-5600"}),
            "rtx-4090 + 4x32 GiB DDR5-5600");
  EXPECT_EQ(composed({"--gpu", "rtx-5090", "--machine", "rtx-4090"}), "rtx-5090 + 1x gen4");
  // Another board brings as much memory of its own kind.
  EXPECT_EQ(composed({"--gpu", "rtx-4090", "--cpu", "threadripper-9970x"}),
            "rtx-4090 + threadripper-9970x + 4x32 GiB DDR5-6400");
  EXPECT_EQ(composed({"--gpu", "rtx-4090", "--cpu", "epyc-7543", "--ram", "8x32 GiB DDR4-3200",
                      "--ssd", "2x gen4"}),
            "rtx-4090 + epyc-7543 + 8x32 GiB DDR4-3200 + 2x gen4");
  EXPECT_REFUSED(composed({"--ram", "4x32 GiB DDR5-5600"}), "gpu is missing");
  EXPECT_REFUSED(composed({"--gpu", "rtx-4091"}), "--gpu: \"rtx-4091\" is unknown; did you mean");
  EXPECT_REFUSED(composed({"--machine", "mine.json", "--ram", "4x32 GiB DDR5-5600"}), "--set");
}

}  // namespace
}  // namespace sluice::planner

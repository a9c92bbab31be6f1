// Measurements of several GPUs together as facts of a profile.
#include "profiler/probe/several_gpus_rates.hpp"

#include <gtest/gtest.h>

#include "sim/error.hpp"

namespace sluice::profiler {
namespace {

using planner::Collective;

TEST(SeveralGpusRates, ALatencyAndRatesBeyondItReturnTheTimesThatWereMeasured) {
  // 10 us, then 100 GB/s and 50 GB/s.
  const auto samples = [](Collective operation, double bytes, double rate) {
    return CollectiveSamples{operation, Bytes(static_cast<std::int64_t>(bytes)),
                             Samples(5, 10e-6 + bytes / rate)};
  };
  const planner::Fabric fabric = measured_fabric({samples(Collective::gather, 1e9, 100e9),
                                                  samples(Collective::gather, 1e3, 100e9),
                                                  samples(Collective::exchange, 1e8, 50e9)});
  EXPECT_NEAR(fabric.latency.value.count(), 0.9 * 10e-6, 1e-8);
  ASSERT_EQ(fabric.gather.size(), 2);
  EXPECT_EQ(fabric.gather.back().size, 1e9);
  for (const auto& [curve, rate] :
       {std::pair(&fabric.gather, 100e9), std::pair(&fabric.exchange, 50e9)}) {
    const planner::CurvePoint& largest = curve->back();
    EXPECT_NEAR(fabric.latency.value.count() + largest.size / largest.rate.value.count(),
                10e-6 + largest.size / rate, 1e-9);
    EXPECT_EQ(largest.rate.count, 5);
    EXPECT_EQ(largest.rate.source, planner::Source::measured);
  }
}

TEST(SeveralGpusRates, AnOperationThatWasNotMeasuredIsRefused) {
  EXPECT_THROW((void)measured_fabric({}), EnvironmentError);
  EXPECT_THROW((void)measured_fabric({{Collective::gather, Bytes(1000), Samples(5, 1e-3)}}),
               EnvironmentError);
}

TEST(SeveralGpusRates, SharedMemoryIsWhatAllLinksAndUpdatesTakeTogether) {
  planner::MachineProfile profile;
  profile.dram.value = BytesPerSecond(100e9);
  profile.dram.deviation = BytesPerSecond(5e9);
  profile.h2d_dram.value = 1.5;
  profile.d2h_dram.value = 2;
  profile.update_dram.value = 28;
  const HostLoad load{.gpus = 4, .threads = 48, .h2d = 40e9, .d2h = 50e9, .updates = 5e9};
  set_shared_memory(profile, load);
  EXPECT_DOUBLE_EQ(profile.dram.value.count(), 60e9 + 100e9 + 140e9);
  EXPECT_DOUBLE_EQ(profile.dram.deviation.count(), 15e9);
  EXPECT_EQ(to_text(load),
            "4 GPUs: 40.0 GB/s to devices, 50.0 GB/s from them, AdamW on 48 threads 5.00 G "
            "parameters/s");
}

TEST(SeveralGpusRates, AFabricsPathFollowsFromPeersAndItsRate) {
  const BytesPerSecond link(50e9);
  const auto completed = [&](double gathers, bool peers) {
    planner::Fabric fabric;
    planner::Bandwidth rate = planner::not_fitted<BytesPerSecond>();
    rate.value = BytesPerSecond(gathers);
    fabric.gather = fabric.exchange = {{1e9, rate}};
    complete(fabric, link, peers);
    return fabric;
  };
  EXPECT_EQ(completed(400e9, true).path, planner::FabricPath::nvlink);
  EXPECT_EQ(completed(25e9, true).path, planner::FabricPath::pcie);
  EXPECT_EQ(completed(25e9, false).path, planner::FabricPath::host);
  const planner::Fabric fabric = completed(400e9, true);
  ASSERT_FALSE(fabric.interference.empty());
  EXPECT_EQ(fabric.interference.front().factor.source, planner::Source::estimated);
}

}  // namespace
}  // namespace sluice::profiler

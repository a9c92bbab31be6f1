#include "profiler/probe/several_gpus_rates.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "planner/catalogue/fabrics.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"

namespace sluice::profiler {
namespace {

/// Share of a small collective's time that counts as latency: the rest moves its bytes.
constexpr double kLatencyShare = 0.9;

void add_point(std::vector<planner::CurvePoint>& curve, const CollectiveSamples& samples,
               double latency) {
  Samples beyond;
  for (const double seconds : samples.seconds) {
    if (seconds > latency) beyond.push_back(seconds - latency);
  }
  if (2 * beyond.size() <= samples.seconds.size()) return;
  const auto bytes = static_cast<double>(samples.received.count());
  curve.push_back(
      {bytes, measured_rate(samples.received, beyond, "bytes received beyond the latency")});
}

}  // namespace

planner::Fabric measured_fabric(const std::vector<CollectiveSamples>& samples) {
  planner::Fabric fabric;
  const auto quickest = std::ranges::min_element(
      samples, {}, [](const CollectiveSamples& each) { return median(each.seconds); });
  if (quickest == samples.end()) throw EnvironmentError("no collective was measured");
  fabric.latency = measured_time(quickest->seconds, "0.9 of the quickest collective");
  fabric.latency.value *= kLatencyShare;
  std::vector<CollectiveSamples> ascending = samples;
  std::ranges::stable_sort(ascending, {}, &CollectiveSamples::received);
  for (const CollectiveSamples& each : ascending) {
    add_point(each.operation == planner::Collective::gather ? fabric.gather : fabric.exchange, each,
              fabric.latency.value.count());
  }
  if (fabric.gather.empty() || fabric.exchange.empty()) {
    throw EnvironmentError("collectives take the same time at every size: probe again");
  }
  return fabric;
}

void complete(planner::Fabric& fabric, BytesPerSecond link, bool peers) {
  // GPUs that reach each other over PCIe gather no faster than one link copies.
  constexpr double kBeyondLink = 1.5;
  const bool beyond = fabric.gather.back().rate.value > kBeyondLink * link;
  fabric.path = !peers   ? planner::FabricPath::host
                : beyond ? planner::FabricPath::nvlink
                         : planner::FabricPath::pcie;
  fabric.interference = planner::usual_interference(fabric.path);
}

std::string to_text(const HostLoad& load) {
  std::string text = std::to_string(load.gpus) + (load.gpus == 1 ? " GPU: " : " GPUs: ");
  const auto rate = [](double bytes) { return planner::format_rate(BytesPerSecond(bytes)); };
  if (load.h2d > 0) text += rate(load.h2d) + " to devices";
  if (load.d2h > 0) text += (load.h2d > 0 ? ", " : "") + rate(load.d2h) + " from them";
  if (load.threads > 0) {
    text += fmt::format(", AdamW on {} threads {:.2f} G parameters/s", load.threads,
                        load.updates / 1e9);
  }
  return text;
}

void set_shared_memory(planner::MachineProfile& profile, const HostLoad& load) {
  check(load.h2d > 0 && load.d2h > 0 && load.updates > 0, "all that uses host memory runs");
  const double taken = load.h2d * profile.h2d_dram.value + load.d2h * profile.d2h_dram.value +
                       load.updates * profile.update_dram.value;
  profile.dram.deviation = profile.dram.deviation * (taken / profile.dram.value.count());
  profile.dram.value = BytesPerSecond(taken);
  profile.dram.source = planner::Source::measured;
  profile.dram.note = "what all links and the optimizer take together, " + to_text(load);
}

}  // namespace sluice::profiler

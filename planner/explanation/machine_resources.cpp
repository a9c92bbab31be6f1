#include "planner/explanation/machine_resources.hpp"

#include <algorithm>
#include <string_view>

#include "planner/costs/fabric_rates.hpp"
#include "planner/costs/rescaled_passes.hpp"
#include "planner/machines/profile_file.hpp"
#include "planner/plans/disk_state.hpp"
#include "planner/requests/request.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

Bytes times(Bytes bytes, double factor) {
  return Bytes(static_cast<std::int64_t>(static_cast<double>(bytes.count()) * factor));
}

/// Gives collectives `factor` times their rates; a profile without a fabric of its own gets the one
/// that is derived from its copies.
void speed_up_fabric(MachineProfile& profile, double factor) {
  profile.fabric = fabric_of(profile);
  if (!profile.fabric) return;
  for (auto* curve : {&profile.fabric->gather, &profile.fabric->exchange}) {
    for (CurvePoint& point : *curve) point.rate.value = point.rate.value * factor;
  }
}

}  // namespace

std::span<const MachineResource> machine_resources() {
  static const std::vector<MachineResource> all{
      {"compute",
       "compute",
       ResourceKind::rate,
       {"gemm", "gemm_ceiling", "peak_bf16", "attention_forward", "attention_backward",
        "attention_forward_ceiling", "attention_backward_ceiling"}},
      {"hbm_bandwidth",
       "device memory bandwidth",
       ResourceKind::rate,
       {"hbm_bandwidth", "device_update"}},
      {"link",
       "link rate, both ways",
       ResourceKind::rate,
       {"h2d", "d2h", "h2d_duplex", "d2h_duplex"}},
      {"dram", "host memory bandwidth", ResourceKind::rate, {"dram"}},
      {kFabricResource, "rate between the GPUs", ResourceKind::rate, {}},
      {"cpu", "CPU optimizer speed", ResourceKind::rate, {"update", "cores"}},
      {kDiskResource, "disk rate", ResourceKind::rate, {"disk_read", "disk_write", "disk_both"}},
      {"hbm", "device memory", ResourceKind::hbm},
      {"host", "host memory", ResourceKind::host},
  };
  return all;
}

std::vector<MachineResource> resources_of(const Plan& plan) {
  const auto all = machine_resources();
  std::vector<MachineResource> some(all.begin(), all.end());
  if (!uses_disk(plan)) {
    std::erase_if(some, [](const MachineResource& one) {
      return one.name == std::string_view(kDiskResource);
    });
  }
  if (plan.ranks == 1) {
    std::erase_if(some, [](const MachineResource& one) {
      return one.name == std::string_view(kFabricResource);
    });
  }
  return some;
}

const MachineResource& machine_resource(const std::string& name) {
  const auto all = machine_resources();
  const auto found =
      std::ranges::find_if(all, [&name](const MachineResource& one) { return name == one.name; });
  if (found == all.end()) throw BadRequest("resource: \"" + name + "\" is not known");
  return *found;
}

ResolvedMachine with_more(const ResolvedMachine& machine, const MachineResource& resource,
                          double factor) {
  ResolvedMachine more = machine;
  for (const char* fact : resource.facts) {
    set_fact(more.profile, fact, std::to_string(factor) + "x");
  }
  if (resource.name == std::string_view(kFabricResource)) speed_up_fabric(more.profile, factor);
  more.profile.passes = rescaled_passes(machine.profile, more.profile);
  if (resource.kind == ResourceKind::hbm) more.hbm = times(machine.hbm, factor);
  if (resource.kind == ResourceKind::host) more.host = times(machine.host, factor);
  return more;
}

Predictor predictor_with_more(const Predictor& predictor, const Calibration& calibration,
                              const MachineResource& resource, double factor) {
  ResolvedMachine more = with_more(predictor.machine(), resource, factor);
  Calibration there = rescaled(calibration, predictor.machine().profile, more.profile);
  return {predictor.job(),
          std::move(more),
          std::move(there),
          predictor.residency(),
          predictor.costs().switches(),
          predictor.ranks()};
}

}  // namespace sluice::planner

// What of a machine a step can be short of, and the machine with more of it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "planner/costs/calibration.hpp"
#include "planner/predictions/predict.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::planner {

/// Rates keep their plan's memory; capacities change which plans fit.
enum class ResourceKind { rate, hbm, host };

struct MachineResource {
  const char* name;     ///< As JSON names it: "link".
  const char* meaning;  ///< For people: "link rate, both ways".
  ResourceKind kind = ResourceKind::rate;
  std::vector<const char*> facts = {};  ///< Of the profile that scale together (set_fact).
};

/// The rates of the disk, which steps of plans that keep nothing there do not depend on.
inline constexpr const char* kDiskResource = "disk";

/// compute, hbm_bandwidth, link, dram, cpu, disk, hbm, host.
[[nodiscard]] std::span<const MachineResource> machine_resources();
/// Those that a step under the plan can depend on: without the disk where the plan has nothing
/// there.
[[nodiscard]] std::vector<MachineResource> resources_of(const Plan& plan);
/// Throws BadRequest for an unknown name.
[[nodiscard]] const MachineResource& machine_resource(const std::string& name);

/// The machine with `factor` times that much of it.
[[nodiscard]] ResolvedMachine with_more(const ResolvedMachine& machine,
                                        const MachineResource& resource, double factor);

/// The same job there: `calibration` is the predictor's, rescaled for the machine's changed facts.
[[nodiscard]] Predictor predictor_with_more(const Predictor& predictor,
                                            const Calibration& calibration,
                                            const MachineResource& resource, double factor);

}  // namespace sluice::planner

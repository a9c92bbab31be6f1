// The resources of a machine that a step can be short of, and the machine with more of one.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "planner/costs/calibration.hpp"
#include "planner/predictions/predict.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::planner {

/// How a resource acts: more of a rate leaves the plan's memory as it is; more of a capacity
/// changes which plans fit.
enum class ResourceKind { rate, hbm, host };

struct MachineResource {
  const char* name;     ///< Name in JSON, such as "link".
  const char* meaning;  ///< Name as people read it, such as "link rate, both ways".
  ResourceKind kind = ResourceKind::rate;
  /// Names of the profile's facts that scale together (set_fact).
  std::vector<const char*> facts = {};
};

/// Name of the resource for the disk's rates, which matter only to plans that use the disk.
inline constexpr const char* kDiskResource = "disk";

/// All resources: compute, hbm_bandwidth, link, dram, cpu, disk, hbm, host.
[[nodiscard]] std::span<const MachineResource> machine_resources();
/// Resources that a step under the plan can depend on: all, without the disk where the plan has
/// nothing there.
[[nodiscard]] std::vector<MachineResource> resources_of(const Plan& plan);
/// The resource called `name`. Throws BadRequest for an unknown name.
[[nodiscard]] const MachineResource& machine_resource(const std::string& name);

/// The machine with `factor` times as much of the resource.
[[nodiscard]] ResolvedMachine with_more(const ResolvedMachine& machine,
                                        const MachineResource& resource, double factor);

/// A predictor of the same job on the machine with `factor` times as much of the resource.
/// `calibration`, which is the predictor's, is rescaled for the changed facts.
[[nodiscard]] Predictor predictor_with_more(const Predictor& predictor,
                                            const Calibration& calibration,
                                            const MachineResource& resource, double factor);

}  // namespace sluice::planner

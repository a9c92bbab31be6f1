// Resources of a machine that a step can be short of, and the machine with more of one.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "planner/costs/calibration.hpp"
#include "planner/predictions/predict.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::planner {

/// How a resource acts: more of a rate leaves the plan's memory as it is; more of a capacity (hbm,
/// host) changes which plans fit.
enum class ResourceKind { rate, hbm, host };

struct MachineResource {
  const char* name;     ///< Name of the resource in JSON, such as "link".
  const char* meaning;  ///< Name of the resource as people read it, such as "link rate, both ways".
  ResourceKind kind = ResourceKind::rate;
  /// Names of the profile's facts that scale together when there is more of the resource
  /// (set_fact).
  std::vector<const char*> facts = {};
};

/// Name of the resource that is the disk's rates; only plans that use the disk depend on it.
inline constexpr const char* kDiskResource = "disk";

/// Name of the resource that is the rate of collectives; only plans of several ranks depend on it.
inline constexpr const char* kFabricResource = "fabric";

/// All resources, in this order: compute, hbm_bandwidth, link, dram, fabric, cpu, disk, hbm, host.
[[nodiscard]] std::span<const MachineResource> machine_resources();
/// Resources that a step under `plan` can depend on: all, but for the disk where the plan has
/// nothing there, and the fabric where it has one rank.
[[nodiscard]] std::vector<MachineResource> resources_of(const Plan& plan);
/// The resource whose JSON name is `name`. Throws BadRequest for an unknown name.
[[nodiscard]] const MachineResource& machine_resource(const std::string& name);

/// `machine` with `factor` times as much of `resource`.
[[nodiscard]] ResolvedMachine with_more(const ResolvedMachine& machine,
                                        const MachineResource& resource, double factor);

/// A predictor of the same job on the same machine with `factor` times as much of `resource`.
/// `calibration`, which must be the predictor's, is rescaled for the changed facts.
[[nodiscard]] Predictor predictor_with_more(const Predictor& predictor,
                                            const Calibration& calibration,
                                            const MachineResource& resource, double factor);

}  // namespace sluice::planner

// What several devices ask of a run: that they can share its steps, and of whom they are known.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "planner/machines/resolved_machine.hpp"
#include "planner/models/job.hpp"
#include "planner/plans/plan.hpp"
#include "planner/policies/policy.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::planner {

/// Why `devices` devices cannot share the steps of the run on any machine, as a message that names
/// the field and the fix; none where they can.
[[nodiscard]] std::optional<std::string> why_not_shared(RunConfig config, std::int64_t devices);

/// Throws BadRequest, naming the field and the fix, where the run's devices cannot share the steps
/// of `job` on `machine`: where their number does not fit the job's groups and micro-batches, where
/// nothing is known of collectives between them, and where the run states what several devices
/// cannot do in this version. Nothing is asked of one device.
void require_devices(const RunConfig& config, const Job& job, const ResolvedMachine& machine);

/// Throws BadRequest where the run has several devices and `what`, such as "sluice autotune", knows
/// one only.
void require_one_device(const RunConfig& config, const std::string& what);

/// Throws BadRequest where the number of the plan's ranks is not that of the run's devices, if the
/// run states it. `where` names the plan.
void require_ranks_of(const RunConfig& config, const Plan& plan, const std::string& where);

}  // namespace sluice::planner

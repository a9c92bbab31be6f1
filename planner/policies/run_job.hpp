// From a run's words and its policy to the job.
#pragma once

#include "planner/models/job.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::planner {

/// The job of a run: finds the model, applies the policy's job sizes, checks them. Throws
/// BadRequest naming the field.
[[nodiscard]] Job to_job(const RunConfig& config);

}  // namespace sluice::planner

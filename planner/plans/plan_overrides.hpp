// Plan fields that the user fixes (`--set plan.NAME=VALUE`).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "planner/models/job.hpp"
#include "planner/plans/plan.hpp"

namespace sluice::planner {

/// Throws BadRequest unless `name` is a plan field (listed at apply_plan_overrides) and `value` one
/// of that field's values. Whether the value suits a job is left to validate(plan, job).
void check_plan_override(const std::string& name, const std::string& value);

/// Writes the fields that the user fixed (`overrides`: values by field name; and `threads` where
/// given) into `plan`, and adapts what depends on them and is not fixed itself: the other of rounds
/// and micro_batches_per_round, and prefetch_depth when weight_buffers shrinks. Does not validate
/// the result. Names: weight_buffers, gradient_buffers, activation_buffers, state_buffers,
/// stream_buffers, disk_buffers, disk_buffer, prefetch_depth, checkpoint_interval, rounds,
/// micro_batches_per_round, copy_chunk ("4 MiB", "0" for whole tensors), threads, and weights,
/// gradients, state, keep, keep_tier, executor, when, staging for every layer, or layers[i].FIELD
/// for one (0 is embed).
void apply_plan_overrides(Plan& plan, const Job& job,
                          const std::map<std::string, std::string>& overrides,
                          std::optional<std::int64_t> threads);

}  // namespace sluice::planner

// The names of costs: what the step graph, the cost model and calibration call one and the same
// cost.
#pragma once

#include <cstdint>
#include <optional>

#include "planner/costs/cost.hpp"
#include "planner/models/job.hpp"

namespace sluice::planner {

/// Units of one kind (embed, block, head) have one cost: `unit` only says which kind.
/// `position`: which chunk of a split sequence.
[[nodiscard]] CostKey compute_key(const Job& job, Pass pass, std::size_t unit,
                                  std::int64_t position = 0);
[[nodiscard]] CostKey copy_key(CopyDirection direction, Bytes bytes);
[[nodiscard]] CostKey cpu_update_key(const Job& job, std::int64_t threads, std::int64_t parameters);
[[nodiscard]] CostKey device_update_key(const Job& job, std::int64_t parameters);

/// The job that a compute cost was measured in, as far as its key tells: `like` with the sizes that
/// the key names. None where it names none.
[[nodiscard]] std::optional<Job> job_named_by(const CostKey& cost, const Job& like);

/// Whether `pass` has a cost of its own for each kind of unit; `unit` is ignored where not.
[[nodiscard]] bool per_unit_kind(Pass pass);

}  // namespace sluice::planner

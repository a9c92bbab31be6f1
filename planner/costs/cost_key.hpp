// Cost keys: the names that step graph, cost model and calibration give one and the same cost.
#pragma once

#include <cstdint>
#include <optional>

#include "planner/costs/cost.hpp"
#include "planner/models/job.hpp"

namespace sluice::planner {

/// Key of a pass. Units of one kind (embed, block, head) share it: `unit` only says which kind.
/// `position` is the number of the chunk in its sequence, where sequences are split.
[[nodiscard]] CostKey compute_key(const Job& job, Pass pass, std::size_t unit,
                                  std::int64_t position = 0);
[[nodiscard]] CostKey copy_key(CopyDirection direction, Bytes bytes);
[[nodiscard]] CostKey cpu_update_key(const Job& job, std::int64_t threads, std::int64_t parameters);
[[nodiscard]] CostKey device_update_key(const Job& job, std::int64_t parameters);

/// The job in which a compute cost was measured, as far as its key tells: `like` with the sizes
/// that the key names. None where it names none.
[[nodiscard]] std::optional<Job> job_named_by(const CostKey& cost, const Job& like);

/// Whether `pass` has a separate cost for each kind of unit; otherwise `unit` is ignored.
[[nodiscard]] bool per_unit_kind(Pass pass);

}  // namespace sluice::planner

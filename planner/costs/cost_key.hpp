// Cost keys: the names that step graph, cost model and calibration give one and the same cost.
#pragma once

#include <cstdint>
#include <optional>

#include "planner/costs/cost.hpp"
#include "planner/models/job.hpp"

namespace sluice::planner {

/// Key of the cost of `pass`. Units of one kind (embed, block, head) share it: `unit` only says
/// which kind. `position` is the number of the micro-batch's chunk in its sequence, where sequences
/// are split.
[[nodiscard]] CostKey compute_key(const Job& job, Pass pass, std::size_t unit,
                                  std::int64_t position = 0);
[[nodiscard]] CostKey copy_key(CopyDirection direction, Bytes bytes);
[[nodiscard]] CostKey cpu_update_key(const Job& job, std::int64_t threads, std::int64_t parameters);
[[nodiscard]] CostKey device_update_key(const Job& job, std::int64_t parameters);

/// Key of a collective of `ranks` ranks that brings `bytes` bytes to each.
[[nodiscard]] CostKey collective_key(Collective operation, std::int64_t ranks, Bytes bytes);
/// Key of the cost of `pass`, which reads and writes gradients, on the slice of one of `ranks`
/// ranks: `parameters` parameters.
[[nodiscard]] CostKey slice_key(const Job& job, Pass pass, std::int64_t ranks,
                                std::int64_t parameters);

/// The job in which the compute cost `cost` was measured, as far as the key tells: `like` with the
/// sizes that the key names. None where it names none.
[[nodiscard]] std::optional<Job> job_named_by(const CostKey& cost, const Job& like);

/// Pass of one micro-batch over a whole unit, and the kind of that unit.
struct NamedPass {
  Pass pass;
  UnitKind unit;
};
/// The pass that the compute cost `cost` names. None for other costs, and for passes over a chunk
/// of a sequence that is not its first.
[[nodiscard]] std::optional<NamedPass> pass_named_by(const CostKey& cost);

/// Whether `pass` has a cost for each kind of unit (embed, block, head); for other passes the key
/// leaves the unit out.
[[nodiscard]] bool per_unit_kind(Pass pass);

}  // namespace sluice::planner

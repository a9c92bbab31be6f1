// Update of a block whose weight matrices Muon has, on the host.
#pragma once

#include "engine/optimizer/adamw.hpp"
#include "engine/optimizer/muon.hpp"
#include "engine/optimizer/thread_pool.hpp"
#include "planner/models/job.hpp"
#include "planner/models/muon.hpp"

namespace sluice::engine {

/// Updates a whole unit: its matrices by the operations listed in engine/optimizer/muon.hpp, its
/// other tensors by AdamW on `pool`. `operands.v` has second moments of the latter alone. `scratch`
/// is laid out as planner::muon_workspace(job, planner::kHostMuonElement) says. A step that changes
/// nothing touches no element.
void muon_update(const planner::Job& job, const AdamWOperands& operands, const MuonUnit& unit,
                 const AdamWStep& step, std::byte* scratch, ThreadPool& pool);

}  // namespace sluice::engine

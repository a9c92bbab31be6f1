// Jobs and plans of several ranks, for tests of what must not depend on the number of ranks.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "planner/models/slices.hpp"
#include "planner/plans/plan_ranks.hpp"
#include "planner/plans/random_plan.hpp"
#include "tests/engine/run_plan.hpp"

namespace sluice::engine::test {

/// The small jobs with as many micro-batches as `groups` and its ranks divide, and units of several
/// norm blocks, so that slices end inside tensors.
inline std::vector<NamedJob> ranked_jobs(std::int64_t groups) {
  std::vector<NamedJob> jobs = small_jobs();
  for (NamedJob& each : jobs) {
    each.job.model.vocab = 300;
    if (!each.job.model.experts) each.job.model.intermediate = 136;
    each.job.batch_size = (groups == 8 ? 8 : 12) * each.job.micro_batch;
    each.job.groups = groups;
    each.name += ", groups " + std::to_string(groups);
  }
  return jobs;
}

/// The plan that streams everything, for `ranks` ranks.
inline planner::Plan plain_rank_plan(const planner::Job& job, std::int64_t ranks) {
  planner::Plan plan =
      planner::uniform_plan(planner::part_of_rank(job, ranks), planner::UnitPlan{}, 1);
  plan.ranks = ranks;
  return plan;
}

}  // namespace sluice::engine::test

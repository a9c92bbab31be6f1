// The hosts of a launched run, as its machine.
#pragma once

#include "engine/launch/gathering.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::cli {

/// Throws BadRequest where the run states another number of hosts than its ranks are on. Every rank
/// finds that by itself.
void require_stated_hosts(const planner::RunConfig& config, const engine::Gathering& ranks);

/// Lets the run's machine be that of as many hosts as the ranks are on, if each has as many ranks,
/// joined by the network that the run states (machine.nic) or the ranks find; what they find is the
/// same for all, and the first one says it. All ranks call it at once.
void join_hosts(planner::RunConfig& config, const engine::Gathering& ranks);

}  // namespace sluice::cli

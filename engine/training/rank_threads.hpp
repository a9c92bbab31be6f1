// The ranks of one process, each on a thread of its own.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "engine/ranks/rank_links.hpp"

namespace sluice::engine {

/// Calls `body` with the index of each of `ranks` at the same time, the first on the calling
/// thread, and returns when all have ended. What one throws ends the others (Control::fail), and is
/// rethrown: the exception of the rank that failed, not of those that ended because of it.
void run_on_ranks(const std::vector<RankLinks>& ranks,
                  const std::function<void(std::size_t)>& body);

}  // namespace sluice::engine

// Where a run stopped being numbers.
#pragma once

#include "engine/datasets/data.hpp"
#include "engine/training/session.hpp"

namespace sluice::engine {

/// `error` with the layer named: the first in forward whose output is not finite, found by running
/// the step's forward again, where the loss is not; else the first in backward whose gradient is
/// not, by the norms of all. `error` itself where the session's weights are not those of the step.
[[nodiscard]] Diverged located(const Diverged& error, Session& session, const planner::Job& job,
                               WindowedText& text);

}  // namespace sluice::engine

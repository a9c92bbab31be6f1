// Finds the layer in which a run diverged.
#pragma once

#include "engine/datasets/data.hpp"
#include "engine/training/session.hpp"

namespace sluice::engine {

/// Returns `error` with the unit that diverged added to its message. If the loss is not finite,
/// that is the first unit in forward order whose output is not finite, found by running the forward
/// pass again on the step's tokens, read from `text`; it is left out if the session's weights are
/// no longer those of the failed step. Otherwise it is the first in backward order whose gradient
/// is not finite, by the gradients' norms.
[[nodiscard]] Diverged located(const Diverged& error, Session& session, const planner::Job& job,
                               WindowedText& text);

}  // namespace sluice::engine

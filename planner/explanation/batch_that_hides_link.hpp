// Search for the batch size from which copies over the link hide under compute.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "planner/effort/deadline.hpp"
#include "planner/predictions/bound.hpp"
#include "planner/requests/request.hpp"

namespace sluice::planner {

/// One batch size (sequences a step), with the best plan found for it or, under a policy, the
/// policy's plan.
struct BatchPoint {
  std::int64_t batch_size = 0;
  /// Whether any plan fits at this batch size; if not, the members after this one are not set.
  bool fits = false;
  Duration step{0};
  double tokens_per_s = 0;
  BoundBy bound_by = BoundBy::compute;
  /// Share (0 to 1) of the step in which the compute lane waits for weights, gradients and
  /// activations that cross the link (StallTimes).
  double exposed = 0;
};

/// Largest BatchPoint::exposed at which the link counts as hidden.
inline constexpr double kHidden = 0.05;

struct HiddenLink {
  BatchPoint asked;  ///< The run's own batch size, with its plan.
  /// The smallest batch size at which the link is hidden; none where none was found.
  std::optional<BatchPoint> hidden = {};
  /// The batch size tried last below `hidden` (one micro-batch less unless `cut_short`), at which
  /// the link is not hidden or nothing fits.
  std::optional<BatchPoint> exposed = {};
  /// The largest batch size that was tried; none where `hidden` was found.
  std::optional<BatchPoint> largest = {};
  /// Smallest batch size at which compute, not a link or another lane, gives the largest bound
  /// (Predictor::bound); none up to the largest that is tried.
  std::optional<std::int64_t> compute_bound_from = {};
  /// Whether the deadline ended the search early, so that `exposed` may be more than one
  /// micro-batch below `hidden`.
  bool cut_short = false;
};

/// Default of the largest number of micro-batches a step that is tried.
inline constexpr std::int64_t kMostMicroBatches = 512;

struct HideLinkSettings {
  std::int64_t most_micro_batches = kMostMicroBatches;
  /// Function that is called with each batch size before a plan for it is searched.
  std::function<void(std::int64_t)> progress = {};
  Deadline deadline = {};  ///< Time after which no further batch size is planned.
};

/// Finds the smallest batch size at which the link is hidden: doubles the batch from one
/// micro-batch until it is, then bisects, so that the batch before `hidden` was itself planned and
/// found exposed. Sizes are multiples of micro_batch. Throws BadRequest as resolve() does.
[[nodiscard]] HiddenLink batch_that_hides_link(const Request& run,
                                               const HideLinkSettings& settings = {});

/// The smallest batch size of `run` at which compute, not a link or another lane, gives the largest
/// bound (Predictor::bound); none up to kMostMicroBatches micro-batches. Quick, because it computes
/// bounds alone.
[[nodiscard]] std::optional<std::int64_t> batch_bound_by_compute(const Request& run);

}  // namespace sluice::planner

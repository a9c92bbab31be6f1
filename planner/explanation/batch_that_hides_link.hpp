// The batch size from which copies over the link hide under compute.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "planner/effort/deadline.hpp"
#include "planner/predictions/bound.hpp"
#include "planner/requests/request.hpp"

namespace sluice::planner {

/// One batch size, with the best plan found for it or the policy's plan.
struct BatchPoint {
  std::int64_t batch_size = 0;
  bool fits = false;  ///< Whether any plan fits; if not, the fields below are not set.
  Duration step{0};
  double tokens_per_s = 0;
  BoundBy bound_by = BoundBy::compute;
  /// Share of the step in which the compute lane waits for weights, gradients and activations that
  /// cross the link (StallTimes).
  double exposed = 0;
};

/// Largest `exposed` at which the link counts as hidden.
inline constexpr double kHidden = 0.05;

struct HiddenLink {
  BatchPoint asked;  ///< The run's own batch size.
  /// The smallest batch size at which the link is hidden; none where none was found.
  std::optional<BatchPoint> hidden = {};
  std::optional<BatchPoint> exposed =
      {};  ///< One micro-batch less than `hidden`, at which the link is not hidden or nothing fits.
  /// The largest batch size that was tried, where none hides the link.
  std::optional<BatchPoint> largest = {};
  /// Batch size from which Predictor::bound is by compute; none up to the largest that is tried.
  std::optional<std::int64_t> compute_bound_from = {};
  /// The deadline ended the search early: `exposed` may be more than one micro-batch below
  /// `hidden`.
  bool cut_short = false;
};

/// Usual limit of micro-batches a step that are tried.
inline constexpr std::int64_t kMostMicroBatches = 512;

struct HideLinkSettings {
  std::int64_t most_micro_batches = kMostMicroBatches;
  /// Called with each batch size before it is planned.
  std::function<void(std::int64_t)> progress = {};
  Deadline deadline = {};  ///< After it no further size is planned.
};

/// Finds the batch that hides the link: doubles the batch from one micro-batch until the link is
/// hidden, then bisects, so that the batch before `hidden` was itself planned and found exposed.
/// Sizes are multiples of micro_batch. Throws BadRequest as resolve does.
[[nodiscard]] HiddenLink batch_that_hides_link(const Request& run,
                                               const HideLinkSettings& settings = {});

/// The smallest batch size whose bound is by compute; computed from bounds alone, hence quick.
[[nodiscard]] std::optional<std::int64_t> batch_bound_by_compute(const Request& run);

}  // namespace sluice::planner

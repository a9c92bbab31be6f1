// How many sequences a step it takes until copies over the link hide under compute.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "planner/effort/deadline.hpp"
#include "planner/predictions/bound.hpp"
#include "planner/requests/request.hpp"

namespace sluice::planner {

/// One batch size with the best plan found for it, or the policy's.
struct BatchPoint {
  std::int64_t batch_size = 0;
  bool fits = false;  ///< Nothing below is known where nothing fits.
  Duration step{0};
  double tokens_per_s = 0;
  BoundBy bound_by = BoundBy::compute;
  /// Share of the step in which the compute lane waits for weights, gradients and activations that
  /// cross the link (StallTimes).
  double exposed = 0;
};

/// Exposed at most so much, the link counts as hidden.
inline constexpr double kHidden = 0.05;

struct HiddenLink {
  BatchPoint asked;                       ///< The run's own batch size.
  std::optional<BatchPoint> hidden = {};  ///< The least batch size with the link hidden.
  std::optional<BatchPoint> exposed =
      {};  ///< One micro-batch less: not hidden, or it does not fit.
  /// Where none is: the largest that was tried.
  std::optional<BatchPoint> largest = {};
  /// From here on Predictor::bound is by compute; none up to the most that is tried.
  std::optional<std::int64_t> compute_bound_from = {};
  bool cut_short = false;  ///< By the deadline: `exposed` need not be one micro-batch less.
};

/// Usually more micro-batches than this are not tried.
inline constexpr std::int64_t kMostMicroBatches = 512;

struct HideLinkSettings {
  std::int64_t most_micro_batches = kMostMicroBatches;
  std::function<void(std::int64_t)> progress = {};  ///< Hears each batch size before it is planned.
  Deadline deadline = {};                           ///< After it no further size is planned.
};

/// Doubles the batch from one micro-batch until the link is hidden, then halves the distance: the
/// batch before `hidden` was itself planned and found exposed. Sizes are multiples of micro_batch.
/// Throws BadRequest as resolve does.
[[nodiscard]] HiddenLink batch_that_hides_link(const Request& run,
                                               const HideLinkSettings& settings = {});

/// The least batch size whose bound is by compute, by bounds alone: quick.
[[nodiscard]] std::optional<std::int64_t> batch_bound_by_compute(const Request& run);

}  // namespace sluice::planner

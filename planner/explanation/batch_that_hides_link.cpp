#include "planner/explanation/batch_that_hides_link.hpp"

#include <algorithm>
#include <utility>

#include "planner/requests/run_step.hpp"

namespace sluice::planner {
namespace {

class Batches {
 public:
  Batches(const Request& run, const HideLinkSettings& settings) : run_(run), settings_(settings) {}

  [[nodiscard]] BatchPoint at(std::int64_t batch_size) const {
    if (settings_.progress) settings_.progress(batch_size);
    RunConfig config = run_.config;
    config.batch_size = batch_size;
    config.groups = std::min(run_.job().groups, batch_size / run_.job().micro_batch);
    BatchPoint point{.batch_size = batch_size};
    const auto step = batch_size == run_.config.batch_size
                          ? step_of(run_, kCompareEffort, settings_.deadline)
                          : step_of_changed(run_, config, settings_.deadline);
    if (!step) return point;
    const Prediction& p = step->prediction;
    point.fits = true;
    point.step = p.step;
    point.tokens_per_s = p.tokens_per_s;
    point.bound_by = p.bound.by;
    const Duration waits =
        p.stalls.at(Stall::weights) + p.stalls.at(Stall::gradient) + p.stalls.at(Stall::activation);
    point.exposed = to_seconds(waits) / to_seconds(p.step);
    return point;
  }

 private:
  const Request& run_;
  const HideLinkSettings& settings_;
};

bool hidden(const BatchPoint& point) { return point.fits && point.exposed <= kHidden; }

/// The smallest number from 1 to `most` for which `holds` is true, as far as the deadline lets one
/// find it; none where there is none. `holds` must be monotone.
template <class Holds>
std::optional<std::int64_t> least(std::int64_t most, const Holds& holds,
                                  const Deadline& deadline = {}) {
  std::int64_t high = 1;
  while (!holds(high)) {
    if (high >= most || deadline.is_late()) return std::nullopt;
    high = std::min(most, 2 * high);
  }
  std::int64_t low = high / 2;  // Known not to hold, or 0.
  while (high - low > 1 && !deadline.is_late()) {
    const std::int64_t middle = low + (high - low) / 2;
    (holds(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace

HiddenLink batch_that_hides_link(const Request& run, const HideLinkSettings& settings) {
  const Batches batches(run, settings);
  const std::int64_t micro = run.job().micro_batch;
  HiddenLink found{.asked = batches.at(run.config.batch_size)};
  found.compute_bound_from = batch_bound_by_compute(run);
  std::optional<BatchPoint> most, without, with;
  const auto try_batch = [&](std::int64_t micro_batches) {
    BatchPoint point = micro_batches * micro == run.config.batch_size
                           ? found.asked
                           : batches.at(micro_batches * micro);
    most = point;
    (hidden(point) ? with : without) = point;
    return hidden(point);
  };
  if (least(settings.most_micro_batches, try_batch, settings.deadline)) {
    found.hidden = with;
    found.exposed = without;
  } else {
    found.largest = most;
  }
  const std::int64_t below = found.exposed ? found.exposed->batch_size : 0;
  found.cut_short =
      settings.deadline.is_late() &&
      (found.hidden ? found.hidden->batch_size - below > micro
                    : found.largest->batch_size < settings.most_micro_batches * micro);
  return found;
}

std::optional<std::int64_t> batch_bound_by_compute(const Request& run) {
  const std::int64_t micro = run.job().micro_batch;
  const auto by_compute = [&](std::int64_t micro_batches) {
    RunConfig other = run.config;
    other.batch_size = micro_batches * micro;
    return run.with(std::move(other)).predictor.bound().by == BoundBy::compute;
  };
  const auto found = least(kMostMicroBatches, by_compute);
  return found ? std::optional(*found * micro) : std::nullopt;
}

}  // namespace sluice::planner

#include "planner/requests/larger_micro_batch.hpp"

#include <cmath>
#include <vector>

namespace sluice::planner {

std::optional<LargerMicroBatch> larger_micro_batch(const Request& request) {
  constexpr double kNear = 1.02, kWorth = 1.05;
  constexpr std::int64_t kMost = 32;
  const Job& job = request.job();
  if (!job.model.experts || job.sequence_chunk) return std::nullopt;
  std::vector<std::pair<std::int64_t, Seconds>> bounds;
  Seconds least = request.predictor.bound().time;
  for (std::int64_t micro = 2 * job.micro_batch; micro <= kMost; micro *= 2) {
    if (job.batch_size % micro != 0) break;
    Job other = job;
    other.micro_batch = micro;
    other.groups = std::min(other.groups, other.micro_batches());
    const Seconds bound =
        Predictor(other, request.machine(), request.calibration, request.config.residency)
            .bound()
            .time;
    bounds.emplace_back(micro, bound);
    least = std::min(least, bound);
  }
  for (const auto& [micro, bound] : bounds) {
    if (bound > least * kNear) continue;
    const double faster = request.predictor.bound().time / bound;
    if (faster < kWorth) return std::nullopt;
    return LargerMicroBatch{.micro_batch = micro, .faster = faster};
  }
  return std::nullopt;
}

std::string to_text(const LargerMicroBatch& larger) {
  const auto percent = std::lround(100 * (1 - 1 / larger.faster));
  return "--micro-batch " + std::to_string(larger.micro_batch) + " takes " +
         std::to_string(percent) +
         " % off the bound of this mixture, if it fits (another job: sums in another order)";
}

}  // namespace sluice::planner

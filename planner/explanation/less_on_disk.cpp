#include "planner/explanation/less_on_disk.hpp"

#include "planner/effort/search_settings.hpp"
#include "planner/plans/disk_state.hpp"

namespace sluice::planner {
namespace {

constexpr int kBackTries = 3;

/// `plan` with at most `room` bytes of what is on the disk moved to host memory.
Plan brought_back(const Plan& plan, const Job& job, Bytes room, const SearchSettings& settings) {
  Plan made = plan;
  const auto bring = [&](Tier UnitPlan::*what, auto bytes_of) {
    for (std::size_t unit = 0; unit < made.units.size(); ++unit) {
      if (made.units[unit].*what != Tier::disk) continue;
      const Bytes bytes = bytes_of(unit_padded_size(job.model, unit));
      if (bytes > room) return;
      Plan next = made;
      next.units[unit].*what = Tier::host;
      if (settings.pins) settings.pins(next);
      if (!is_valid(next, job) || next.units[unit].*what != Tier::host) continue;
      made = std::move(next);
      room = room - bytes;
    }
  };
  bring(&UnitPlan::weights, [&](std::int64_t size) { return job.weight_element() * size; });
  bring(&UnitPlan::gradients,
        [&](std::int64_t size) { return waiting_element(job, plan.rounds) * size; });
  bring(&UnitPlan::state, [&](std::int64_t size) { return disk_state_bytes(job, size); });
  return made;
}

}  // namespace

std::optional<TimedPlan> less_on_disk(const Plan& plan, Duration step, const Predictor& predictor,
                                      const SearchSettings& settings) {
  const Job& job = predictor.job();
  const Bytes capacity = predictor.machine().host;
  // With a limit of 0, score() computes memory alone.
  const Bytes taken = predictor.score(plan, Duration(0)).host;
  if (taken >= capacity) return std::nullopt;
  Bytes room = capacity - taken;
  for (int tries = 0; tries < kBackTries && !settings.is_late(); ++tries) {
    const Plan less = brought_back(plan, job, room, settings);
    if (less == plan) return std::nullopt;
    const PlanScore score = predictor.score(less);
    if (score.step.count() > 0) {
      if (score.step >= step) return std::nullopt;
      return TimedPlan{.plan = less, .step = score.step};
    }
    if (score.host <= capacity) return std::nullopt;  // Another tier is short.
    const Bytes beyond = score.host - capacity;
    if (beyond >= room) return std::nullopt;
    room = room - beyond;
  }
  return std::nullopt;
}

}  // namespace sluice::planner

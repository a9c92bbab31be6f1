#include "planner/predictions/interval.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "planner/costs/profile_rates.hpp"

namespace sluice::planner {
namespace {

/// Evidence and deviation of a task's cost; the amount of a `data` task is left out.
TaskCost cost_of(const StepTask& task, const CostModel& costs) {
  switch (task.kind) {
    case TaskKind::data:
      return costs.data(task.cost, 0);
    case TaskKind::launch:
      return costs.launch(task.cost, task.work);
    case TaskKind::load_tokens:
    case TaskKind::load_weights:
    case TaskKind::load_experts:
    case TaskKind::load_gradient:
    case TaskKind::load_activation:
    case TaskKind::load_state:
      return costs.copy(task.cost, CopyDirection::h2d, task.bytes);
    case TaskKind::save_activation:
    case TaskKind::store_gradient:
    case TaskKind::store_state:
    case TaskKind::store_weights:
      return costs.copy(task.cost, CopyDirection::d2h, task.bytes);
    case TaskKind::read_state:
    case TaskKind::read_gradient:
    case TaskKind::read_weights:
      return costs.copy(task.cost, CopyDirection::disk_read, task.bytes);
    case TaskKind::write_state:
    case TaskKind::write_gradient:
    case TaskKind::write_weights:
      return costs.copy(task.cost, CopyDirection::disk_write, task.bytes);
    case TaskKind::update:
      return task.lane == LaneKind::cpu ? costs.cpu_update(task.cost, task.work)
                                        : costs.compute(task.cost, task.work);
    case TaskKind::host_pass:
      return costs.cpu_update(task.cost, task.work);
    case TaskKind::grads:
      return TaskCost{};
    case TaskKind::gather_weights:
    case TaskKind::gather_norms:
    case TaskKind::barrier:
      return costs.collective(task.cost, gather_among(task.among), task.bytes);
    case TaskKind::exchange_gradients:
      return costs.collective(task.cost, exchange_among(task.among), task.bytes);
    case TaskKind::forward:
    case TaskKind::route:
    case TaskKind::loss:
    case TaskKind::recompute:
    case TaskKind::backward:
    case TaskKind::combine:
    case TaskKind::sum_groups:
    case TaskKind::sum_ranks:
    case TaskKind::norm:
    case TaskKind::sum_norms:
      break;
  }
  return costs.compute(task.cost, task.work);
}

/// Time of a task that nothing slows; 0 where the cost leaves its amount out.
Seconds seconds_alone(const TaskCost& cost) {
  if (!(cost.amount.count() > 0) || !(cost.cap.count() > 0)) return Seconds(0);
  return cost.latency + Seconds(cost.amount.count() / cost.cap.count());
}

}  // namespace

std::vector<CriticalCost> critical_costs(const StepGraph& graph, const sim::Timeline& timeline,
                                         const CostModel& costs) {
  const sim::Period period = *graph.graph.period();
  const Instant begin = timeline.spans[sim::index(period.first)].end;
  std::map<std::string, CriticalCost> by_key;
  std::optional<sim::TaskId> at = period.last;
  while (at) {
    const std::size_t i = sim::index(*at);
    const auto& span = timeline.spans[i];
    if (span.end <= begin) break;
    const Seconds time = to_seconds(span.end - std::max(span.start, begin));
    if (time.count() > 0) {
      const StepTask& task = graph.tasks[i];
      auto found = by_key.find(task.cost.name());
      const double part = time / to_seconds(span.end - span.start);
      if (found == by_key.end()) {
        const TaskCost cost = cost_of(task, costs);
        const Seconds each = seconds_alone(cost);
        found = by_key
                    .emplace(task.cost.name(),
                             CriticalCost{.key = task.cost,
                                          .lane = task.lane,
                                          .evidence = cost.evidence,
                                          .relative_deviation = cost.relative_deviation,
                                          .errs_alone = cost.errs_alone,
                                          .each = each.count() > 0 ? each : time / part,
                                          .task = i})
                    .first;
      }
      found->second.time += time;
      found->second.alone += found->second.each * part;
    }
    at = timeline.enabled_by[i];
  }
  std::vector<CriticalCost> all;
  all.reserve(by_key.size());
  for (auto& [name, cost] : by_key) {
    cost.time /= static_cast<double>(period.steps);
    cost.alone /= static_cast<double>(period.steps);
    all.push_back(std::move(cost));
  }
  return all;
}

double run_deviation(const MachineProfile& profile, LaneKind lane, bool learnt) {
  constexpr double kUpdates = 0.035, kUpdatesUntaught = 0.07, kOfRounds = 0.7;
  constexpr double kCopies = 0.015, kCopiesUntaught = 0.03;
  switch (lane) {
    case LaneKind::cpu:
      return std::max(learnt ? kUpdates : kUpdatesUntaught,
                      kOfRounds * update_rate_deviation(profile));
    case LaneKind::h2d:
    case LaneKind::d2h:
      return learnt ? kCopies : kCopiesUntaught;
    case LaneKind::disk_read:
    case LaneKind::disk_write:
    case LaneKind::fabric:
      return kCopies;
    case LaneKind::compute:
    case LaneKind::launch:
      break;
  }
  return 0.01;
}

double model_deviation(const CriticalCost& cost) {
  constexpr double kOfRuns = 0.0075, kOfOthers = 0.04;
  return cost.errs_alone && cost.evidence == Evidence::measured ? kOfRuns : kOfOthers;
}

Seconds period_deviation(const std::vector<CriticalCost>& costs, Seconds period,
                         const MachineProfile& profile) {
  double variance = costs.empty() ? std::pow(model_deviation({}) * period.count(), 2) : 0;
  std::array<double, kLaneKinds> common{}, of_lane{}, of_run{};
  for (const CriticalCost& cost : costs) {
    const double relative = run_deviation(profile, cost.lane, cost.errs_alone);
    const double model = model_deviation(cost);
    variance += period.count() * cost.time.count() * model * model;
    of_lane[static_cast<std::size_t>(cost.lane)] += cost.time.count();
    of_run[static_cast<std::size_t>(cost.lane)] += cost.time.count() * relative * relative;
    const double deviation = cost.time.count() * cost.relative_deviation;
    if (cost.errs_alone) {
      variance += deviation * deviation;
    } else {
      common[static_cast<std::size_t>(cost.lane)] += deviation;
    }
  }
  for (const double deviation : common) variance += deviation * deviation;
  for (std::size_t lane = 0; lane < kLaneKinds; ++lane) variance += of_lane[lane] * of_run[lane];
  return Seconds(std::sqrt(variance));
}

}  // namespace sluice::planner

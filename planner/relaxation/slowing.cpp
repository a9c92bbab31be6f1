// The least that lanes lose to others that run beside them: lost(lane, other).
#include <algorithm>
#include <cstdint>
#include <vector>

#include "planner/relaxation/plan_relaxation.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

/// A lane that others slow works at the product of their factors while they run, so it loses at
/// least (1 - f1) of the time the first runs, f1 (1 - f2) of the second's and so on.
template <class Slowing>
std::vector<Slowing> lost_to_others(const std::vector<CostModel::LaneInterference>& all,
                                    LaneKind lane) {
  std::vector<Slowing> slowings;
  double left = 1;
  for (const auto& each : all) {
    if (each.on != lane || each.factor >= 1) continue;
    slowings.push_back({each.from, left * (1 - each.factor)});
    left *= each.factor;
  }
  return slowings;
}

}  // namespace

/// Losses of CPU updates with any number of threads to each other lane, as shares of the fastest
/// rate; `rates` are those of 1, 2, ... threads alone. More threads are faster and suffer more, so
/// the most that any number has left counts, whichever of the other lanes run.
std::vector<PlanRelaxation::Slowing> PlanRelaxation::slowed_updates(
    const ProfileCostModel& costs, const std::vector<double>& rates) {
  std::vector<std::vector<Slowing>> by_threads;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const auto threads = static_cast<std::int64_t>(i) + 1;
    by_threads.push_back(lost_to_others<Slowing>(costs.interference(threads), LaneKind::cpu));
  }
  std::vector<Slowing> least = lost_to_others<Slowing>(costs.interference(), LaneKind::cpu);
  const double fastest = *std::max_element(rates.begin(), rates.end());
  if (least.empty() || !(fastest > 0)) return {};
  const std::size_t others = least.size();
  for (const auto& each : by_threads) {
    if (each.size() != others) return least;  // Not all have a part in it: what no count is below.
  }
  // First the rate left beside the first lane, the first two and so on; then each loss is scaled
  // down until no set of lanes loses more than it does.
  const auto left_of = [&](const std::vector<Slowing>& each, std::size_t running) {
    double left = 1, factor = 1;
    for (std::size_t i = 0; i < others; ++i) {
      const double own = 1 - each[i].lost / left;
      left -= each[i].lost;
      if ((running >> i & 1) != 0) factor *= own;
    }
    return factor;
  };
  const auto fastest_left = [&](std::size_t running) {
    double most = 0;
    for (std::size_t i = 0; i < rates.size(); ++i) {
      most = std::max(most, rates[i] / fastest * left_of(by_threads[i], running));
    }
    return most;
  };
  double before = 1;
  for (std::size_t i = 0; i < others; ++i) {
    const double left = fastest_left((std::size_t{2} << i) - 1);
    least[i].lost = before - left;
    before = left;
  }
  double sound = 1;
  for (std::size_t running = 1; running < std::size_t{1} << others; ++running) {
    double claimed = 0;
    for (std::size_t i = 0; i < others; ++i) {
      if ((running >> i & 1) != 0) claimed += least[i].lost;
    }
    const double lost = 1 - fastest_left(running);
    if (claimed > lost) sound = std::min(sound, lost / claimed);
  }
  for (Slowing& each : least) each.lost *= sound;
  return least;
}

/// Raises what copies cost updates where sharing of links takes more than interference does: to
/// what each second of the fastest copies costs beside any mix of them.
void PlanRelaxation::add_contention(const std::vector<SharedRates>& rates,
                                    std::vector<Slowing>& losses) {
  const auto lost_to = [&losses](LaneKind lane) -> double& {
    const auto found = std::ranges::find(losses, lane, &Slowing::from);
    if (found != losses.end()) return found->lost;
    return losses.emplace_back(Slowing{lane, 0}).lost;
  };
  const double before_h2d = lost_to(LaneKind::h2d), before_d2h = lost_to(LaneKind::d2h);
  double others = 0, of_compute = 0;
  for (const Slowing& each : losses) {
    if (each.from == LaneKind::compute) of_compute = each.lost;
    if (each.from != LaneKind::h2d && each.from != LaneKind::d2h) others += each.lost;
  }
  double h2d = 1, d2h = 1;
  const auto left = [of_compute](const SharedRates& each) {
    return 1 - each.update - (each.computes ? of_compute : 0);
  };
  for (const SharedRates& each : rates) {
    if (each.h2d > 0 && each.d2h == 0) h2d = std::min(h2d, left(each) / each.h2d);
    if (each.d2h > 0 && each.h2d == 0) d2h = std::min(d2h, left(each) / each.d2h);
  }
  const double more_h2d = std::max(0.0, h2d - before_h2d);
  const double more_d2h = std::max(0.0, d2h - before_d2h);
  // Both copies together may cost less than their sum, and no lane loses more than all of its time.
  double sound = 1;
  const auto allow = [&](double more, double room) {
    if (more > 0) sound = std::min(sound, std::max(0.0, room) / more);
  };
  for (const SharedRates& each : rates) {
    allow(more_h2d * each.h2d + more_d2h * each.d2h,
          left(each) - before_h2d * each.h2d - before_d2h * each.d2h);
  }
  allow(more_h2d + more_d2h, 1 - others - before_h2d - before_d2h);
  lost_to(LaneKind::h2d) += sound * more_h2d;
  lost_to(LaneKind::d2h) += sound * more_d2h;
  std::erase_if(losses, [](const Slowing& each) { return each.lost <= 0; });
}

std::vector<PlanRelaxation::Slowing> PlanRelaxation::slowed(LaneKind lane) const {
  check(lane != LaneKind::cpu, "updates are slowed as updates_slowed() says");
  std::vector<CostModel::LaneInterference> all = predictor_->costs().interference();
  if (predictor_->ranks() > 1) {
    const auto more = predictor_->costs().fabric_interference();
    all.insert(all.end(), more.begin(), more.end());
  }
  return lost_to_others<Slowing>(all, lane);
}

}  // namespace sluice::planner

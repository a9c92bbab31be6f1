// The fastest of the plans known from other machines that fit on one.
#include <algorithm>
#include <limits>

#include "planner/buying/plan_finder.hpp"
#include "planner/costs/fabric_rates.hpp"
#include "planner/guided/usual_values.hpp"
#include "planner/plans/disk_state.hpp"
#include "planner/predictions/plan_estimate.hpp"
#include "planner/search/disk_search.hpp"
#include "planner/search/disk_shares.hpp"

namespace sluice::planner {
namespace {

/// Numbers of known plans that are simulated on a machine: without the disk, and with it, where
/// each takes several simulations.
constexpr std::size_t kTriedInMemory = 3, kTriedOnDisk = 3;

/// A known plan on a machine, to be simulated there.
struct Contender {
  Plan plan;
  Bytes host{0};  ///< Host memory that it takes, without the disk where it is to be moved there.
  bool moves = false;
  Seconds expected{0};
  /// Ratio of the host memory that the plan was found for to the machine's, or its inverse: at
  /// least 1; none for plans found without the disk.
  std::optional<double> unlike = {};
};

Plan adapted(Plan plan, bool all_cores, const Predictor& predictor) {
  plan.hosts = hosts_of_plans(predictor.costs().profile(), plan.ranks, plan.gather);
  if (plan.threads > 1) plan.threads = all_cores ? cores_of(predictor) : usual_threads(predictor);
  return plan;
}

}  // namespace

std::optional<TimedPlan> PlanFinder::Knowledge::best_for(const Request& request) const {
  const Predictor& predictor = request.predictor;
  const ResolvedMachine& machine = predictor.machine();
  const PlanEstimator estimator(predictor);
  const DiskShares shares(predictor.job(), request.search.pins, predictor.ranks());
  std::vector<Contender> in_memory, moved;
  const auto add = [&](std::vector<Contender>& to, Contender one, const Plan& estimated) {
    if (!is_valid(estimated, predictor.job())) return;
    one.expected = estimator.estimate(estimated).expected;
    to.push_back(std::move(one));
  };
  for (const Known& known : plans_) {
    if (known.hbm > machine.hbm || known.plan.ranks != predictor.ranks()) continue;
    const Plan plan = adapted(known.plan, known.all_cores, predictor);
    const bool on_disk = uses_disk(plan);
    if (known.host <= machine.host && (!on_disk || machine.state_on_disk)) {
      add(in_memory, {.plan = plan, .host = known.host}, plan);
    }
    Bytes host = known.host;
    Plan back = plan;
    if (on_disk) {
      host += shares.frees_of(plan);
      DiskShares::bring_back(back);
    }
    if (!machine.state_on_disk || host <= machine.host) continue;
    const std::size_t count = shares.fewest(back, host - machine.host);
    std::optional<double> unlike;
    if (on_disk) {
      const double ratio =
          static_cast<double>(known.host.count()) / static_cast<double>(machine.host.count());
      unlike = std::max(ratio, 1 / ratio);
    }
    add(moved, {.plan = back, .host = host, .moves = true, .unlike = unlike},
        shares.moved(back, count, DiskShares::Placement::last, 2));
  }
  std::ranges::stable_sort(in_memory, {}, &Contender::expected);
  std::ranges::stable_sort(moved, {}, &Contender::expected);
  std::optional<TimedPlan> best;
  std::size_t tried = 0;
  for (const Contender& one : in_memory) {
    if (tried == kTriedInMemory) break;
    const PlanScore score = predictor.score(one.plan);
    if (score.step.count() == 0) continue;
    ++tried;
    if (best && score.step >= best->step) continue;
    best = TimedPlan{.plan = one.plan, .step = score.step, .hbm = score.hbm, .host = score.host};
  }
  // A plan without the disk that fits leaves nothing to be moved there.
  if (best && !uses_disk(best->plan)) return best;
  // Estimates know of no disk: the plan found with it for the most similar memory comes first.
  const auto likest = std::ranges::min_element(moved, {}, [](const Contender& one) {
    return one.unlike.value_or(std::numeric_limits<double>::infinity());
  });
  if (likest != moved.end()) std::rotate(moved.begin(), likest, likest + 1);
  if (moved.size() > kTriedOnDisk) moved.resize(kTriedOnDisk);
  for (const Contender& one : moved) {
    const auto found = moved_to_disk(predictor, request.search, one.plan, one.host);
    if (!found || (best && found->step >= best->step)) continue;
    best = found;
    best->hbm = at(found->memory, Tier::hbm).peak;
    best->host = at(found->memory, Tier::host).peak;
  }
  return best;
}

}  // namespace sluice::planner

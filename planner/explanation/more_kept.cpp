#include "planner/explanation/more_kept.hpp"

#include <algorithm>
#include <vector>

#include "planner/effort/parallel_for.hpp"
#include "planner/effort/search_settings.hpp"
#include "planner/predictions/plan_estimate.hpp"

namespace sluice::planner {
namespace {

/// Number of groups of equal blocks that are changed, the largest groups first.
constexpr std::size_t kGroups = 3;
/// Number of plans to simulate, each with one block fewer than the one before, where the estimate
/// allowed too many.
constexpr int kTries = 2;

struct Kept {
  Keep keep;
  Tier tier;
};
constexpr Kept kKeepingMore[] = {{Keep::all, Tier::hbm},
                                 {Keep::selective, Tier::hbm},
                                 {Keep::input, Tier::hbm},
                                 {Keep::all, Tier::host},
                                 {Keep::selective, Tier::host}};

int amount(Keep keep) { return keep == Keep::all ? 2 : keep == Keep::selective ? 1 : 0; }

/// Whether `kept` keeps more than `unit`, or as much in faster memory.
bool is_more(const UnitPlan& unit, const Kept& kept) {
  if (amount(kept.keep) != amount(unit.keep)) return amount(kept.keep) > amount(unit.keep);
  return unit.keep_tier == Tier::host && kept.tier == Tier::hbm;
}

/// Indices of units of one plan that make equal choices.
using Group = std::vector<std::size_t>;

std::vector<Group> groups_of(const Plan& plan) {
  std::vector<Group> groups;
  for (std::size_t unit = 1; unit + 1 < plan.units.size(); ++unit) {
    const auto same = std::ranges::find_if(
        groups, [&](const Group& group) { return plan.units[group.front()] == plan.units[unit]; });
    if (same == groups.end()) {
      groups.push_back({unit});
    } else {
      same->push_back(unit);
    }
  }
  std::ranges::stable_sort(groups, std::ranges::greater{}, &Group::size);
  if (groups.size() > kGroups) groups.resize(kGroups);
  return groups;
}

class Moves {
 public:
  Moves(const Plan& plan, const Predictor& predictor, const SearchSettings& settings)
      : plan_(plan), predictor_(predictor), settings_(settings), estimator_(predictor) {}

  /// The plan in which as many blocks of the group keep `kept` as fit, simulated; none where none
  /// fits.
  [[nodiscard]] std::optional<TimedPlan> most(const Group& group, const Kept& kept) const {
    std::size_t low = 0;
    std::size_t high = group.size();
    while (low < high) {
      const std::size_t middle = high - (high - low) / 2;
      if (may_fit(with(group, middle, kept))) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    for (int tries = 0; low > 0 && tries < kTries; ++tries, --low) {
      if (settings_.is_late()) break;
      Plan plan = with(group, low, kept);
      if (plan == plan_ || !is_valid(plan, predictor_.job())) return std::nullopt;
      const Duration step = predictor_.score(plan).step;
      if (step.count() > 0) return TimedPlan{.plan = std::move(plan), .step = step};
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] Plan with(const Group& group, std::size_t count, const Kept& kept) const {
    Plan plan = plan_;
    for (std::size_t i = 0; i < count; ++i) {
      plan.units[group[i]].keep = kept.keep;
      plan.units[group[i]].keep_tier = kept.tier;
    }
    if (settings_.pins) settings_.pins(plan);
    return plan;
  }

  [[nodiscard]] bool may_fit(const Plan& plan) const {
    if (!is_valid(plan, predictor_.job())) return false;
    const PlanEstimate estimate = estimator_.estimate(plan);
    return estimate.hbm_at_least <= predictor_.machine().hbm &&
           estimate.host_at_least <= predictor_.machine().host;
  }

  const Plan& plan_;
  const Predictor& predictor_;
  const SearchSettings& settings_;
  PlanEstimator estimator_;
};

}  // namespace

std::optional<TimedPlan> keep_more(const Plan& plan, Duration step, const Predictor& predictor,
                                   const SearchSettings& settings) {
  // Plans with records in numbered slots ignore what blocks keep.
  if (!plan.saved_records.empty()) return std::nullopt;
  const Moves moves(plan, predictor, settings);
  std::vector<std::pair<Group, Kept>> changes;
  for (const Group& group : groups_of(plan)) {
    for (const Kept& kept : kKeepingMore) {
      if (is_more(plan.units[group.front()], kept)) changes.emplace_back(group, kept);
    }
  }
  std::vector<std::optional<TimedPlan>> found(changes.size());
  parallel_for(changes.size(), settings.threads,
               [&](std::size_t i) { found[i] = moves.most(changes[i].first, changes[i].second); });
  std::optional<TimedPlan> best;
  for (std::optional<TimedPlan>& one : found) {
    if (!one || one->step >= (best ? best->step : step)) continue;
    best = std::move(one);
  }
  return best;
}

}  // namespace sluice::planner

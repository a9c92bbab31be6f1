#include "planner/buying/build_search.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include "planner/effort/parallel_for.hpp"

namespace sluice::planner {
namespace {

/// Number of builds planned at the same time; fixed, so that the result does not depend on threads.
constexpr std::size_t kBatch = 4;

class Search {
 public:
  Search(const std::vector<BuildGroup>& groups, const BuildTrials& trials, const BuildGoal& goal)
      : trials_(trials), goal_(goal), all_(groups, trials.bound, goal.threads) {
    for (const double budget : goal.budgets_usd) most_usd_ = std::max(most_usd_, budget);
    if (goal.budgets_usd.empty()) most_usd_ = std::numeric_limits<double>::infinity();
  }

  FoundBuilds run() {
    search();
    const double budget = most_usd_;
    const auto is_beyond = [&](const FoundBuild& one) { return one.offer.usd > budget; };
    if (std::ranges::all_of(found_.builds, is_beyond)) {  // What would do costs more.
      most_usd_ = std::numeric_limits<double>::infinity();
      stop_at_first_ = true;
      search();
    } else {
      std::erase_if(found_.builds, is_beyond);
    }
    for (const CandidateGroup& group : all_.groups()) {
      for (const BuildCandidate& one : group.candidates) {
        found_.ruled_out += one.state == BuildState::ruled_out ? 1 : 0;
        found_.open += is_open(one) ? 1 : 0;
      }
    }
    mark_front(found_.builds);
    return std::move(found_);
  }

 private:
  void search() {
    while (!goal_.until.is_late()) {
      const std::vector<BuildPlace> batch = next_batch();
      if (batch.empty()) return;
      std::vector<BuildTrial> tried(batch.size());
      parallel_for(batch.size(), goal_.threads,
                   [&](std::size_t i) { tried[i] = trials_.plan(*all_.at(batch[i]).offer); });
      if (trials_.settle) trials_.settle();
      for (std::size_t i = 0; i < batch.size(); ++i) learn(batch[i], tried[i]);
      rule_out();
      report();
      if (stop_at_first_ && !found_.builds.empty()) stop_beyond_the_cheapest();
    }
  }

  /// Beyond the budget only what is cheaper than the cheapest build found is of interest.
  void stop_beyond_the_cheapest() {
    for (const FoundBuild& one : found_.builds) most_usd_ = std::min(most_usd_, one.offer.usd);
  }

  [[nodiscard]] bool is_open(const BuildCandidate& one) const {
    return one.state == BuildState::open && one.offer->usd <= most_usd_;
  }

  [[nodiscard]] bool waits(const CandidateGroup& group, const BuildCandidate& one) const {
    if (!one.offer->lends_drives) return false;
    const auto lacking = all_.is_short(group.gpu, one.offer->memory);
    if (lacking) return !*lacking;
    return std::ranges::any_of(group.candidates, [&](const BuildCandidate& other) {
      return !other.offer->lends_drives && is_open(other) &&
             other.offer->memory <= one.offer->memory;
    });
  }

  /// The shortest step found for at most `usd`; none where nothing that fits costs so little.
  [[nodiscard]] std::optional<double> best_for(double usd) const {
    std::optional<double> best;
    for (const FoundBuild& one : found_.builds) {
      if (one.offer.usd > usd || (best && one.step.count() >= *best)) continue;
      best = one.step.count();
    }
    return best;
  }

  /// How much is hoped for from planning the candidate: for turns of a budget the inverse of the
  /// guess, else how much faster it may be than what costs no more.
  [[nodiscard]] double hope(const CandidateGroup& group, const BuildCandidate& one,
                            std::optional<double> budget) const {
    const double step = all_.guess(group, one);
    if (budget) return one.offer->usd <= *budget ? 1 / step : 0;
    constexpr double kMost = 10;
    const auto now = best_for(one.offer->usd);
    return now ? std::min(*now / step, kMost) : kMost / step;
  }

  /// Builds to plan next, each of another GPU, since what is found for one helps the others of its
  /// GPU: most for the budgets by turns, the last one for the front.
  std::vector<BuildPlace> next_batch() {
    std::vector<double> budgets = goal_.budgets_usd;
    if (budgets.empty() || stop_at_first_) budgets = {most_usd_};
    std::vector<BuildPlace> batch;
    std::set<std::string> used;
    while (batch.size() < kBatch) {
      const bool is_spent =
          goal_.most_planned > 0 && spent_ + counts_of(batch) >= goal_.most_planned;
      if (is_spent) break;
      std::optional<double> budget;
      if (batch.size() + 1 < kBatch) budget = budgets[turn_++ % budgets.size()];
      std::optional<BuildPlace> best = most_hoped(budget, used);
      if (!best && budget) best = most_hoped(std::nullopt, used);
      if (!best) break;
      best = all_.anchor_before(*best);
      used.insert(all_.groups()[best->first].gpu);
      batch.push_back(*best);
    }
    return batch;
  }

  [[nodiscard]] std::optional<BuildPlace> most_hoped(std::optional<double> budget,
                                                     const std::set<std::string>& used) const {
    std::optional<BuildPlace> best;
    std::tuple<double, std::int64_t, double, double> most{0, 0, 0, 0};
    for (std::size_t g = 0; g < all_.groups().size(); ++g) {
      const CandidateGroup& group = all_.groups()[g];
      if (used.contains(group.gpu)) continue;
      for (std::size_t i = 0; i < group.candidates.size(); ++i) {
        const BuildCandidate& one = group.candidates[i];
        if (!is_open(one) || waits(group, one)) continue;
        const BuildOffer& offer = *one.offer;
        const std::tuple value{hope(group, one, budget), offer.memory.count(),
                               offer.memory_rate.count(), -offer.usd};
        if (std::get<0>(value) <= 0 || (best && value <= most)) continue;
        best = {g, i};
        most = value;
      }
    }
    return best;
  }

  /// Number of builds that count against goal.most_planned where these are planned.
  [[nodiscard]] std::size_t counts_of(const std::vector<BuildPlace>& places) const {
    std::size_t sum = 0;
    for (const BuildPlace& each : places)
      sum += all_.at(each).offer->lends_drives ? kDiskCounts : 1;
    return sum;
  }

  void learn(const BuildPlace& place, const BuildTrial& trial) {
    all_.learn(place, trial);
    ++found_.planned;
    spent_ += counts_of({place});
    if (trial.step) {
      found_.builds.push_back({.offer = *all_.at(place).offer, .step = *trial.step});
    }
  }

  /// Whether nothing is lost, but the tolerances, where the candidate stays unplanned.
  [[nodiscard]] bool is_beaten(const BuildCandidate& one) const {
    const auto within = [&](double usd, double tolerance) {
      const auto best = best_for(usd);
      return best && *best <= (1 + tolerance) * one.lower.count();
    };
    if (!within(one.offer->usd, kFrontTolerance)) return false;
    if (stop_at_first_) return true;
    if (goal_.budgets_usd.empty()) return within(most_usd_, kBuildTolerance);
    return std::ranges::all_of(goal_.budgets_usd, [&](double budget) {
      return budget < one.offer->usd || within(budget, kBuildTolerance);
    });
  }

  /// Whether the candidate, by its guess, takes kPoorSpeed times as long as a build found within
  /// kPoorPrice of its price and within every budget that it is within.
  [[nodiscard]] bool is_poor(const CandidateGroup& group, const BuildCandidate& one) const {
    if (stop_at_first_) return false;
    double most = kPoorPrice * one.offer->usd;
    for (const double budget : goal_.budgets_usd) {
      if (budget >= one.offer->usd) most = std::min(most, budget);
    }
    const auto best = best_for(most);
    return best && kPoorSpeed * *best <= all_.guess(group, one);
  }

  void rule_out() {
    for (std::size_t g = 0; g < all_.groups().size(); ++g) {
      const CandidateGroup& group = all_.groups()[g];
      for (std::size_t i = 0; i < group.candidates.size(); ++i) {
        BuildCandidate& one = all_.at({g, i});
        if (one.state != BuildState::open) continue;
        if (all_.is_no_use(group, one) || is_beaten(one) || is_poor(group, one)) {
          one.state = BuildState::ruled_out;
        }
      }
    }
  }

  void report() const {
    if (!goal_.progress) return;
    std::size_t open = 0;
    for (const CandidateGroup& group : all_.groups()) {
      for (const BuildCandidate& one : group.candidates) open += is_open(one) ? 1 : 0;
    }
    const FoundBuild* best = nullptr;
    for (const FoundBuild& one : found_.builds) {
      if (one.offer.usd > most_usd_) continue;
      if (best == nullptr || one.step < best->step) best = &one;
    }
    goal_.progress(found_.planned, open, best);
  }

  const BuildTrials& trials_;
  const BuildGoal& goal_;
  BuildCandidates all_;
  double most_usd_ = 0;
  bool stop_at_first_ = false;
  std::size_t turn_ = 0;   ///< Turns of budgets so far.
  std::size_t spent_ = 0;  ///< Sum of what the builds planned so far count for.
  FoundBuilds found_;
};

}  // namespace

void mark_front(std::vector<FoundBuild>& builds) {
  std::ranges::stable_sort(builds, {}, [](const FoundBuild& one) { return one.offer.usd; });
  Seconds least{std::numeric_limits<double>::infinity()};
  for (FoundBuild& one : builds) {
    one.on_front = one.step * (1 + kSameStep) <= least;
    if (one.on_front) least = one.step;
  }
}

FoundBuilds search_builds(const std::vector<BuildGroup>& groups, const BuildTrials& trials,
                          const BuildGoal& goal) {
  return Search(groups, trials, goal).run();
}

}  // namespace sluice::planner

#include "planner/buying/build_search.hpp"

#include <algorithm>
#include <deque>
#include <future>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "planner/effort/work_queue.hpp"

namespace sluice::planner {
namespace {

/// Number of builds on the way: each is chosen by what was found on all but the last few before it.
/// Fixed, so that the result does not depend on threads.
constexpr std::size_t kOnTheWay = 4;

class Search {
 public:
  Search(const std::vector<BuildGroup>& groups, const BuildTrials& trials, const BuildGoal& goal)
      : trials_(trials), goal_(goal), all_(groups, trials.bound, trials.room, goal.threads) {
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
        const bool is_out = one.state == BuildState::ruled_out || one.state == BuildState::poor;
        found_.ruled_out += is_out ? 1 : 0;
        found_.open += is_open(one) ? 1 : 0;
      }
    }
    mark_front(found_.builds);
    note_left_out();
    return std::move(found_);
  }

 private:
  struct OnTheWay {
    BuildPlace place;
    std::future<BuildTrial> trial;
  };

  void search() {
    WorkQueue<BuildTrial> queue(goal_.threads);
    while (true) {
      while (on_the_way_.size() < kOnTheWay && !goal_.until.is_late()) {
        const std::optional<BuildPlace> next = next_place();
        if (!next) break;
        begin(*next, queue);
      }
      if (on_the_way_.empty()) return;
      end_first();
      rule_out();
      report();
      if (stop_at_first_ && !found_.builds.empty()) stop_beyond_the_cheapest();
    }
  }

  void begin(const BuildPlace& place, WorkQueue<BuildTrial>& queue) {
    BuildCandidate& one = all_.at(place);
    one.state = BuildState::planned;
    spent_ += one.offer->lends_drives ? kDiskCounts : 1;
    on_the_way_.push_back({place, queue.add(trials_.begin(*one.offer))});
  }

  /// Waits for the build that was begun first, and learns from it.
  void end_first() {
    OnTheWay first = std::move(on_the_way_.front());
    on_the_way_.pop_front();
    const BuildTrial trial = first.trial.get();
    const BuildOffer& offer = *all_.at(first.place).offer;
    if (trials_.settle) trials_.settle(offer);
    all_.learn(first.place, trial);
    ++found_.planned;
    if (trial.step) found_.builds.push_back({.offer = offer, .step = *trial.step});
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
    if (now) return std::min(*now / step, kMost);
    // What may be cheaper than all that was found comes first, of it what seems fastest; but for
    // plans with the disk, which take long.
    return one.offer->lends_drives ? kMost / step : kMost + 1 / step;
  }

  /// The build to plan next, of another GPU than those on the way, since what is found for one
  /// helps the others of its GPU; none where there is none. Most are for the budgets by turns, each
  /// fourth for the cheapest that fits or, once that is known, for the front.
  std::optional<BuildPlace> next_place() {
    if (goal_.most_planned > 0 && spent_ >= goal_.most_planned) return std::nullopt;
    std::vector<double> budgets = goal_.budgets_usd;
    if (budgets.empty() || stop_at_first_) budgets = {most_usd_};
    std::set<std::string> used;
    for (const OnTheWay& one : on_the_way_) used.insert(all_.groups()[one.place.first].gpu);
    std::optional<double> budget;
    if (++choices_ % kOnTheWay != 0) {
      budget = budgets[turn_++ % budgets.size()];
    } else if (const auto cheapest = cheapest_open(used)) {
      return cheapest;
    }
    std::optional<BuildPlace> best = most_hoped(budget, used);
    if (!best && budget) best = most_hoped(std::nullopt, used);
    if (!best) return std::nullopt;
    return all_.anchor_before(*best);
  }

  /// The cheapest open build that costs less than all that were found to do what was asked, may do
  /// it itself by its guess, and has no less room than the job is known to need beside any GPU;
  /// none where there is none. Builds of a GPU on which drives were lent in vain lend none here: to
  /// find that takes long.
  [[nodiscard]] std::optional<BuildPlace> cheapest_open(const std::set<std::string>& used) const {
    double least = std::numeric_limits<double>::infinity();
    for (const FoundBuild& one : found_.builds) {
      if (one.step <= goal_.most_step) least = std::min(least, one.offer.usd);
    }
    const Bytes needed = all_.least_needed();
    std::optional<BuildPlace> best;
    for (std::size_t g = 0; g < all_.groups().size(); ++g) {
      const CandidateGroup& group = all_.groups()[g];
      if (used.contains(group.gpu)) continue;
      const bool is_vain = all_.has_lent_in_vain(group.gpu);
      for (std::size_t i = 0; i < group.candidates.size(); ++i) {
        const BuildCandidate& one = group.candidates[i];
        if (one.offer->usd >= least || one.room < needed || !is_open(one)) continue;
        if (one.offer->lends_drives && (is_vain || waits(group, one))) continue;
        if (all_.guess(group, one) > goal_.most_step.count()) continue;
        least = one.offer->usd;
        best = {g, i};
      }
    }
    return best;
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
        if (all_.is_no_use(group, one) || is_beaten(one)) {
          one.state = BuildState::ruled_out;
        } else if (is_poor(group, one)) {
          one.state = BuildState::poor;
        }
      }
    }
  }

  /// Notes the cheapest poor builds (FoundBuilds::left_out).
  void note_left_out() {
    const Bytes least_needed = all_.least_needed();
    std::map<std::string, const BuildOffer*> cheapest;
    for (const CandidateGroup& group : all_.groups()) {
      for (const BuildCandidate& one : group.candidates) {
        if (one.state != BuildState::poor || one.offer->usd > most_usd_) continue;
        // What every GPU known needs more than is not taken to fit.
        const bool is_short = !one.offer->lends_drives && one.offer->memory < least_needed;
        if (is_short || all_.is_no_use(group, one)) continue;
        const BuildOffer*& least = cheapest.try_emplace(one.offer->parts.gpu).first->second;
        if (least == nullptr || one.offer->usd < least->usd) least = one.offer;
      }
    }
    for (const auto& entry : cheapest) {
      const BuildOffer& offer = *entry.second;
      const bool is_least = std::ranges::none_of(found_.builds, [&offer](const FoundBuild& one) {
        return one.offer.parts.gpu == offer.parts.gpu && one.offer.usd <= offer.usd;
      });
      if (is_least) found_.left_out.push_back(offer);
    }
    std::ranges::stable_sort(found_.left_out, {}, &BuildOffer::usd);
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
  std::size_t choices_ = 0;  ///< Number of choices of a build so far.
  std::size_t turn_ = 0;     ///< Turns of budgets so far.
  std::size_t spent_ = 0;    ///< Sum of what the builds begun so far count for.
  std::deque<OnTheWay> on_the_way_;
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

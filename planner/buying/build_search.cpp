#include "planner/buying/build_search.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "planner/effort/parallel_for.hpp"

namespace sluice::planner {
namespace {

enum class State { open, planned, ruled_out };

struct BuildCandidate {
  const BuildOffer* offer;
  Seconds lower{0};
  State state = State::open;
};

/// Candidates of one GPU on one CPU's board, cheapest first.
struct Group {
  std::string gpu;
  Seconds bound{0};
  std::vector<BuildCandidate> candidates = {};
};

/// Place of a candidate: its group, and its number there.
using Place = std::pair<std::size_t, std::size_t>;

/// Number of builds planned at the same time; fixed, so that the result does not depend on threads.
constexpr std::size_t kBatch = 4;

class Search {
 public:
  Search(const std::vector<BuildGroup>& groups, const BuildTrials& trials, const BuildGoal& goal)
      : trials_(trials), goal_(goal) {
    for (const double budget : goal.budgets_usd) most_usd_ = std::max(most_usd_, budget);
    if (goal.budgets_usd.empty()) most_usd_ = std::numeric_limits<double>::infinity();
    for (const BuildGroup& group : groups) {
      Group mine{.gpu = group.gpu};
      for (const BuildOffer& offer : group.offers) mine.candidates.push_back({.offer = &offer});
      groups_.push_back(std::move(mine));
    }
    parallel_for(groups_.size(), goal.threads, [&](std::size_t i) { bound(groups_[i]); });
    for (std::size_t g = 0; g < groups_.size(); ++g) find_anchor(g);
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
    for (const Group& group : groups_) {
      for (const BuildCandidate& one : group.candidates) {
        found_.ruled_out += one.state == State::ruled_out ? 1 : 0;
        found_.open += is_open(one) ? 1 : 0;
      }
    }
    std::ranges::stable_sort(found_.builds, {},
                             [](const FoundBuild& one) { return one.offer.usd; });
    Seconds least{std::numeric_limits<double>::infinity()};
    for (FoundBuild& one : found_.builds) {
      one.on_front = one.step < least;
      least = std::min(least, one.step);
    }
    return std::move(found_);
  }

 private:
  /// Host memory of a GPU's builds: less than `needed` is known to be short, `enough` is known not
  /// to be.
  struct Known {
    Bytes needed{0};
    Bytes enough{std::numeric_limits<std::int64_t>::max()};
    /// Builds that lacked something else than host memory, on whichever board.
    std::vector<const BuildOffer*> failed = {};
  };

  /// Computes bounds of those builds of which no other has as much of everything, and gives each
  /// build the largest of a build that has no less.
  void bound(Group& group) const {
    std::vector<const BuildOffer*> most;
    for (const BuildCandidate& one : group.candidates) {
      if (!one.offer->lends_drives) continue;
      const auto has_less = [&](const BuildOffer* other) {
        return has_no_less(*one.offer, *other);
      };
      if (std::ranges::any_of(
              most, [&](const BuildOffer* other) { return has_no_less(*other, *one.offer); })) {
        continue;
      }
      std::erase_if(most, has_less);
      most.push_back(one.offer);
    }
    group.bound = Seconds(std::numeric_limits<double>::infinity());
    for (const BuildOffer* offer : most) {
      const Seconds bound = trials_.bound(*offer);
      group.bound = std::min(group.bound, bound);
      for (BuildCandidate& one : group.candidates) {
        if (has_no_less(*offer, *one.offer)) one.lower = std::max(one.lower, bound);
      }
    }
  }

  /// The build of a GPU that has most of everything, for its GPU's lower bounds.
  struct Anchor {
    Place place;
    std::size_t builds = 0;  ///< Number of the GPU's builds.
  };

  void find_anchor(std::size_t g) {
    const Group& group = groups_[g];
    const auto amount = [](const BuildOffer& offer) {
      return std::tuple(offer.memory_rate.count(), offer.memory.count(), offer.cpu_rate,
                        -offer.usd);
    };
    for (std::size_t i = 0; i < group.candidates.size(); ++i) {
      const BuildOffer& offer = *group.candidates[i].offer;
      Anchor& anchor = anchors_.try_emplace(group.gpu, Anchor{.place = {g, i}}).first->second;
      ++anchor.builds;
      const BuildOffer& most = *candidate(anchor.place).offer;
      if (offer.lends_drives) continue;
      if (most.lends_drives || amount(offer) > amount(most)) anchor.place = {g, i};
    }
  }

  void search() {
    while (!goal_.until.is_late()) {
      const std::vector<Place> batch = next_batch();
      if (batch.empty()) return;
      std::vector<BuildTrial> tried(batch.size());
      parallel_for(batch.size(), goal_.threads,
                   [&](std::size_t i) { tried[i] = trials_.plan(*candidate(batch[i]).offer); });
      if (trials_.settle) trials_.settle();
      for (std::size_t i = 0; i < batch.size(); ++i) learn(batch[i], tried[i]);
      rule_out();
      report();
      if (stop_at_first_ && !found_.builds.empty()) stop_beyond_the_cheapest();
    }
  }

  [[nodiscard]] BuildCandidate& candidate(const Place& place) {
    return groups_[place.first].candidates[place.second];
  }
  [[nodiscard]] const BuildCandidate& candidate(const Place& place) const {
    return groups_[place.first].candidates[place.second];
  }

  /// Beyond the budget only what is cheaper than the cheapest build found is of interest.
  void stop_beyond_the_cheapest() {
    for (const FoundBuild& one : found_.builds) most_usd_ = std::min(most_usd_, one.offer.usd);
  }

  [[nodiscard]] bool is_open(const BuildCandidate& one) const {
    return one.state == State::open && one.offer->usd <= most_usd_;
  }

  /// Whether the GPU's host memory is known to be short on the build.
  [[nodiscard]] std::optional<bool> is_short(const std::string& gpu, Bytes memory) const {
    const auto known = memory_.find(gpu);
    if (known == memory_.end()) return std::nullopt;
    if (memory < known->second.needed) return true;
    if (memory >= known->second.enough) return false;
    return std::nullopt;
  }

  [[nodiscard]] bool waits(const Group& group, const BuildCandidate& one) const {
    if (!one.offer->lends_drives) return false;
    const auto lacking = is_short(group.gpu, one.offer->memory);
    if (lacking) return !*lacking;
    return std::ranges::any_of(group.candidates, [&](const BuildCandidate& other) {
      return !other.offer->lends_drives && is_open(other) &&
             other.offer->memory <= one.offer->memory;
    });
  }

  /// Ratio of steps to bounds on the GPU, as far as it is known.
  [[nodiscard]] double ratio(const std::string& gpu) const {
    const auto known = ratio_.find(gpu);
    constexpr double kUnknown = 1.05;
    return known == ratio_.end() ? kUnknown : known->second;
  }

  /// A guess of the candidate's step, by which builds are put in order: as far above its bound as
  /// others of the GPU are, and with what memory lacks read from the drives and written to them.
  [[nodiscard]] double guess(const Group& group, const BuildCandidate& one) const {
    double step = std::max(group.bound.count() * ratio(group.gpu), one.lower.count());
    const auto known = memory_.find(group.gpu);
    if (one.offer->lends_drives && known != memory_.end()) {
      const Bytes lacking = std::max(Bytes(0), known->second.needed - one.offer->memory);
      step += 2 * static_cast<double>(lacking.count()) / one.offer->drive_rate.count();
    }
    return step;
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
  [[nodiscard]] double hope(const Group& group, const BuildCandidate& one,
                            std::optional<double> budget) const {
    const double step = guess(group, one);
    if (budget) return one.offer->usd <= *budget ? 1 / step : 0;
    constexpr double kMost = 10;
    const auto now = best_for(one.offer->usd);
    return now ? std::min(*now / step, kMost) : kMost / step;
  }

  /// Builds to plan next, each of another group: most for the budgets by turns, the last one for
  /// the front.
  std::vector<Place> next_batch() {
    std::vector<double> budgets = goal_.budgets_usd;
    if (budgets.empty() || stop_at_first_) budgets = {most_usd_};
    std::vector<Place> batch;
    std::vector<bool> used(groups_.size(), false);
    while (batch.size() < kBatch) {
      const bool is_spent =
          goal_.most_planned > 0 && found_.planned + batch.size() >= goal_.most_planned;
      if (is_spent) break;
      std::optional<double> budget;
      if (batch.size() + 1 < kBatch) budget = budgets[turn_++ % budgets.size()];
      std::optional<Place> best = most_hoped(budget, used);
      if (!best && budget) best = most_hoped(std::nullopt, used);
      if (!best) break;
      best = anchor_before(*best);
      if (used[best->first]) break;  // What the batch will tell of the anchor comes first.
      used[best->first] = true;
      batch.push_back(*best);
    }
    return batch;
  }

  /// The place of the GPU's anchor, where it has many builds and its anchor is not planned; else
  /// `place`.
  [[nodiscard]] Place anchor_before(const Place& place) const {
    constexpr std::size_t kMany = 8;
    const Anchor& anchor = anchors_.at(groups_[place.first].gpu);
    const bool is_open = candidate(anchor.place).state == State::open;
    return anchor.builds > kMany && is_open ? anchor.place : place;
  }

  [[nodiscard]] std::optional<Place> most_hoped(std::optional<double> budget,
                                                const std::vector<bool>& used) const {
    std::optional<Place> best;
    std::tuple<double, std::int64_t, double, double> most{0, 0, 0, 0};
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (used[g]) continue;
      const Group& group = groups_[g];
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

  void learn(const Place& place, const BuildTrial& trial) {
    const Group& group = groups_[place.first];
    BuildCandidate& planned = candidate(place);
    const BuildOffer& offer = *planned.offer;
    planned.state = State::planned;
    ++found_.planned;
    Known& known = memory_.try_emplace(group.gpu).first->second;
    if (!offer.lends_drives && trial.needed) known.needed = std::max(known.needed, *trial.needed);
    raise_lower(group.gpu, offer, trial);
    if (!trial.step) {
      if (!trial.needed) known.failed.push_back(&offer);
      return;
    }
    if (!offer.lends_drives) known.enough = std::min(known.enough, offer.memory);
    found_.builds.push_back({.offer = offer, .step = *trial.step});
    const double above = trial.step->count() / group.bound.count();
    const auto [place_of, first] = ratio_.try_emplace(group.gpu, above);
    if (!first) place_of->second = std::min(place_of->second, above);
  }

  /// Raises the lower bounds of the GPU's builds that have no more than one that was planned, and
  /// rules them out where the job does not fit there.
  void raise_lower(const std::string& gpu, const BuildOffer& planned, const BuildTrial& trial) {
    for (Group& group : groups_) {
      if (group.gpu != gpu) continue;
      for (BuildCandidate& one : group.candidates) {
        if (one.state != State::open) continue;
        // Drives help only where memory is short: a build with more memory that lends none is no
        // slower if the job fits on it.
        BuildOffer like = *one.offer;
        if (!planned.lends_drives && trial.step) like.lends_drives = false;
        if (planned.lends_drives != like.lends_drives || !has_no_less(planned, like)) continue;
        if (!trial.step) one.state = State::ruled_out;
        if (trial.step) one.lower = std::max(one.lower, *trial.step);
      }
    }
  }

  /// Whether the GPU is known to lack something else than host memory on a build with no less.
  [[nodiscard]] bool lacks_more(const std::string& gpu, const BuildOffer& offer) const {
    const auto known = memory_.find(gpu);
    if (known == memory_.end()) return false;
    return std::ranges::any_of(known->second.failed, [&](const BuildOffer* failed) {
      return failed->lends_drives == offer.lends_drives && failed->memory >= offer.memory &&
             failed->drives >= offer.drives;
    });
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

  void rule_out() {
    for (Group& group : groups_) {
      for (BuildCandidate& one : group.candidates) {
        if (one.state != State::open) continue;
        const auto is_lacking = is_short(group.gpu, one.offer->memory);
        const bool is_other_kind = is_lacking.has_value() && one.offer->lends_drives != *is_lacking;
        if (is_other_kind || lacks_more(group.gpu, *one.offer) || is_beaten(one)) {
          one.state = State::ruled_out;
        }
      }
    }
  }

  void report() const {
    if (!goal_.progress) return;
    std::size_t open = 0;
    for (const Group& group : groups_) {
      for (const BuildCandidate& one : group.candidates) open += is_open(one) ? 1 : 0;
    }
    const FoundBuild* best = nullptr;
    for (const FoundBuild& one : found_.builds) {
      if (best == nullptr || one.step < best->step) best = &one;
    }
    goal_.progress(found_.planned, open, best == nullptr ? nullptr : &best->offer);
  }

  const BuildTrials& trials_;
  const BuildGoal& goal_;
  double most_usd_ = 0;
  bool stop_at_first_ = false;
  std::size_t turn_ = 0;  ///< Turns of budgets so far.
  std::vector<Group> groups_;
  std::map<std::string, Anchor> anchors_;  ///< Anchors by the name of the GPU.
  std::map<std::string, Known> memory_;
  std::map<std::string, double> ratio_;
  FoundBuilds found_;
};

}  // namespace

FoundBuilds search_builds(const std::vector<BuildGroup>& groups, const BuildTrials& trials,
                          const BuildGoal& goal) {
  return Search(groups, trials, goal).run();
}

std::vector<FoundBuild> builds_to_show(const FoundBuilds& found,
                                       const std::vector<double>& budgets_usd) {
  std::vector<bool> shown(found.builds.size(), false);
  std::map<std::string, std::size_t> cheapest;
  for (std::size_t i = 0; i < found.builds.size(); ++i) {
    shown[i] = found.builds[i].on_front;
    cheapest.try_emplace(found.builds[i].offer.parts.gpu, i);
  }
  for (const auto& [gpu, i] : cheapest) shown[i] = true;
  std::vector<double> budgets = budgets_usd;
  if (budgets.empty()) budgets.push_back(std::numeric_limits<double>::infinity());
  for (const double budget : budgets) {
    std::map<std::string, std::size_t> fastest;
    for (std::size_t i = 0; i < found.builds.size(); ++i) {
      const FoundBuild& one = found.builds[i];
      if (one.offer.usd > budget) continue;
      const auto [place, first] = fastest.try_emplace(one.offer.parts.gpu, i);
      if (!first && one.step < found.builds[place->second].step) place->second = i;
    }
    for (const auto& [gpu, i] : fastest) shown[i] = true;
  }
  std::vector<FoundBuild> rows;
  for (std::size_t i = 0; i < found.builds.size(); ++i) {
    if (shown[i]) rows.push_back(found.builds[i]);
  }
  return rows;
}

}  // namespace sluice::planner

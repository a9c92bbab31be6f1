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

struct Candidate {
  const BuildOffer* offer;
  Seconds lower{0};
  State state = State::open;
};

/// Candidates of one GPU on one CPU's board, cheapest first.
struct Group {
  std::string gpu;
  Seconds bound{0};
  std::vector<Candidate> candidates = {};
  /// Builds planned here: the least step and the bound give how far steps are above bounds.
  std::vector<std::pair<const BuildOffer*, BuildTrial>> trials = {};
};

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
  }

  FoundBuilds run() {
    search();
    if (found_.builds.empty()) {  // Nothing within the budget: what would do costs more.
      most_usd_ = std::numeric_limits<double>::infinity();
      stop_at_first_ = true;
      search();
    }
    for (const Group& group : groups_) {
      for (const Candidate& one : group.candidates) {
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
    for (const Candidate& one : group.candidates) {
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
      for (Candidate& one : group.candidates) {
        if (has_no_less(*offer, *one.offer)) one.lower = std::max(one.lower, bound);
      }
    }
  }

  void search() {
    while (!goal_.until.is_late()) {
      const std::vector<std::pair<std::size_t, std::size_t>> batch = next_batch();
      if (batch.empty()) return;
      std::vector<BuildTrial> tried(batch.size());
      parallel_for(batch.size(), goal_.threads, [&](std::size_t i) {
        tried[i] = trials_.plan(*groups_[batch[i].first].candidates[batch[i].second].offer);
      });
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

  [[nodiscard]] bool is_open(const Candidate& one) const {
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

  [[nodiscard]] bool waits(const Group& group, const Candidate& one) const {
    if (!one.offer->lends_drives) return false;
    const auto lacking = is_short(group.gpu, one.offer->memory);
    if (lacking) return !*lacking;
    return std::ranges::any_of(group.candidates, [&](const Candidate& other) {
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
  [[nodiscard]] double guess(const Group& group, const Candidate& one) const {
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
  [[nodiscard]] double hope(const Group& group, const Candidate& one,
                            std::optional<double> budget) const {
    const double step = guess(group, one);
    if (budget) return one.offer->usd <= *budget ? 1 / step : 0;
    constexpr double kMost = 10;
    const auto now = best_for(one.offer->usd);
    return now ? std::min(*now / step, kMost) : kMost / step;
  }

  /// Builds to plan next, each of another group: most for the budgets by turns, the last one for
  /// the front.
  std::vector<std::pair<std::size_t, std::size_t>> next_batch() {
    std::vector<double> budgets = goal_.budgets_usd;
    if (budgets.empty() || stop_at_first_) budgets = {most_usd_};
    std::vector<std::pair<std::size_t, std::size_t>> batch;
    std::vector<bool> used(groups_.size(), false);
    while (batch.size() < kBatch) {
      std::optional<double> budget;
      if (batch.size() + 1 < kBatch) budget = budgets[turn_++ % budgets.size()];
      std::optional<std::pair<std::size_t, std::size_t>> best = most_hoped(budget, used);
      if (!best && budget) best = most_hoped(std::nullopt, used);
      if (!best) break;
      used[best->first] = true;
      batch.push_back(*best);
    }
    return batch;
  }

  [[nodiscard]] std::optional<std::pair<std::size_t, std::size_t>> most_hoped(
      std::optional<double> budget, const std::vector<bool>& used) const {
    std::optional<std::pair<std::size_t, std::size_t>> best;
    std::tuple<double, std::int64_t, double, double> most{0, 0, 0, 0};
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (used[g]) continue;
      const Group& group = groups_[g];
      for (std::size_t i = 0; i < group.candidates.size(); ++i) {
        const Candidate& one = group.candidates[i];
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

  void learn(const std::pair<std::size_t, std::size_t>& where, const BuildTrial& trial) {
    Group& group = groups_[where.first];
    Candidate& planned = group.candidates[where.second];
    const BuildOffer& offer = *planned.offer;
    planned.state = State::planned;
    ++found_.planned;
    group.trials.emplace_back(&offer, trial);
    Known& known = memory_.try_emplace(group.gpu).first->second;
    if (!offer.lends_drives && trial.needed) known.needed = std::max(known.needed, *trial.needed);
    if (!trial.step) {
      if (!trial.needed) known.failed.push_back(&offer);
      return;
    }
    if (!offer.lends_drives) known.enough = std::min(known.enough, offer.memory);
    found_.builds.push_back({.offer = offer, .step = *trial.step});
    const double above = trial.step->count() / group.bound.count();
    const auto [place, first] = ratio_.try_emplace(group.gpu, above);
    if (!first) place->second = std::min(place->second, above);
  }

  void rule_out() {
    for (Group& group : groups_) {
      for (Candidate& one : group.candidates) {
        if (one.state != State::open) continue;
        const BuildOffer& offer = *one.offer;
        const auto is_lacking = is_short(group.gpu, offer.memory);
        bool out = is_lacking.has_value() && offer.lends_drives != *is_lacking;
        for (const auto& [other, trial] : group.trials) {
          // Drives help only where memory is short: a build with more memory that lends none is no
          // slower if the job fits on it.
          BuildOffer like = offer;
          if (!other->lends_drives && trial.step) like.lends_drives = false;
          if (other->lends_drives != like.lends_drives || !has_no_less(*other, like)) continue;
          if (!trial.step) out = true;
          if (trial.step) one.lower = std::max(one.lower, *trial.step);
        }
        if (const auto known = memory_.find(group.gpu); known != memory_.end()) {
          for (const BuildOffer* failed : known->second.failed) {
            out = out || (failed->lends_drives == offer.lends_drives &&
                          failed->memory >= offer.memory && failed->drives >= offer.drives);
          }
        }
        for (const FoundBuild& other : found_.builds) {
          out = out || (other.offer.usd <= offer.usd &&
                        other.step.count() <= (1 + kBuildTolerance) * one.lower.count());
        }
        if (out) one.state = State::ruled_out;
      }
    }
  }

  void report() const {
    if (!goal_.progress) return;
    std::size_t open = 0;
    for (const Group& group : groups_) {
      for (const Candidate& one : group.candidates) open += is_open(one) ? 1 : 0;
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

#include "planner/search/disk_search.hpp"

#include <algorithm>

#include "planner/effort/search_settings.hpp"
#include "planner/graph/steady_state.hpp"
#include "planner/layout/laid_out.hpp"
#include "planner/plans/disk_state.hpp"
#include "planner/search/disk_shares.hpp"
#include "planner/search/memory_search.hpp"

namespace sluice::planner {
namespace {

/// Sizes of a roomier host that are tried for one number of rounds.
constexpr int kRoomsTried = 6;
/// Numbers of rounds among which the effort is divided; about as many are looked at.
constexpr std::int64_t kRoundsUsual = 4;
/// Share of the time left that a search of a roomier host may take; its plans are then simulated
/// with their disk.
constexpr double kInMemoryPart = 0.5;
/// Most that more buffers than two take off a step, as a ratio.
constexpr double kBuffersGain = 1.1;

/// Whether every round moves something from the disk or to it.
bool rounds_use_disk(const Plan& plan) {
  return std::ranges::any_of(plan.units, [](const UnitPlan& unit) {
    return unit.gradients == Tier::disk || unit.weights == Tier::disk;
  });
}

/// Plan that is looked for: the fastest plan; a fast one, with few rounds where one fits, in half
/// the time; or the first that fits, without a search.
enum class Goal { fastest, compare, fit };

/// A plan without the disk, and what it takes of the host.
struct Roomy {
  Plan plan;
  Bytes host;
};

class DiskSearch {
 public:
  DiskSearch(const Predictor& predictor, const SearchSettings& settings, Goal goal = Goal::fastest)
      : predictor_(predictor),
        settings_(settings),
        goal_(goal),
        shares_(predictor.job(), settings.pins, predictor.ranks()),
        pinned_(uniform_plan(predictor.part(), {}, 1)) {
    pinned_.ranks = predictor.ranks();
    pinned_.hosts = predictor.plan_of({}, 1).hosts;
    if (settings_.pins) settings_.pins(pinned_);
  }

  [[nodiscard]] bool pinned() const { return uses_disk(pinned_); }

  /// Searches; `in_memory` is what plans without the disk lack, null where units are pinned there.
  std::variant<Planned, Infeasible> run(const Infeasible* in_memory) {
    most_ = shares_.all_frees() - shares_.slots(2) - shares_.weight_slots(2);
    // A host may lack so much that the device lacks less of holding everything.
    const bool short_host = in_memory != nullptr && in_memory->tier == Tier::host;
    const Bytes freed = pinned()     ? shares_.frees_of(pinned_)
                        : short_host ? in_memory->short_by + shares_.slots(3)
                                     : shares_.all_frees();
    look(freed);
    if (best_) return concluded();
    const bool least_lacks = in_memory == nullptr || (short_host && least_is_of_this_host_);
    return least_lacks ? least_ : *in_memory;
  }

  /// The fastest plan that fits of those that keep on the disk what `roomy` takes too much.
  std::optional<TimedPlan> moved(const Roomy& roomy) {
    find_best_of(roomy);
    return best_;
  }

  /// A plan that fits where the host lacks so much.
  std::optional<TimedPlan> fit(Bytes host_short) {
    most_ = shares_.all_frees() - shares_.slots(2) - shares_.weight_slots(2);
    look(host_short + shares_.slots(3));
    return best_;
  }

 private:
  void look(Bytes freed) {
    const bool state_alone = pinned() ? !rounds_use_disk(pinned_) : freed <= shares_.state_frees();
    const bool few = goal_ == Goal::compare && !pinned();
    if (few) try_rounds(freed);
    if (few && best_) return;
    if (state_alone) settle(freed, std::nullopt);
    if (few) return;
    const bool enough = best_ && (goal_ == Goal::fit || best_->plan.rounds == 1);
    if (!enough) try_rounds(freed);
  }

  /// A search that knows of no disk takes several rounds for cheap, whose sums and weights would
  /// cross the disk's lanes every round: the fewest with which anything fits are looked at first,
  /// and more of them for as long as that makes the step shorter.
  void try_rounds(Bytes freed) {
    for (const std::optional<std::int64_t>& rounds : rounds_left()) {
      const auto before = best_;
      settle(freed, rounds);
      if (before && best_->step == before->step) break;
      if (is_over() || (best_ && goal_ == Goal::fit)) break;
    }
  }

  /// Whether it is late and there is an answer; without a search no answer is as good as any.
  [[nodiscard]] bool is_over() const {
    return (best_ || goal_ == Goal::fit) && settings_.is_late();
  }

  /// Numbers of rounds to try; one `nullopt`, for any, where pins leave one number alone.
  [[nodiscard]] std::vector<std::optional<std::int64_t>> rounds_left() const {
    std::vector<std::optional<std::int64_t>> all;
    for (std::int64_t rounds = 1; rounds <= predictor_.part().micro_batches(); ++rounds) {
      if (predictor_.part().micro_batches() % rounds != 0) continue;
      Plan plan = pinned_;
      set_rounds(plan, rounds);
      if (settings_.pins) settings_.pins(plan);
      if (plan.rounds == rounds) all.emplace_back(rounds);
    }
    if (all.size() <= 1) return {std::nullopt};
    return all;
  }
  void set_rounds(Plan& plan, std::int64_t rounds) const {
    plan.rounds = rounds;
    plan.micro_batches_per_round = predictor_.part().micro_batches() / rounds;
  }

  /// Searches with ever other host memory, from `freed` more than there is, until one of the plans
  /// found fits.
  void settle(Bytes freed, std::optional<std::int64_t> rounds) {
    bool tried_most = false, fits = false;
    std::int64_t times_less = 1;
    for (int i = 0; i < kRoomsTried; ++i) {
      if (freed > most_ && !pinned()) {
        if (tried_most) return;
        tried_most = true;
        freed = most_;
      }
      const bool found = attempt(freed, rounds, fits);
      if (is_over()) return;
      if (fits || least_.tier != Tier::host || pinned()) return;
      if (!tried_most) {
        freed += least_.short_by;
      } else if (!best_ && found && least_.short_by * times_less < freed) {
        // With all of it on the disk, only a plan of less memory may fit: a little less, then much.
        // Not worth a search each where another number of rounds fits.
        freed -= least_.short_by * times_less;
        times_less *= 4;
      } else {
        return;
      }
    }
  }

  /// Plans of a host with so much more memory. Gradients of a single round come to the host as its
  /// records go: where gradients are to leave, no records may take their place.
  [[nodiscard]] std::variant<Roomy, Infeasible> search_with(Bytes freed,
                                                            std::optional<std::int64_t> rounds) {
    const bool records_stay = rounds == 1 && !pinned() && freed > shares_.state_frees();
    SearchSettings inner = settings_;
    if (rounds) {
      const std::int64_t effort = settings_.effort > 0 ? settings_.effort : kUsualEffort;
      inner.effort = std::max<std::int64_t>(1, effort / kRoundsUsual);
    }
    inner.until = settings_.until.part(kInMemoryPart);
    inner.pins = [this, rounds, records_stay](Plan& plan) {
      if (records_stay) {
        for (UnitPlan& unit : plan.units) unit.keep_tier = Tier::hbm;
      }
      if (rounds) set_rounds(plan, *rounds);
      if (settings_.pins) settings_.pins(plan);
      DiskShares::bring_back(plan);
    };
    const Predictor roomier = predictor_.with_host(predictor_.machine().host + freed);
    if (goal_ == Goal::fit) {
      const FittingPlans sketches(roomier, inner);
      if (auto any = sketches.any()) return Roomy{any->plan, at(any->memory, Tier::host).peak};
      return lacking(sketches);
    }
    const auto found = search_in_memory(roomier, inner);
    if (const auto* infeasible = std::get_if<Infeasible>(&found)) return *infeasible;
    const Planned& planned = std::get<Planned>(found);
    simulated_ += planned.simulated;
    considered_ += planned.considered;
    space_log10_ = std::max(space_log10_, planned.space_log10);
    const Prediction& best = planned.best.prediction;
    return Roomy{best.plan, at(best.memory, Tier::host).peak};
  }

  /// Shortage of a host for which no sketch was found.
  static Infeasible lacking(const FittingPlans& sketches) {
    Infeasible infeasible;
    infeasible.short_by = Bytes(1);
    if (const auto smallest = sketches.plan_of_least_memory(Tier::host)) {
      infeasible.tier = Tier::host;
      infeasible.memory = smallest->memory;
      infeasible.short_by = at(smallest->memory, Tier::host).missing();
    }
    return infeasible;
  }

  /// Searches with so much more host memory and puts on the disk what takes that. False where no
  /// plan fits such a host; least_ says what lacks.
  bool attempt(Bytes freed, std::optional<std::int64_t> rounds, bool& fits) {
    const auto found = search_with(freed, rounds);
    if (const auto* lacking = std::get_if<Infeasible>(&found)) {
      least_ = *lacking;
      least_is_of_this_host_ = false;
      return false;
    }
    fits = find_best_of(std::get<Roomy>(found));
    return true;
  }

  /// Simulates the plan with state on the disk in several placements; true where any fits.
  bool find_best_of(const Roomy& roomy) {
    using Placement = DiskShares::Placement;
    const Plan& plan = roomy.plan;
    const std::size_t units = plan.units.size();
    const Bytes host = predictor_.machine().host;
    const Bytes missing = roomy.host > host ? roomy.host - host : Bytes(0);
    const std::size_t count = pinned() ? 0 : shares_.fewest(plan, missing);
    bool any = false;
    Plan before;
    for (std::size_t more = 0; more < 3 && count + more <= 3 * units; ++more) {
      for (const Placement placement : {Placement::last, Placement::even}) {
        const bool all_blocks = count + more + 2 >= units;
        if (placement == Placement::even && (pinned() || all_blocks)) continue;  // As the last.
        for (const std::int64_t buffers : {2, 3, 4}) {
          if (best_ && settings_.is_late()) return true;
          const Plan moved = shares_.moved(plan, count + more, placement, buffers);
          if (moved == before) break;  // There is no more to move.
          if (buffers == 2) before = moved;
          const Duration best = best_ ? best_->step : Duration(0);
          // What lacks memory lacks it with more buffers, too.
          if (!fits(moved)) break;
          any = true;
          if (goal_ == Goal::fit) return true;
          // Nor do more buffers make up for much.
          if (best.count() > 0 && to_seconds(last_) > kBuffersGain * to_seconds(best)) break;
        }
      }
      if (any || pinned()) break;
    }
    return any;
  }

  bool fits(const Plan& plan) {
    if (!is_valid(plan, predictor_.job())) return false;
    ++considered_;
    StepGraph graph = build_timing_graph(predictor_.job(), plan, predictor_.costs());
    const Memory memory = memory_of(graph, predictor_.machine());
    if (std::ranges::any_of(memory, [](const TierMemory& tier) { return !tier.fits(); })) {
      note_shortage(memory);
      return false;
    }
    ++simulated_;
    const Duration step = steady_steps(graph, LookForCycles::where_unsettled).step;
    last_ = step;
    if (!best_ || step < best_->step) {
      best_ = TimedPlan{.plan = plan, .memory = memory, .step = step};
    }
    return true;
  }

  void note_shortage(const Memory& memory) {
    least_is_of_this_host_ = true;
    least_.memory = memory;
    least_.short_by = Bytes(0);
    for (const Tier tier : {Tier::hbm, Tier::host, Tier::disk}) {
      const Bytes lacking = at(least_.memory, tier).missing();
      if (lacking.count() == 0) continue;
      least_.tier = tier;
      least_.short_by = lacking;
    }
  }

  Planned concluded() const {
    const Seconds step = to_seconds(best_->step);
    Planned planned{
        predictor_.predict(best_->plan),         space_log10_,           considered_, simulated_, 0,
        std::min(predictor_.bound().time, step), predictor_.bound().time};
    planned.optimality_gap = (step - planned.bound) / step;
    return planned;
  }

  const Predictor& predictor_;
  const SearchSettings& settings_;
  Goal goal_;
  DiskShares shares_;
  Plan pinned_;
  Bytes most_{0};  ///< Host memory that the disk can take off it.
  double space_log10_ = 0;
  std::optional<TimedPlan> best_;
  Duration last_{0};  ///< Step of the plan simulated last.
  Infeasible least_;
  /// Whether least_ is of this host, not of one with more memory.
  bool least_is_of_this_host_ = false;
  std::int64_t considered_ = 0, simulated_ = 0;
};

}  // namespace

std::optional<TimedPlan> fitting_on_disk(const Predictor& predictor, Bytes host_short,
                                         const SearchSettings& settings) {
  return DiskSearch(predictor, settings, Goal::fit).fit(host_short);
}

std::optional<TimedPlan> moved_to_disk(const Predictor& predictor, const SearchSettings& settings,
                                       const Plan& plan, Bytes host) {
  return DiskSearch(predictor, settings).moved({.plan = plan, .host = host});
}

bool pins_use_disk(const Predictor& predictor, const SearchSettings& settings) {
  return DiskSearch(predictor, settings).pinned();
}

std::variant<Planned, Infeasible> compare_with_disk(const Predictor& predictor,
                                                    const SearchSettings& settings,
                                                    const Infeasible* in_memory) {
  return DiskSearch(predictor, settings, Goal::compare).run(in_memory);
}

std::variant<Planned, Infeasible> search_with_disk(const Predictor& predictor,
                                                   const SearchSettings& settings,
                                                   const Infeasible* in_memory) {
  return DiskSearch(predictor, settings).run(in_memory);
}

}  // namespace sluice::planner

// Plans that fit, straight from the relaxation: whether there is any, what the plan of least memory
// lacks, and about how fast one is, without a search.
#pragma once

#include <optional>
#include <vector>

#include "planner/effort/search_settings.hpp"
#include "planner/guided/coarse_step.hpp"
#include "planner/predictions/plan_estimate.hpp"
#include "planner/predictions/timed_plan.hpp"
#include "planner/relaxation/plan_relaxation.hpp"

namespace sluice::planner {

/// Finds plans that fit by sketches and their layouts. It uses the settings' pins, stop and until:
/// each call throws Interrupted once asked to stop, and once it is late the first plan found will
/// do. Without `until` the same predictor and pins give the same plans.
class FittingPlans {
 public:
  /// Both must outlive it.
  FittingPlans(const Predictor& predictor, const SearchSettings& settings);

  /// Whether the relaxation proves that no plan fits.
  [[nodiscard]] bool are_none() const { return rounds_.empty(); }

  /// A plan that fits: the usual one, else the fastest of little memory. None where no sketch fits,
  /// which proves nothing. Its step is predicted, that of a plan with many tasks coarsely.
  [[nodiscard]] std::optional<TimedPlan> any() const;

  /// The fastest plan sketched with usual buffers for the most promising numbers of rounds.
  [[nodiscard]] std::optional<TimedPlan> usual_one() const;

  /// Plans of little memory that fit, of several numbers of rounds, fastest first: for memories
  /// that are nearly full.
  [[nodiscard]] std::vector<TimedPlan> plans_of_little_memory() const;

  /// A plan that takes about the least of `tier` (hbm or host) and fits the other as it is; none
  /// where no sketch does.
  [[nodiscard]] std::optional<TimedPlan> plan_of_least_memory(Tier tier) const;

 private:
  /// Memory of both tiers that a sketch may use.
  struct Room {
    Bytes hbm, host;
  };
  [[nodiscard]] Room all_room() const {
    return {predictor_.machine().hbm, predictor_.machine().host};
  }
  [[nodiscard]] RelaxedNode node_in(std::int64_t rounds, const Room& room) const;
  /// Numbers of rounds that the relaxation does not refuse there, by bound.
  [[nodiscard]] std::vector<std::int64_t> rounds_in(const Room& room) const;
  [[nodiscard]] static Room with(Room room, Tier tier, Bytes bytes);
  [[nodiscard]] static bool is_within(const TimedPlan& plan, const Room& limit);
  [[nodiscard]] Bytes least(Tier tier, std::int64_t rounds, const Room& other) const;
  [[nodiscard]] Plan usual_plan(std::int64_t buffers) const;
  [[nodiscard]] std::optional<TimedPlan> near(const RelaxedNode& node, const Room& limit,
                                              std::int64_t buffers) const;
  [[nodiscard]] std::optional<TimedPlan> sketch(std::int64_t rounds, std::int64_t buffers) const;
  [[nodiscard]] std::optional<TimedPlan> guided() const;
  [[nodiscard]] std::optional<TimedPlan> plan_of_little_memory(Tier tier,
                                                               std::int64_t rounds) const;
  [[nodiscard]] bool is_costly(const Plan& plan) const;
  void lay_out_few(TimedPlan& found) const;
  void time(TimedPlan& found) const;
  void predict(TimedPlan& found) const;
  [[nodiscard]] CoarseStep of_few_rounds(const Plan& plan, std::int64_t rounds) const;
  [[nodiscard]] Memory memory_of_few(const Plan& plan) const;
  [[nodiscard]] Memory memory_at_most(const Plan& plan) const;
  [[nodiscard]] bool really_fits(TimedPlan& found) const;

  const Predictor& predictor_;
  const SearchSettings& settings_;
  PlanRelaxation relaxation_;
  PlanEstimator estimator_;
  CoarseSteps steps_;
  std::vector<std::int64_t> rounds_;
};

}  // namespace sluice::planner

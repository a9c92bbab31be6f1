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

/// Finds plans that fit the machine without a full search: rounds solutions of the relaxation to
/// plans (sketches) and lays these out. Of the settings it uses pins, threads, stop and until:
/// calls throw Interrupted once stop asks them to, and once `until` has passed the first plan found
/// will do. Without `until` the same predictor and pins give the same plans.
class FittingPlans {
 public:
  /// Solves the relaxation for every number of rounds. Both arguments must outlive the object.
  FittingPlans(const Predictor& predictor, const SearchSettings& settings);

  /// Whether the relaxation proves that no plan fits.
  [[nodiscard]] bool are_none() const { return rounds_.empty(); }

  /// A plan that fits: that of usual_one() or, where it finds none, the fastest of
  /// plans_of_little_memory(). None where no sketch fits, which does not prove that no plan does.
  /// Its step is predicted exactly, that of a plan with many tasks coarsely.
  [[nodiscard]] std::optional<TimedPlan> any() const;

  /// The fastest plan that fits of a few: sketches with usual buffers for the numbers of rounds
  /// with the least bounds and for the largest number, and the best plan of a guided search with
  /// little effort. None where none of them fits.
  [[nodiscard]] std::optional<TimedPlan> usual_one() const;

  /// Plans that fit and take little of the host's or of the device's memory, of several numbers of
  /// rounds, fastest first: for machines whose memory is hardly enough.
  [[nodiscard]] std::vector<TimedPlan> plans_of_little_memory() const;

  /// A plan that takes about the least of `tier` (hbm or host), whether the machine has that much
  /// or not, and fits the other tier; none where no sketch does.
  [[nodiscard]] std::optional<TimedPlan> plan_of_least_memory(Tier tier) const;

 private:
  /// Bytes of device and of host memory that a sketch may use.
  struct Room {
    Bytes hbm, host;
  };
  [[nodiscard]] Room all_room() const {
    return {predictor_.machine().hbm, predictor_.machine().host};
  }
  [[nodiscard]] RelaxedNode node_in(std::int64_t rounds, const Room& room) const;
  /// Numbers of rounds for which the relaxation does not prove that no plan fits `room`, the least
  /// bound first.
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

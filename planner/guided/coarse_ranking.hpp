// Queue and ranking of candidate plans, timed by the coarse simulator within a task budget.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "planner/effort/search_settings.hpp"
#include "planner/guided/coarse_step.hpp"
#include "planner/guided/plan_sketch.hpp"
#include "planner/predictions/plan_estimate.hpp"

namespace sluice::planner {

/// A candidate plan with its coarse step time and memory.
struct GuidedPlan {
  PlanSketch sketch;
  Plan plan;  ///< The sketch's plan with the pins.
  PlanEstimate estimate;
  Duration coarse{0};
  Bytes hbm{0}, host{0};  ///< Peaks by the coarse layout.
};

/// Gathers plans, simulates them coarsely and ranks them. The same plans in the same order give the
/// same ranking.
class CoarseRanking {
 public:
  /// `settings` must outlive it.
  CoarseRanking(const Predictor& predictor, const SearchSettings& settings);

  /// States that no plan is faster, so that a plan near this ends the search.
  void set_bound(Seconds bound) { bound_ = bound; }
  /// Lets `tasks` be simulated in all, at most the search's effort; true where the effort is more.
  bool allow(std::int64_t tasks);
  /// Tasks that may still be simulated of those allowed.
  [[nodiscard]] std::int64_t left() const { return effort_ - later_; }
  /// Tasks that may still be simulated in all.
  [[nodiscard]] std::int64_t unspent() const { return effort_; }
  /// Keeps `tasks` of what is left for later.
  void reserve(std::int64_t tasks) { floor_ = tasks; }
  /// Whether effort or time is over.
  [[nodiscard]] bool is_spent() const;
  /// Whether the best plan is so near the bound that nothing much better exists.
  [[nodiscard]] bool is_near() const;

  /// Gathers the sketch's plan if it is new and valid, may fit and may be the best.
  void add(PlanSketch sketch);
  [[nodiscard]] bool is_waiting() const { return !waiting_.empty(); }
  /// Lets gathered plans of more than so many tasks go, which may come again.
  void drop_costly(std::int64_t tasks);
  /// Gathered plans that by what `from` took of the device would exceed its memory, which are then
  /// no longer gathered.
  [[nodiscard]] std::vector<GuidedPlan> take_larger(const GuidedPlan& from);
  /// Removes the gathered plans and returns them, the most promising first.
  [[nodiscard]] std::vector<GuidedPlan> take_waiting();
  void wait(std::vector<GuidedPlan> plans) { waiting_ = std::move(plans); }

  /// How many of the gathered plans a round simulates: all, or those until the best became better.
  enum class Follow { all, first };
  /// True where the best of these rounds (0: of all) became better. Nothing is gathered after it.
  bool play(Follow follow, std::int64_t rounds = 0);

  /// Simulates those of the sketches that may be worth it; returns those that fit, fastest first.
  [[nodiscard]] std::vector<GuidedPlan> try_all(std::vector<PlanSketch> sketches);
  /// Whether a plan fits by estimates and by what another that was simulated took.
  [[nodiscard]] bool would_fit(const PlanSketch& sketch, const GuidedPlan& known) const;
  /// Lets only `part` of the time that is left be used from now on.
  void use_part_of_time(double part) { until_ = settings_.until.part(part); }
  /// Whether `now` is shorter than `before` by more than coarse times can tell.
  [[nodiscard]] static bool is_better(Duration now, Duration before);

  /// Plans that fit, fastest first.
  [[nodiscard]] const std::vector<GuidedPlan>& ranked() const { return ranked_; }
  /// The fastest that fits of a number of rounds, or 0: of all. Null where none does.
  [[nodiscard]] const GuidedPlan* best(std::int64_t rounds = 0) const;
  /// The least coarse step of a number of rounds, fitting or not; Duration::max() where none was
  /// simulated.
  [[nodiscard]] Duration least(std::int64_t rounds) const;
  /// Whether sketches of that number of rounds whose embedding or head was fixed were all much
  /// slower than a plan of it that fits.
  [[nodiscard]] bool fixed_outer_units_are_slow(std::int64_t rounds) const;
  /// Plans that exceeded the device's memory since they were forgotten, or the host's alone; of
  /// those that are faster than all that fit of `rounds` (0: of all) the `most` fastest.
  [[nodiscard]] std::vector<GuidedPlan> take_misses(Tier tier, std::int64_t rounds,
                                                    std::size_t most);
  /// Device memory that the plan which exceeded it least lacked.
  [[nodiscard]] const std::optional<Bytes>& least_over() const { return least_over_; }
  /// Forgets plans that exceeded the device's memory.
  void forget_misses();
  /// The plan of a number of rounds that exceeded either memory by the least share; null where none
  /// did.
  [[nodiscard]] const GuidedPlan* nearest_miss(std::int64_t rounds) const;
  /// Memory to set aside for a sketch of the node's kind so that its plan may fit, by the one so
  /// far that exceeded the device's least; nothing where a plan of its rounds fits or none was
  /// simulated.
  [[nodiscard]] Bytes reserve_to_fit(const RelaxedNode& node) const;
  /// The least by which plans that exceeded the host took more of it than estimated.
  [[nodiscard]] Bytes more_of_host(std::int64_t rounds) const;
  [[nodiscard]] const PlanEstimator& estimator() const { return estimator_; }

 private:
  /// Tasks of the plan's coarse simulation.
  [[nodiscard]] std::int64_t tasks_of(const GuidedPlan& plan) const;
  [[nodiscard]] bool may_fit(const PlanEstimate& estimate) const;
  void simulate(const std::vector<GuidedPlan*>& batch);
  [[nodiscard]] double share_over(const GuidedPlan& plan) const;
  void note_miss(const PlanSketch& sketch, Bytes over);
  void rank(const GuidedPlan& plan);
  [[nodiscard]] Duration slowest() const;

  const Predictor& predictor_;
  const SearchSettings& settings_;
  std::int64_t effort_, later_ = 0, floor_ = 0;
  Deadline until_ = settings_.until;
  Seconds bound_{0};
  PlanEstimator estimator_;
  CoarseSteps steps_;
  std::vector<GuidedPlan> waiting_, ranked_, misses_, host_misses_;
  std::set<std::string> seen_;
  std::map<std::int64_t, Duration> least_by_rounds_, least_of_fixed_outer_units_;
  std::optional<Bytes> least_over_;
  struct NearMiss {
    Bytes over, reserve;
  };
  /// Kind of a sketch: rounds, whether embedding or head were fixed, gradients apart from records.
  using SketchKind = std::tuple<std::int64_t, bool, bool>;
  [[nodiscard]] static SketchKind kind_of(const RelaxedNode& node);
  std::map<SketchKind, NearMiss> nearest_misses_;
  std::map<std::int64_t, Bytes> more_of_host_;
  std::map<std::int64_t, GuidedPlan> nearest_plans_;
};

}  // namespace sluice::planner

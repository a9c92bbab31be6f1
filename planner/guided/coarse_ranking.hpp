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

/// A candidate plan of a guided search with its coarse step time and memory (CoarseSteps).
struct GuidedPlan {
  PlanSketch sketch;
  Plan plan;  ///< to_plan(sketch), with the fields that the user fixed (Pins) written into it.
  PlanEstimate estimate;
  Duration coarse{0};  ///< Step time by the coarse simulation; 0 before it.
  /// Peaks of device and of host memory by the coarse layout; 0 for a plan that was not laid out,
  /// because it is much slower than the best.
  Bytes hbm{0}, host{0};
};

/// Queue and ranking of candidate plans: gathers plans, simulates them coarsely within a budget of
/// tasks (the effort) and ranks those that fit. The same plans in the same order give the same
/// ranking, unless a deadline cuts it short.
class CoarseRanking {
 public:
  /// Begins with an empty queue and the whole effort of `settings`. Both arguments must outlive the
  /// object.
  CoarseRanking(const Predictor& predictor, const SearchSettings& settings);

  /// Sets the step time that no plan beats: a plan near it ends the search (is_near).
  void set_bound(Seconds bound) { bound_ = bound; }
  /// Allows `tasks` simulated tasks in all since the object was made, at most the whole effort.
  /// True where the effort is larger, so that more may be allowed later.
  bool allow(std::int64_t tasks);
  /// Number of tasks that may still be simulated of those that allow() has allowed.
  [[nodiscard]] std::int64_t left() const { return effort_ - later_; }
  /// Number of tasks of the whole effort that have not been simulated, allowed or not.
  [[nodiscard]] std::int64_t unspent() const { return effort_; }
  /// Keeps `tasks` of left() back for later: is_spent() holds once only these are left.
  void reserve(std::int64_t tasks) { floor_ = tasks; }
  /// Whether the effort is over but for what reserve() keeps back, or the deadline has passed and a
  /// plan that fits is known.
  [[nodiscard]] bool is_spent() const;
  /// Whether the best plan is so near the bound (set_bound) that nothing much better exists.
  [[nodiscard]] bool is_near() const;

  /// Puts the sketch's plan, with the pins, into the queue if it is new and valid, may fit by
  /// estimates, and its bound (PlanEstimate::bound) is below the best step so far.
  void add(PlanSketch sketch);
  [[nodiscard]] bool is_waiting() const { return !waiting_.empty(); }
  /// Removes from the queue plans whose coarse simulation has more than `tasks` tasks. They count
  /// as new when they are added again.
  void drop_costly(std::int64_t tasks);
  /// Removes from the queue and returns the plans that would exceed device memory if they took as
  /// much more than `from` as estimates say.
  [[nodiscard]] std::vector<GuidedPlan> take_larger(const GuidedPlan& from);
  /// Empties the queue and returns its plans, the least estimated step first
  /// (PlanEstimate::expected).
  [[nodiscard]] std::vector<GuidedPlan> take_waiting();
  /// Makes `plans` the queue, in place of what it held.
  void wait(std::vector<GuidedPlan> plans) { waiting_ = std::move(plans); }

  /// How far play() goes through the queue: `all` to its end, `first` only until the best plan
  /// became better. Either ends early once the effort is over or a plan is near the bound.
  enum class Follow { all, first };
  /// Simulates queued plans, the least estimated step first, and ranks those that fit; a plan whose
  /// bound is not below the best step is skipped. The queue is empty afterwards. True where the
  /// best plan of `rounds` rounds (0: of any number) became better.
  bool play(Follow follow, std::int64_t rounds = 0);

  /// Adds `sketches` to the queue and simulates the queue in one batch, as far as the effort goes.
  /// Returns those plans that fit and are not far slower than the best, fastest first.
  [[nodiscard]] std::vector<GuidedPlan> try_all(std::vector<PlanSketch> sketches);
  /// Whether the sketch's plan is valid and new, may fit by estimates, and would fit the device if
  /// it took as much more than `known` took in its simulation as estimates say.
  [[nodiscard]] bool would_fit(const PlanSketch& sketch, const GuidedPlan& known) const;
  /// Ends the search once the share `part` (0 to 1) of the time left until the deadline is over;
  /// without a deadline nothing changes.
  void use_part_of_time(double part) { until_ = settings_.until.part(part); }
  /// Whether the step `now` is shorter than `before` by more than coarse times are uncertain.
  [[nodiscard]] static bool is_better(Duration now, Duration before);

  /// Plans that fit by the coarse simulation, fastest first: at most a fixed number, and the best
  /// of each number of rounds.
  [[nodiscard]] const std::vector<GuidedPlan>& ranked() const { return ranked_; }
  /// The fastest plan of `rounds` rounds (0: of any number) that fits; null where none does.
  [[nodiscard]] const GuidedPlan* best(std::int64_t rounds = 0) const;
  /// The least coarse step of all simulated plans of `rounds` rounds, whether they fit or not;
  /// Duration::max() where none was simulated.
  [[nodiscard]] Duration least(std::int64_t rounds) const;
  /// Whether every simulated plan of `rounds` rounds whose sketch had the choice of embedding or
  /// head fixed (RelaxedNode::embed, head) was clearly slower than the best plan of `rounds` rounds
  /// that fits. False where no such plan was simulated or none fits.
  [[nodiscard]] bool fixed_outer_units_are_slow(std::int64_t rounds) const;
  /// Takes out all simulated plans that exceeded the device's memory (`tier` hbm) or the host's
  /// alone (`tier` host), and returns the `most` fastest of those that are faster than the best
  /// plan of `rounds` rounds (0: of any number) that fits.
  [[nodiscard]] std::vector<GuidedPlan> take_misses(Tier tier, std::int64_t rounds,
                                                    std::size_t most);
  /// The fewest bytes by which a plan exceeded the device's memory since the last forget_misses();
  /// none where no plan did.
  [[nodiscard]] const std::optional<Bytes>& least_over() const { return least_over_; }
  /// Forgets the plans that exceeded the device's memory, and least_over().
  void forget_misses();
  /// The simulated plan of `rounds` rounds that came nearest to fitting: for which the shares of
  /// device and of host memory that it took too much sum to the least. Null where no plan exceeded
  /// memory.
  [[nodiscard]] const GuidedPlan* nearest_miss(std::int64_t rounds) const;
  /// Bytes of the device's memory to set aside (RelaxedNode::reserve) when `node` is sketched, so
  /// that the plan may fit: what was set aside for the plan that exceeded the device least, of
  /// those with the same SketchKind, and a little more than it lacked. 0 where a plan of these
  /// rounds fits or none exceeded the device.
  [[nodiscard]] Bytes reserve_to_fit(const RelaxedNode& node) const;
  /// The least difference between what a plan of `rounds` rounds that exceeded the host took of it
  /// and its estimate (PlanEstimate::host_at_least). 0 where a plan of these rounds fits or none
  /// exceeded the host alone.
  [[nodiscard]] Bytes more_of_host(std::int64_t rounds) const;
  [[nodiscard]] const PlanEstimator& estimator() const { return estimator_; }

 private:
  /// Estimated number of tasks of the plan's coarse simulation: what it costs of the effort.
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
  /// Kind of a sketch: its number of rounds, whether the choice of embedding or head was fixed, and
  /// RelaxedNode::gradients_apart.
  using SketchKind = std::tuple<std::int64_t, bool, bool>;
  [[nodiscard]] static SketchKind kind_of(const RelaxedNode& node);
  std::map<SketchKind, NearMiss> nearest_misses_;
  std::map<std::int64_t, Bytes> more_of_host_;
  std::map<std::int64_t, GuidedPlan> nearest_plans_;
};

}  // namespace sluice::planner

// Plans near a relaxation's optimum, made better step by step: the part of a search that proves how
// far it is from the best.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "planner/coarse_step.hpp"
#include "planner/plan_sketch.hpp"
#include "planner/plan_space.hpp"
#include "planner/search.hpp"

namespace sluice::planner {

/// A plan and about how long its step takes.
struct GuidedPlan {
  PlanSketch sketch;
  Plan plan;  ///< With the pins.
  PlanEstimate estimate;
  Duration coarse{0};
  Bytes hbm{0};  ///< Peak, about.
};

class GuidedSearch {
 public:
  /// Throws Interrupted once asked to stop. `settings` must outlive it.
  GuidedSearch(const Predictor& predictor, const SearchSettings& settings);

  /// No valid plan with the pins is faster; none where the relaxation proves that none fits.
  [[nodiscard]] const std::optional<Seconds>& bound() const { return bound_; }

  /// Fastest first by coarse time, surely or perhaps fitting. Deterministic.
  [[nodiscard]] std::vector<GuidedPlan> run();

 private:
  struct Node {
    RelaxedNode node;
    RelaxedPlan relaxed;
  };
  void relax();
  [[nodiscard]] Plan usual_plan() const;
  void look_at_nodes();
  void sketch_nodes();
  [[nodiscard]] bool is_worthwhile(const Node& node) const;
  [[nodiscard]] std::int64_t few_records(const Node& node) const;
  /// Sketches and simulates plans of one number of rounds.
  void sketch_node(const Node& node);
  void add_orders();
  void add_uniform();
  /// Memory set aside: `slack` sizes of the rings, and `extra`.
  void sketch_with(const Node& node, double slack, std::int64_t activation_buffers,
                   Bytes extra = Bytes(0));
  [[nodiscard]] bool lighten_host(PlanSketch& sketch) const;
  bool improve(std::size_t rank);
  [[nodiscard]] std::vector<PlanSketch> moves(const PlanSketch& sketch, std::int64_t rounds) const;
  void add(PlanSketch sketch);
  /// Which of the plans that were added to simulate: all, or until the best became better.
  enum class Follow { all, first };
  /// True where the best became better.
  bool play(Follow follow);
  /// Effort or time is over.
  [[nodiscard]] bool is_spent() const;
  /// Nothing much better can be found.
  [[nodiscard]] bool is_near() const;
  [[nodiscard]] bool may_fit(const PlanEstimate& estimate) const;

  const Predictor& predictor_;
  const SearchSettings& settings_;
  const Pins& pins_;
  std::int64_t threads_, effort_;
  std::int64_t floor_ = 0;  ///< Of `effort_`, what later plans are to have.
  PlanEstimator estimator_;
  CoarseSteps steps_;
  PlanRelaxation relaxation_;
  std::optional<Seconds> bound_;
  std::vector<Node> nodes_;  ///< By bound.
  std::vector<GuidedPlan> waiting_, ranked_;
  std::set<std::string> seen_;
  std::map<std::int64_t, Duration> least_by_rounds_;  ///< Coarse, whether or not it fits.
  std::optional<Bytes> least_over_;  ///< What the plan that exceeded memory least lacked.
};

}  // namespace sluice::planner

// Plans near a relaxation's optimum, made better step by step: the part of a search that proves how
// far it is from the best.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <random>
#include <vector>

#include "planner/effort/search_settings.hpp"
#include "planner/guided/coarse_ranking.hpp"
#include "planner/relaxation/proven_bound.hpp"

namespace sluice::planner {

/// Where a search starts. A search ends with a plan that is the best of those near it; one from
/// another start ends elsewhere.
enum class StartFrom : std::uint8_t {
  /// Sketches assume that no pass waits for a slot of the ring of activation records.
  usual,
  /// Sketches count how long passes wait where the ring of activation records has few slots; some
  /// give each block's staged state a slot of its own.
  few_slots
};

/// A search that starts near the relaxation's optimum and goes on by small changes. Deterministic
/// but for its deadline.
class GuidedSearch {
 public:
  /// Throws Interrupted once asked to stop. `settings` must outlive it.
  GuidedSearch(const Predictor& predictor, const SearchSettings& settings,
               StartFrom start = StartFrom::usual);
  GuidedSearch(const GuidedSearch&) = delete;  // What it proves refers to its own relaxation.
  GuidedSearch& operator=(const GuidedSearch&) = delete;

  /// No valid plan with the pins is faster; none where the relaxation proves that none fits.
  [[nodiscard]] const std::optional<Seconds>& bound() const { return bound_; }

  /// Plans that by the coarse simulation fit, fastest first.
  [[nodiscard]] std::vector<GuidedPlan> run();
  /// Tasks of its effort that it did not use.
  [[nodiscard]] std::int64_t unspent() const { return ranking_.unspent(); }

 private:
  using Node = RelaxedPart;
  using Follow = CoarseRanking::Follow;
  /// Share of the best plan's time above which a bound makes sketches not worth while.
  static constexpr double kWorthwhile = 0.985;
  /// Sizes of the usual rings that sketches set aside: the least where a sketch needs no more, the
  /// second for models that nearly fit (32 B on an A100), the most for those whose layouts waste
  /// (7 B on an H200, 32 sequences).
  static constexpr double kRingSizes[] = {0.4, 0.8, 1.3, 2.2};

  void relax();
  void prove(int relaxations);
  [[nodiscard]] Plan usual_plan() const;
  void look_at_nodes();
  void sketch_nodes(bool begun_anew);
  [[nodiscard]] bool is_over() const { return ranking_.is_spent() || ranking_.is_near(); }
  [[nodiscard]] bool is_worthwhile(const Node& node) const;
  void add_orders();
  void add_orders_of(const PlanSketch& from);
  void add_threads();
  void add_uniform();

  // planner/guided/sketches.cpp: plans near the relaxation's optimum.
  [[nodiscard]] std::int64_t few_records(const Node& node) const;
  /// Sketches plans of `node`, the part of the plan space with one number of rounds, and simulates
  /// them coarsely.
  void sketch_node(const Node& node);
  /// Sketches with `slack` sizes of the rings, and `extra`, set aside.
  void sketch_with(const Node& node, double slack, std::int64_t activation_buffers,
                   Bytes extra = Bytes(0));
  void sketch_relaxed(RelaxedNode reserved, double slack, std::int64_t activation_buffers,
                      Bytes extra);
  [[nodiscard]] Bytes slots_beyond(const PlanSketch& sketch, const RelaxedNode& node,
                                   std::int64_t slots) const;
  /// Sketches with `slack` sizes of the rings of `usual`, and `extra`, set aside.
  void add_near(const PlanRelaxation& relaxation, RelaxedNode reserved, const Plan& usual,
                double slack, Bytes extra);
  [[nodiscard]] std::optional<PlanSketch> sketch_near(const PlanRelaxation& relaxation,
                                                      const RelaxedNode& node,
                                                      const Plan& usual) const;
  [[nodiscard]] bool lighten_host(PlanSketch& sketch) const;
  [[nodiscard]] std::optional<PlanSketch> smallest_records(const PlanSketch& sketch) const;
  [[nodiscard]] std::optional<PlanSketch> some_later(const PlanSketch& sketch) const;

  // planner/guided/variants.cpp: sketches with the best plan's buffers.
  [[nodiscard]] Plan with_buffers_of(const Plan& plan) const;
  void sketch_outer_units();
  void sketch_again();
  void sketch_slower(std::initializer_list<double> paces);
  void sketch_slots();
  void sketch_smaller_rings();

  // planner/guided/moves.cpp: small changes that make a sketch better.
  void climb();
  void climb_from_best();
  /// Tries the moves of a ranked plan. True where the best plan of `rounds` (0: any) became better.
  bool improve(std::size_t rank, std::int64_t rounds = 0);
  bool repair(std::int64_t rounds = 0);
  [[nodiscard]] std::vector<GuidedPlan> smaller(const GuidedPlan& miss);
  [[nodiscard]] std::optional<PlanSketch> lighter_on_host(const GuidedPlan& miss) const;
  [[nodiscard]] std::vector<PlanSketch> moves(const PlanSketch& sketch, std::int64_t rounds) const;

  // planner/guided/hops.cpp: several moves at once.
  void hop();
  [[nodiscard]] std::optional<PlanSketch> random_moves(const GuidedPlan& from, int count,
                                                       std::mt19937_64& random) const;
  /// Whether the gap is small enough to end the search.
  [[nodiscard]] bool is_near_enough() const;

  const Predictor& predictor_;
  const Pins& pins_;
  const StartFrom start_;
  PlanRelaxation relaxation_;
  CoarseRanking ranking_;
  std::optional<ProvenBound> proven_;
  std::optional<Seconds> bound_;
  std::vector<Node> nodes_;  ///< Numbers of rounds by bound, then by the best plan seen.
};

}  // namespace sluice::planner

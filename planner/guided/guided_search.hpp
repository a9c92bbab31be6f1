// Plans near a relaxation's optimum, made better step by step: the part of a search that proves how
// far it is from the best.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <random>
#include <vector>

#include "planner/guided/coarse_ranking.hpp"
#include "planner/relaxation/proven_bound.hpp"

namespace sluice::planner {

/// Where a search comes from and how it goes on: plans that it ends with are the best of those
/// near them, and another way ends elsewhere.
enum class GuidedWay : std::uint8_t {
  usual,
  /// Sketches of records that leave by as few slots as there will be, with a slot of its own for
  /// each block's staged state, too; moves of all blocks of one choice to two others.
  other
};

class GuidedSearch {
 public:
  /// Throws Interrupted once asked to stop. `settings` must outlive it.
  GuidedSearch(const Predictor& predictor, const SearchSettings& settings,
               GuidedWay way = GuidedWay::usual);
  GuidedSearch(const GuidedSearch&) = delete;  // What it proves refers to its own relaxation.
  GuidedSearch& operator=(const GuidedSearch&) = delete;

  /// No valid plan with the pins is faster; none where the relaxation proves that none fits.
  [[nodiscard]] const std::optional<Seconds>& bound() const { return bound_; }

  /// Fastest first by coarse time, surely or perhaps fitting. Deterministic.
  [[nodiscard]] std::vector<GuidedPlan> run();
  /// Tasks that it might have simulated and had no use for.
  [[nodiscard]] std::int64_t unspent() const { return ranking_.unspent(); }

 private:
  using Node = RelaxedPart;
  using Follow = CoarseRanking::Follow;
  /// What is bound to take more of the best plan's time is not worth a sketch of its own.
  static constexpr double kWorthwhile = 0.985;

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

  // planner/guided/sketches.cpp: plans near a relaxation's optimum.
  [[nodiscard]] std::int64_t few_records(const Node& node) const;
  /// Sketches and simulates plans of one number of rounds.
  void sketch_node(const Node& node);
  /// Memory set aside: `slack` sizes of the rings, and `extra`.
  void sketch_with(const Node& node, double slack, std::int64_t activation_buffers,
                   Bytes extra = Bytes(0));
  void sketch_relaxed(RelaxedNode reserved, double slack, std::int64_t activation_buffers,
                      Bytes extra);
  [[nodiscard]] Bytes slots_beyond(const PlanSketch& sketch, const RelaxedNode& node,
                                   std::int64_t slots) const;
  /// Sketched with the rings of `usual` set aside.
  void add_near(const PlanRelaxation& relaxation, RelaxedNode reserved, const Plan& usual,
                double slack, Bytes extra);
  [[nodiscard]] std::optional<PlanSketch> sketch_near(const PlanRelaxation& relaxation,
                                                      const RelaxedNode& node,
                                                      const Plan& usual) const;
  [[nodiscard]] bool lighten_host(PlanSketch& sketch) const;
  [[nodiscard]] std::optional<PlanSketch> lean_records(const PlanSketch& sketch) const;
  [[nodiscard]] std::optional<PlanSketch> some_later(const PlanSketch& sketch) const;

  // planner/guided/variants.cpp: with the best plan's buffers, or others.
  [[nodiscard]] Plan with_buffers_of(const Plan& plan) const;
  void sketch_ends();
  void sketch_rings();
  void sketch_again();
  void sketch_smaller_rings();
  void sketch_slower(std::initializer_list<double> paces);
  void sketch_slots();

  // planner/guided/moves.cpp: sketches made better.
  void climb();
  void climb_from_best();
  /// True where the best of this number of rounds, or 0: of all, became better.
  bool improve(std::size_t rank, std::int64_t rounds = 0);
  bool repair(std::int64_t rounds = 0);
  [[nodiscard]] std::vector<GuidedPlan> smaller(const GuidedPlan& miss);
  [[nodiscard]] std::optional<PlanSketch> lighter_on_host(const GuidedPlan& miss) const;
  [[nodiscard]] std::vector<PlanSketch> moves(const PlanSketch& sketch, std::int64_t rounds) const;
  [[nodiscard]] std::vector<PlanSketch> exchanges(const PlanSketch& sketch,
                                                  std::int64_t rounds) const;

  // planner/guided/hops.cpp: several moves at once.
  void hop();
  [[nodiscard]] std::optional<PlanSketch> random_moves(const GuidedPlan& from, int count,
                                                       std::mt19937_64& random) const;
  /// The gap is what ends a search.
  [[nodiscard]] bool is_near_enough() const;

  const Predictor& predictor_;
  const Pins& pins_;
  const GuidedWay way_;
  PlanRelaxation relaxation_;
  CoarseRanking ranking_;
  std::optional<ProvenBound> proven_;
  std::optional<Seconds> bound_;
  std::vector<Node> nodes_;  ///< By bound, then by the best plan seen.
};

}  // namespace sluice::planner

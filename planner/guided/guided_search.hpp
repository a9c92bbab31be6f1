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

/// How the sketches are made from which a guided search starts. A search ends at the best plan near
/// its start, so one from another start may find a better plan.
enum class StartFrom : std::uint8_t {
  /// Sketches assume that no pass waits for a device slot for activation records.
  usual,
  /// Sketches count how long passes wait for device slots for activation records where slots are
  /// few; some give each block's staged state (stages_state) a device slot of its own.
  few_slots,
  /// For the bound alone, without run(): the plan space has plans with state that passes through a
  /// ring of slots (Staging::ring), which from other starts it has only where pins leave nothing
  /// else.
  rings
};

/// A search that starts from plans near the relaxation's optimum and goes on by small changes
/// (docs/design/search.md). Deterministic but for the deadline of its settings.
class GuidedSearch {
 public:
  /// Solves the relaxation for every number of rounds and proves the first bound. Of `settings` it
  /// uses pins, effort, threads, stop and until; both references must outlive the object.
  GuidedSearch(const Predictor& predictor, const SearchSettings& settings,
               StartFrom start = StartFrom::usual);
  GuidedSearch(const GuidedSearch&) = delete;  // What it proves refers to its own relaxation.
  GuidedSearch& operator=(const GuidedSearch&) = delete;

  /// Step time that no valid plan with the pins beats; run() may raise it. None where the
  /// relaxation proves that no plan fits.
  [[nodiscard]] const std::optional<Seconds>& bound() const { return bound_; }

  /// Searches until effort or time is over, the best plan is near the bound, or nothing is left to
  /// try. Returns plans that fit by the coarse simulation: the best first, then those to predict
  /// exactly beside it, then the others, fastest first. Throws Interrupted once settings.stop asks
  /// it to.
  [[nodiscard]] std::vector<GuidedPlan> run();
  /// Number of tasks of settings.effort that run() has not simulated.
  [[nodiscard]] std::int64_t unspent() const { return ranking_.unspent(); }

 private:
  using Node = RelaxedPart;
  using Follow = CoarseRanking::Follow;
  /// Share of the best plan's coarse step: numbers of rounds with a bound above it are not
  /// sketched.
  static constexpr double kWorthwhile = 0.985;
  /// Memory that sketches set aside for rings, as multiples of what the rings of a usual plan
  /// (usual_plan) take: the least where a sketch needs no more, the second for models that nearly
  /// fit (32 B on an A100), the most for those whose layouts waste memory (7 B on an H200, 32
  /// sequences).
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
  /// Sketches plans of `node`, the part of the plan space with one number of rounds, with several
  /// amounts of memory set aside, and simulates them coarsely.
  void sketch_node(const Node& node);
  /// Adds sketches of `node` with `activation_buffers` device slots for records. Of the device's
  /// memory they set aside `slack` times what the usual plan's rings take, and `extra` bytes.
  void sketch_with(const Node& node, double slack, std::int64_t activation_buffers,
                   Bytes extra = Bytes(0));
  void sketch_relaxed(RelaxedNode reserved, double slack, std::int64_t activation_buffers,
                      Bytes extra);
  [[nodiscard]] Bytes slots_beyond(const PlanSketch& sketch, const RelaxedNode& node,
                                   std::int64_t slots) const;
  /// Adds the sketch that `relaxation` yields for `reserved` with the buffers of `usual`, after
  /// `slack` times what the rings of `usual` take, and `extra` bytes, were set aside on the device.
  /// Adds nothing where no plan has that much memory left.
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
  /// Tries the moves (single small changes) of the plan at `rank` in the ranking. True where the
  /// best plan of `rounds` rounds (0: of any number) became better.
  bool improve(std::size_t rank, std::int64_t rounds = 0);
  bool repair(std::int64_t rounds = 0);
  [[nodiscard]] std::vector<GuidedPlan> smaller(const GuidedPlan& miss);
  [[nodiscard]] std::optional<PlanSketch> lighter_on_host(const GuidedPlan& miss) const;
  [[nodiscard]] std::vector<PlanSketch> moves(const PlanSketch& sketch, std::int64_t rounds) const;

  // planner/guided/hops.cpp: several moves at once.
  void hop();
  [[nodiscard]] std::optional<PlanSketch> random_moves(const GuidedPlan& from, int count,
                                                       std::mt19937_64& random) const;
  /// Whether the gap between the best plan and the bound is small enough to end the search
  /// (kNearEnough).
  [[nodiscard]] bool is_near_enough() const;

  const Predictor& predictor_;
  const Pins& pins_;
  const StartFrom start_;
  PlanRelaxation relaxation_;
  CoarseRanking ranking_;
  std::optional<ProvenBound> proven_;
  std::optional<Seconds> bound_;
  /// One part of the plan space for each number of rounds that may fit, in the order in which they
  /// are sketched: by their bounds at first, then by the least coarse step simulated of each.
  std::vector<Node> nodes_;
};

}  // namespace sluice::planner

// Plans without their order in time: what every schedule of a plan must move, compute and hold, as
// constraints of a linear program over how many units make each choice. docs/design/relaxation.md
// states the program; the letters in comments are its symbols.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "planner/costs/contended_updates.hpp"
#include "planner/plans/pins.hpp"
#include "planner/plans/plan.hpp"
#include "planner/predictions/predict.hpp"
#include "planner/relaxation/limits.hpp"
#include "planner/relaxation/linear_program.hpp"

namespace sluice::planner {

/// A choice c of a unit, and what it uses: a_uc.
struct UnitChoice {
  UnitPlan unit;
  UseSum use{};
};

/// The least and the most slots of one kind that plans of a node have.
struct SlotRange {
  std::int64_t least = 1, most = std::numeric_limits<std::int64_t>::max();
};

/// The least and the most blocks that make a choice in plans of a node.
struct CountRange {
  double least = 0, most = std::numeric_limits<double>::infinity();
};

/// A part of the plan space: one number of rounds, perhaps fixed choices of embedding and head, few
/// slots or many, and few blocks or many of a choice.
struct RelaxedNode {
  std::int64_t rounds = 1;
  /// Indices of the choices of embedding and head, where they are fixed.
  std::optional<std::size_t> embed = std::nullopt, head = std::nullopt;
  SlotRange record_slots{};  ///< For records on their way to and from the host.
  /// Bytes of the largest record that leaves the device, and so of every slot for records; 0 where
  /// none leaves. Where it is not fixed, slots count with their mean size over blocks.
  std::optional<Bytes> largest_record = std::nullopt;
  std::vector<CountRange> records{}, residencies{};  ///< Ranges by choice of blocks; empty: any.
  /// With several rounds: slots for blocks' gradients on their way to and from the host, and blocks
  /// whose gradients live on the host, of which there are at least as many.
  SlotRange gradient_slots{}, gradient_blocks{.least = 0};
  Bytes reserve{0};       ///< Device memory that plans may not use.
  Bytes host_reserve{0};  ///< Host memory that plans may not use.
  /// For sketches of a single round: gradients may not use the host memory of records that have
  /// left it.
  bool gradients_apart = false;
  /// Whether the program has the constraints that only raise the bound; sketches made with them fit
  /// less often.
  bool proves = false;
};

/// The solution of one node's program.
struct RelaxedPlan {
  Seconds bound{0};  ///< No plan of the node is faster, as weak duality proves.
  bool feasible = true;
  /// Counts x_c of the choices of each group.
  std::vector<double> records, residencies, embeds, heads;
  double more_slots = 0;  ///< Bytes s of slots for gradients, beyond each block's share of one.
  /// Price pi_i of each constraint: its share of the bound, or seconds a byte.
  std::array<double, kLimits> prices{};
};

/// The linear program of one predictor. Immutable; safe to share between threads.
class PlanRelaxation {
 public:
  PlanRelaxation(const Predictor& predictor, const Pins& pins);

  /// Shares of their fastest rates at which links and CPU updates are taken to work.
  struct Pace {
    double h2d = 1, d2h = 1, update = 1;
  };
  /// The program of slower links and updates. It is for sketches and bounds no plan.
  [[nodiscard]] PlanRelaxation at_pace(const Pace& pace) const;

  [[nodiscard]] const std::vector<std::int64_t>& rounds() const { return rounds_; }
  /// Choices of blocks' records with so many rounds.
  [[nodiscard]] std::vector<UnitChoice> record_choices(std::int64_t rounds) const {
    return record_choices(RelaxedNode{.rounds = rounds});
  }
  /// Choices of blocks' records in plans of the node.
  [[nodiscard]] std::vector<UnitChoice> record_choices(const RelaxedNode& node) const;
  /// Bytes that a micro-batch's record keeps, by `Keep`.
  [[nodiscard]] std::array<Bytes, 3> record_bytes() const;
  /// Choices of where a unit's weights, gradients and state are and who updates it when.
  [[nodiscard]] std::vector<UnitChoice> residency_choices(std::size_t unit,
                                                          std::int64_t rounds) const;
  /// The node's program solved: its counts, prices and bound.
  [[nodiscard]] RelaxedPlan solve(const RelaxedNode& node) const;
  /// Splits `node` into nodes that together contain all its plans and none of which allows its
  /// solution `relaxed`. They differ in one thing: the choice of the embedding or head, the slots
  /// for gradients, the size or the number of slots for records, or how many blocks make a choice.
  /// Empty where nothing is left to split.
  [[nodiscard]] std::vector<RelaxedNode> split(const RelaxedNode& node,
                                               const RelaxedPlan& relaxed) const;
  /// Whether head and embedding share one gradient, which waits in one place.
  [[nodiscard]] bool tied_head() const { return predictor_->job().model.tied_head; }
  /// A time that no execution of the plan beats.
  [[nodiscard]] Seconds bound_of(const Plan& plan) const;
  /// The first constraint of memory that the plan surely violates; none where no violation is
  /// proved.
  [[nodiscard]] std::optional<Limit> exceeded(const Plan& plan) const;

 private:
  /// One constraint i: sum_u w_iu y_u + k_i + (down_i d_p + up_i u_p) + slots_i s <= its right
  /// side, which by the constraint's part is T, t_p, d_p, u_p or, for memory, 0.
  struct Constraint {
    UseSum weights{};         ///< w_iu.
    double constant = 0;      ///< k_i.
    double down = 0, up = 0;  ///< Factors of the seconds of the part's copies, d_p and u_p.
    double slots = 0;         ///< Factor of s.
  };
  using Constraints = std::array<Constraint, kLimits>;
  class Program;  // planner/relaxation/program.hpp
  /// Seconds that a lane loses of each second that lane `from` runs, at least: l(lane, from).
  struct Slowing {
    std::string from;
    double lost = 0;
  };
  [[nodiscard]] Constraints constraints(const RelaxedNode& node) const;
  /// Two nodes, with fewer and with more blocks of the choice that most lacks a whole number.
  [[nodiscard]] static std::vector<RelaxedNode> split_counts(const RelaxedNode& node,
                                                             const RelaxedPlan& relaxed);
  void allow(const Pins& pins);
  /// What all plans use: f_u.
  [[nodiscard]] UseSum base() const;
  void add_whole_step(Constraints& all, bool proves) const;
  void add_cycles(Constraints& all, std::int64_t rounds) const;
  void add_rest(Constraints& all) const;
  void add_passes(Constraints& all, std::int64_t rounds) const;
  void add_updates(Constraints& all, const RelaxedNode& node) const;
  void add_update_span(Constraints& all, const RelaxedNode& node) const;
  void add_lanes(Constraints& all) const;
  void add_copies(Constraints& all, std::int64_t rounds, Bytes reserve) const;
  [[nodiscard]] static std::vector<Slowing> slowed_updates(const ProfileCostModel& costs,
                                                           const std::vector<double>& rates);
  static void add_contention(const std::vector<SharedRates>& rates, std::vector<Slowing>& losses);
  [[nodiscard]] std::vector<Slowing> slowed(const std::string& lane) const;
  /// What CPU updates lose to each other lane: l(cpu, from). For a proof, sharing of links counts
  /// as well as interference.
  [[nodiscard]] const std::vector<Slowing>& updates_slowed(bool proves) const {
    return proves ? cpu_contended_ : cpu_slowed_;
  }
  void add_memory(Constraints& all, const RelaxedNode& node) const;
  /// Bytes of the device that no choice changes.
  struct DeviceFixed {
    double workspace = 0;    ///< Bytes of the backend's workspace.
    double always = 0;       ///< Bytes of workspace, tokens and a tied head's gradient.
    double at_loss = 0;      ///< Bytes when a loss begins, with several rounds a later one.
    double at_backward = 0;  ///< Bytes when the only round's backward pass begins.
  };
  [[nodiscard]] DeviceFixed device_fixed(std::int64_t rounds) const;
  /// Uses of a plan: y_u.
  [[nodiscard]] UseSum use_of_plan(const Plan& plan) const;
  /// The least step time T of a plan with uses `sum` and `slots` bytes of slots for gradients.
  [[nodiscard]] Seconds time_of(const UseSum& sum, const RelaxedNode& node, double slots) const;
  /// The node of plans with the same rounds and slots for gradients.
  [[nodiscard]] static RelaxedNode node_of(const Plan& plan);
  void add_gradient_slots(Constraints& all, const RelaxedNode& node) const;
  /// Splits `node` by k, its least number of slots for gradients, into three nodes: at most k
  /// blocks with gradients on the host; more blocks and exactly k slots; more blocks and more
  /// slots. Empty where that gains nothing: with one round, where k is as large as it may become,
  /// or where the solution `relaxed` has at most k such blocks or at least k + 1 slots.
  [[nodiscard]] std::vector<RelaxedNode> split_gradients(const RelaxedNode& node,
                                                         const RelaxedPlan& relaxed) const;
  /// Bytes of slots for gradients beyond each streamed block's share of one.
  [[nodiscard]] double more_slots(const Plan& plan) const;
  [[nodiscard]] UseSum record_use(const UnitPlan& unit, const RelaxedNode& node) const;
  /// The least number of slots that records of `kept` bytes of one block take at the same time.
  [[nodiscard]] std::int64_t slots_held(Bytes kept, const RelaxedNode& node) const;
  /// Bytes of the slots for records whose size the node fixes, whatever blocks choose.
  [[nodiscard]] Bytes slot_bytes(const RelaxedNode& node) const;
  void add_waits(UseSum& use, const UnitPlan& unit, std::int64_t rounds, std::int64_t slots) const;
  /// The most seconds of one block's passes of a round, forward and backward.
  [[nodiscard]] double block_passes(std::int64_t rounds) const;
  void add_chain(UseSum& use, std::size_t kind, std::int64_t rounds, double update) const;
  void add_slots(UseSum& use, const UnitPlan& placed, std::size_t kind, std::int64_t rounds) const;
  /// Uses of a residency; `kind` is 0 for the embedding, 1 for a block, 2 for the head.
  [[nodiscard]] UseSum residency_use(const UnitPlan& placed, std::size_t kind,
                                     std::int64_t rounds) const;

  const Predictor* predictor_;
  std::vector<std::int64_t> rounds_;
  /// Choices of a block's record that the pins allow: of each unit plan only `keep`, how much is
  /// kept, and `keep_tier`, where, count.
  std::vector<UnitPlan> kept_;
  std::array<std::vector<UnitPlan>, 3> placed_;  ///< Allowed residencies of embed, block, head.
  std::array<std::int64_t, 3> parameters_{};     ///< Parameters of embed, block, head.
  double h2d_rate_ = 1, d2h_rate_ = 1, update_rate_ = 1;  ///< The fastest rates H, D and A.
  double update_cores_ = 0;  ///< Core seconds of one parameter's update, at least.
  /// What CPU updates lose to each other lane by interference: l(cpu, from).
  std::vector<Slowing> cpu_slowed_;
  /// What CPU updates lose to each other lane by interference or by sharing links, for proofs.
  std::vector<Slowing> cpu_contended_;
};

}  // namespace sluice::planner

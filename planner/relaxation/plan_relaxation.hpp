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

/// The least and the most slots for something that plans of a node have.
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
  /// Bytes of the largest record that leaves, which all its slots have; 0 where none leaves.
  /// Without it slots have the blocks' mean size.
  std::optional<Bytes> largest_record = std::nullopt;
  std::vector<CountRange> records{}, residencies{};  ///< Ranges by choice of blocks; empty: any.
  /// With several rounds: slots for blocks' gradients on their way to and from the host, and how
  /// many blocks have theirs there, at least as many as there are slots.
  SlotRange gradient_slots{}, gradient_blocks{.least = 0};
  Bytes reserve{0};       ///< Device memory that is left alone.
  Bytes host_reserve{0};  ///< Host memory that is left alone.
  /// For sketches of a single round: gradients on the host do not take the place of records.
  bool gradients_apart = false;
  /// With constraints that prove more, for bounds; sketches made with them fit less often.
  bool proves = false;
};

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

  /// Shares of their fastest rates that links and CPU updates are let have.
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
  /// Nodes that together have all plans of `node` and of which none has its solution `relaxed`:
  /// with whole embeddings or heads, slots for records of one size or another, few or many, whole
  /// blocks of a choice. Empty where there is nothing to choose.
  [[nodiscard]] std::vector<RelaxedNode> split(const RelaxedNode& node,
                                               const RelaxedPlan& relaxed) const;
  /// Whether head and embedding share one gradient, which waits in one place.
  [[nodiscard]] bool tied_head() const { return predictor_->job().model.tied_head; }
  /// No execution of this plan is faster.
  [[nodiscard]] Seconds bound_of(const Plan& plan) const;
  /// The first constraint of memory that this plan surely violates.
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
  /// What other lanes cost CPU updates; in the proof sharing of memory counts, too.
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
  /// The least T of these uses, with `slots` bytes of slots for gradients.
  [[nodiscard]] Seconds time_of(const UseSum& sum, const RelaxedNode& node, double slots) const;
  /// The node of plans with the same rounds and slots for gradients.
  [[nodiscard]] static RelaxedNode node_of(const Plan& plan);
  void add_gradient_slots(Constraints& all, const RelaxedNode& node) const;
  /// Three nodes: few blocks with gradients on the host, as few slots for them as there may be, or
  /// more slots. Empty where the relaxed plan has no fewer than those.
  [[nodiscard]] std::vector<RelaxedNode> split_gradients(const RelaxedNode& node,
                                                         const RelaxedPlan& relaxed) const;
  /// Bytes of slots for gradients beyond each streamed block's share of one.
  [[nodiscard]] double more_slots(const Plan& plan) const;
  [[nodiscard]] UseSum record_use(const UnitPlan& unit, const RelaxedNode& node) const;
  /// Slots that a block's records of so many bytes have at one time, at least.
  [[nodiscard]] std::int64_t slots_held(Bytes kept, const RelaxedNode& node) const;
  /// Bytes of slots for records that are of one size whatever blocks choose.
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
  double update_cores_ = 0;             ///< Core seconds of one parameter's update, at least.
  std::vector<Slowing> cpu_slowed_;     ///< What interference costs CPU updates.
  std::vector<Slowing> cpu_contended_;  ///< What interference and sharing cost them, for proofs.
};

}  // namespace sluice::planner

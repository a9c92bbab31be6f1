// Relaxation of plans: what every schedule of a plan must move, compute and hold, as constraints of
// a linear program over how many units make each choice, without order in time.
// docs/design/relaxation.md states the program; the letters in comments are its symbols.
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

/// A choice c of a unit, and what one unit that makes it uses: amount(use, c), by Use.
struct UnitChoice {
  UnitPlan unit;
  UseSum use{};
};

/// Least and largest number of device slots of one kind that plans of a node (RelaxedNode) have.
struct SlotRange {
  std::int64_t least = 1, most = std::numeric_limits<std::int64_t>::max();
};

/// Least and largest number of blocks that make one choice in plans of a node (RelaxedNode).
struct CountRange {
  double least = 0, most = std::numeric_limits<double>::infinity();
};

/// A node of branch and bound, which is a part of the plan space: one number of rounds, perhaps
/// fixed choices of embedding and head, ranges of slots, and ranges of how many blocks make a
/// choice.
struct RelaxedNode {
  std::int64_t rounds = 1;
  /// Indices of the choices (residency_choices) of embedding and of head, where they are fixed.
  std::optional<std::size_t> embed = std::nullopt, head = std::nullopt;
  /// Number of device slots for records on their way to and from the host.
  SlotRange record_slots{};
  /// Bytes of the largest record that leaves the device, and so of every slot for records; 0 where
  /// none leaves. Where it is not fixed, slots count with their mean size over blocks.
  std::optional<Bytes> largest_record = std::nullopt;
  /// How many blocks may make each choice, by index in record_choices() and in residency_choices();
  /// empty for any numbers.
  std::vector<CountRange> records{}, residencies{};
  /// With several rounds: number of device slots for blocks' gradients on their way to and from the
  /// host, and number of blocks whose gradients live on the host, which is at least the number of
  /// slots.
  SlotRange gradient_slots{}, gradient_blocks{.least = 0};
  /// Number of the device's slots for blocks' state that rotates (rotates_state), where it is
  /// fixed.
  std::optional<std::int64_t> state_slots = std::nullopt;
  /// Bytes of device memory that the node's linear program leaves unused, for what it does not
  /// count (rings, layout).
  Bytes reserve{0};
  /// Bytes of host memory that the node's linear program leaves unused, for what it does not count
  /// (layout).
  Bytes host_reserve{0};
  /// For sketches of a single round: whether gradients may not use the host memory of records that
  /// have left it.
  bool gradients_apart = false;
  /// Whether the node's linear program is to prove a bound: it then has further constraints that
  /// only raise it, with which sketches fit less often.
  bool proves = false;
};

/// The solution of one node's linear program: how many units make each choice, and a bound.
struct RelaxedPlan {
  Seconds bound{0};  ///< Time of a step that no plan of the node beats, as weak duality proves.
  /// False where it is proved that no plan of the node fits; all else is then empty.
  bool feasible = true;
  /// Numbers x_c of units that make each choice, by index of the choice, for blocks' records,
  /// blocks' residencies, embedding and head.
  std::vector<double> records, residencies, embeds, heads;
  /// Bytes s of device slots for gradients, beyond each block's share of one slot.
  double more_slots = 0;
  /// Price pi_i of each constraint i: its share of the bound for a constraint of time, seconds per
  /// byte for one of memory.
  std::array<double, kLimits> prices{};
};

/// The linear program over the plans of one predictor's job and machine. Immutable; safe to share
/// between threads.
class PlanRelaxation {
 public:
  PlanRelaxation(const Predictor& predictor, const Pins& pins);

  /// Shares (0 to 1) of their fastest rates at which copies and CPU updates are taken to work.
  struct Pace {
    double h2d = 1, d2h = 1, update = 1;
  };
  /// The same program with copies and CPU updates at `pace`. It serves to make sketches; its bound
  /// does not hold.
  [[nodiscard]] PlanRelaxation at_pace(const Pace& pace) const;

  /// The same program without units whose state passes through a ring (Staging::ring). It serves to
  /// make sketches; its bound holds for such plans alone. Where the pins leave a unit nothing else,
  /// or Muon updates blocks, the program is unchanged.
  [[nodiscard]] PlanRelaxation without_rings() const;
  /// Whether state of any unit may pass through a ring (Staging::ring).
  [[nodiscard]] bool has_rings() const;

  /// Numbers of rounds that the job and the pins allow.
  [[nodiscard]] const std::vector<std::int64_t>& rounds() const { return rounds_; }
  /// Choices of a block's records (how much is kept, and where) in plans of `rounds` rounds.
  [[nodiscard]] std::vector<UnitChoice> record_choices(std::int64_t rounds) const {
    return record_choices(RelaxedNode{.rounds = rounds});
  }
  /// Choices of a block's records (how much is kept, and where) in plans of the node.
  [[nodiscard]] std::vector<UnitChoice> record_choices(const RelaxedNode& node) const;
  /// Bytes that one micro-batch's record keeps of a block, for Keep::input, selective and all.
  [[nodiscard]] std::array<Bytes, 3> record_bytes() const;
  /// Choices for a unit of where weights, gradients and state live and who updates them when, in
  /// plans of `rounds` rounds.
  [[nodiscard]] std::vector<UnitChoice> residency_choices(std::size_t unit,
                                                          std::int64_t rounds) const;
  /// Solves the node's program: numbers of units by choice, prices and bound.
  [[nodiscard]] RelaxedPlan solve(const RelaxedNode& node) const;
  /// Splits `node` into nodes that together contain all its plans and none of which allows its
  /// solution `relaxed`. They differ in one thing: the choice of the embedding or head, the slots
  /// for gradients, the size or the number of slots for records, or how many blocks make a choice.
  /// Empty where nothing is left to split.
  [[nodiscard]] std::vector<RelaxedNode> split(const RelaxedNode& node,
                                               const RelaxedPlan& relaxed) const;
  /// Whether head and embedding share one gradient, which waits in one place.
  [[nodiscard]] bool tied_head() const { return predictor_->part().model.tied_head; }
  /// Time of a step that no execution of `plan` beats.
  [[nodiscard]] Seconds bound_of(const Plan& plan) const;
  /// The first constraint of memory that `plan` surely violates; none where no violation is proved.
  [[nodiscard]] std::optional<Limit> exceeded(const Plan& plan) const;

 private:
  /// One constraint i: the sum over uses of weight(i, use) y(use), and constant_i + slots_i s +
  /// down_i down_p + up_i up_p, are together at most the right side, which is T, t_p, down_p or
  /// up_p by the constraint's part p, or 0 for memory.
  struct Constraint {
    /// weight(i, use): factor of the sum of each use, in seconds (for memory, bytes) per unit.
    UseSum weights{};
    double constant = 0;  ///< constant_i: seconds, or for memory bytes, that no choice changes.
    /// down_i and up_i: factors of down_p and up_p, the seconds of the part's copies to and from
    /// the device.
    double down = 0, up = 0;
    double slots = 0;  ///< slots_i: factor of s, the bytes of slots for gradients.
  };
  using Constraints = std::array<Constraint, kLimits>;
  class Program;  // Defined in planner/relaxation/program.hpp.
  /// Share of each second that lane `from` runs which a lane surely loses to it: lost(lane, from).
  struct Slowing {
    LaneKind from;
    double lost = 0;
  };
  /// All constraints of the node's program.
  [[nodiscard]] Constraints constraints(const RelaxedNode& node) const;
  /// Splits `node` into two: fewer and more blocks that make the choice whose count in `relaxed` is
  /// farthest from a whole number.
  [[nodiscard]] static std::vector<RelaxedNode> split_counts(const RelaxedNode& node,
                                                             const RelaxedPlan& relaxed);
  void allow(const Pins& pins);
  /// Uses that all plans share whatever they choose: base(use), by Use.
  [[nodiscard]] UseSum base() const;
  void add_whole_step(Constraints& all, bool proves) const;
  void add_cycles(Constraints& all, std::int64_t rounds) const;
  void add_rest(Constraints& all) const;
  void add_passes(Constraints& all, std::int64_t rounds) const;
  void add_updates(Constraints& all, const RelaxedNode& node) const;
  void add_update_span(Constraints& all, const RelaxedNode& node) const;
  void add_ring_chain(Constraints& all, const RelaxedNode& node) const;
  void add_lanes(Constraints& all) const;
  void add_copies(Constraints& all, std::int64_t rounds, Bytes reserve) const;
  [[nodiscard]] static std::vector<Slowing> slowed_updates(const ProfileCostModel& costs,
                                                           const std::vector<double>& rates);
  static void add_contention(const std::vector<SharedRates>& rates, std::vector<Slowing>& losses);
  [[nodiscard]] std::vector<Slowing> slowed(LaneKind lane) const;
  /// Losses of CPU updates to each other lane: lost(cpu, from). For a proof they count sharing of
  /// links as well as interference.
  [[nodiscard]] const std::vector<Slowing>& updates_slowed(bool proves) const {
    return proves ? cpu_contended_ : cpu_slowed_;
  }
  void add_memory(Constraints& all, const RelaxedNode& node) const;
  /// Bytes on the device that no choice changes, at several times of a step.
  struct DeviceFixed {
    double workspace = 0;  ///< Bytes of scratch of compute tasks.
    /// Bytes on the device at any time that no choice changes: workspace, tokens, what lies outside
    /// the arena, and a tied head's gradient.
    double always = 0;
    /// Bytes on the device that no choice changes when a loss begins; with several rounds, when a
    /// later round's loss begins.
    double at_loss = 0;
    /// With one round: bytes on the device that no choice changes when the backward pass begins.
    double at_backward = 0;
  };
  [[nodiscard]] DeviceFixed device_fixed(std::int64_t rounds) const;
  /// With several rounds: number of sums of later groups of micro-batches that wait beside each
  /// gradient at one loss, the second of two, else that of the last round but one.
  [[nodiscard]] std::int64_t sums_at_loss(std::int64_t rounds) const;
  /// The sums y(use) of docs/design/relaxation.md for `plan`, in the unit of each Use: what every
  /// plan uses (base(use)) and what the choices of its units add.
  [[nodiscard]] UseSum use_of_plan(const Plan& plan) const;
  /// The least step time T of plans in `node` whose uses are `sum` and which have `slots` bytes of
  /// slots for gradients (s).
  [[nodiscard]] Seconds time_of(const UseSum& sum, const RelaxedNode& node, double slots) const;
  /// The node of all plans with the rounds, gradient slots and number of streamed gradients of
  /// `plan`.
  [[nodiscard]] static RelaxedNode node_of(const Plan& plan);
  void add_gradient_slots(Constraints& all, const RelaxedNode& node) const;
  /// Splits `node` by k, its least number of slots for gradients, into three nodes: at most k
  /// blocks have their gradients on the host; more than k, and exactly k slots; more than k, and
  /// more than k slots. Empty where that gains nothing: with one round, where k is as large as it
  /// may become, or where the solution `relaxed` has at most k such blocks or at least k + 1 slots.
  [[nodiscard]] std::vector<RelaxedNode> split_gradients(const RelaxedNode& node,
                                                         const RelaxedPlan& relaxed) const;
  /// Bytes of the plan's device slots for gradients, less a share (slot / number of blocks) for
  /// each block whose gradients stream: s.
  [[nodiscard]] double more_slots(const Plan& plan) const;
  /// What one block's records use with `keep` and `keep_tier` as in `unit`.
  [[nodiscard]] UseSum record_use(const UnitPlan& unit, const RelaxedNode& node) const;
  /// Least number of slots that the records of one block take at the same time, each record with
  /// `kept` bytes.
  [[nodiscard]] std::int64_t slots_held(Bytes kept, const RelaxedNode& node) const;
  /// Bytes of all slots for records where the node fixes the size of the largest record that
  /// leaves; else 0.
  [[nodiscard]] Bytes slot_bytes(const RelaxedNode& node) const;
  void add_waits(UseSum& use, const UnitPlan& unit, std::int64_t rounds, std::int64_t slots) const;
  /// Most seconds that one block's passes of a round take, forward and backward, with any
  /// recomputation.
  [[nodiscard]] double block_passes(std::int64_t rounds) const;
  void add_chain(UseSum& use, std::size_t kind, std::int64_t rounds, double update) const;
  void add_slots(UseSum& use, const UnitPlan& placed, std::size_t kind, std::int64_t rounds) const;
  /// Uses of one unit with the choices `placed`, records aside; `kind` is 0 for the embedding, 1
  /// for a block, 2 for the head.
  [[nodiscard]] UseSum residency_use(const UnitPlan& placed, std::size_t kind,
                                     std::int64_t rounds) const;
  [[nodiscard]] double exchange_seconds(std::int64_t slice, double fastest) const;
  /// Sets the least times of collectives, with several ranks.
  void time_collectives();

  /// Parameters of a unit that one load of its weights brings to a rank: its slice, or, where ranks
  /// pull weights (Gather::host), all.
  [[nodiscard]] double loaded(std::size_t kind) const {
    return static_cast<double>(pulls_ ? parameters_[kind] : slices_[kind]);
  }

  const Predictor* predictor_;
  bool pulls_ = false;  ///< Whether the pins let ranks pull weights whose home is host memory.
  std::vector<std::int64_t> rounds_;
  /// Choices of a block's records that the pins allow; only `keep` and `keep_tier` of each have a
  /// meaning.
  std::vector<UnitPlan> kept_;
  /// Allowed choices of where weights, gradients and state live and who updates them, for
  /// embedding, block and head.
  std::array<std::vector<UnitPlan>, 3> placed_;
  /// Number of parameters, padding included, of embedding, block and head; and of a rank's slice of
  /// each.
  std::array<std::int64_t, 3> parameters_{}, slices_{};
  std::array<std::int64_t, 3> second_{};  ///< Number of second moments v of each.
  /// With several ranks, of embedding, block and head: least seconds in which a rank gathers the
  /// weights, and in which it receives the other ranks' sums of its slice of the gradient.
  std::array<double, 3> gathers_{}, exchanges_{};
  /// What one rank has of the host's memory traffic, in bytes/s, and of its cores; 0 where the
  /// machine states none.
  double dram_ = 0, cores_ = 0;
  /// The fastest rates: H and D, in bytes/s of copies to and from the device, and A, in
  /// parameters/s of CPU updates.
  double h2d_rate_ = 1, d2h_rate_ = 1, update_rate_ = 1;
  double update_cores_ = 0;  ///< Least core-seconds that a CPU update takes per parameter.
  /// lost(cpu, from) by interference, an entry for each lane `from` that slows CPU updates: what
  /// they surely lose of each second that the lane runs.
  std::vector<Slowing> cpu_slowed_;
  /// lost(cpu, from) by interference or by sharing of links, whichever is more, an entry for each
  /// lane `from`. For proofs.
  std::vector<Slowing> cpu_contended_;
};

}  // namespace sluice::planner

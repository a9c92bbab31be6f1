// Plans without their order in time: what every schedule of a plan must move, compute and hold,
// as rows of a linear program over how many units make each choice. docs/design/search.md derives
// the rows.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "planner/costs/contended_updates.hpp"
#include "planner/plans/plan.hpp"
#include "planner/predictions/predict.hpp"
#include "planner/relaxation/limits.hpp"
#include "planner/relaxation/linear_program.hpp"

namespace sluice::planner {

/// One way to treat a unit, and what that uses.
struct UnitChoice {
  UnitPlan unit;
  UseSum use{};
};

/// How many slots for something plans have.
struct SlotRange {
  std::int64_t least = 1, most = std::numeric_limits<std::int64_t>::max();
};

/// How many blocks make a choice.
struct CountRange {
  double least = 0, most = std::numeric_limits<double>::infinity();
};

/// A plan space cut down: one number of rounds, perhaps fixed choices of embedding and head, few
/// slots or many, and few blocks or many of a choice.
struct RelaxedNode {
  std::int64_t rounds = 1;
  std::optional<std::size_t> embed = std::nullopt, head = std::nullopt;  ///< Index of the choice.
  SlotRange record_slots{};  ///< For records on their way to and from the host.
  /// What the largest of those holds, and a slot with it: 0 where none leaves. Otherwise slots are
  /// of the blocks' mean size.
  std::optional<Bytes> largest_record = std::nullopt;
  std::vector<CountRange> records{}, residencies{};  ///< By choice of blocks; empty: any.
  /// Of several rounds: slots for blocks' gradients on their way to and from the host, and how many
  /// blocks have theirs there, which are as many as slots at least.
  SlotRange gradient_slots{}, gradient_blocks{.least = 0};
  Bytes reserve{0};       ///< Device memory that is left alone,
  Bytes host_reserve{0};  ///< and the host's.
  /// Also of a single round, gradients on the host do not take the place of records: for sketches.
  bool gradients_apart = false;
  /// Also with rows that prove more, for bounds: sketches made with them fit less often.
  bool proves = false;
};

struct RelaxedPlan {
  Seconds bound{0};  ///< No plan of the node is faster: checked by weak duality.
  bool feasible = true;
  /// Counts by choice: of `records`, `residencies`, `embeds`, `heads`.
  std::vector<double> records, residencies, embeds, heads;
  double more_slots = 0;  ///< Bytes of slots for gradients, beyond each block's share of one.
  /// Of each row: its share of the bound (of a part: as often as a step has it), or s a byte.
  std::array<double, kLimits> prices{};
};

/// Writes what is fixed into a plan.
using PlanPins = std::function<void(Plan&)>;

/// The linear program of one predictor. Immutable; safe to share between threads.
class PlanRelaxation {
 public:
  PlanRelaxation(const Predictor& predictor, const PlanPins& pins);

  /// Parts of their fastest rates that links and CPU updates are let have.
  struct Pace {
    double h2d = 1, d2h = 1, update = 1;
  };
  /// For sketches: what it says bounds no plan.
  [[nodiscard]] PlanRelaxation at_pace(const Pace& pace) const;

  [[nodiscard]] const std::vector<std::int64_t>& rounds() const { return rounds_; }
  /// Choices for a node's number of rounds.
  [[nodiscard]] std::vector<UnitChoice> record_choices(std::int64_t rounds) const {
    return record_choices(RelaxedNode{.rounds = rounds});
  }
  [[nodiscard]] std::vector<UnitChoice> record_choices(const RelaxedNode& node) const;
  /// Of a micro-batch's record, by `Keep`.
  [[nodiscard]] std::array<Bytes, 3> record_bytes() const;
  [[nodiscard]] std::vector<UnitChoice> residency_choices(std::size_t unit,
                                                          std::int64_t rounds) const;
  [[nodiscard]] RelaxedPlan solve(const RelaxedNode& node) const;
  /// Nodes that are all plans of `node` together and of which none has `relaxed`, its solution,
  /// for theirs: with whole embeddings or heads, slots for records of one size or another, few or
  /// many, whole blocks of a choice. None where there is nothing to choose.
  [[nodiscard]] std::vector<RelaxedNode> split(const RelaxedNode& node,
                                               const RelaxedPlan& relaxed) const;
  /// Head and embedding share one gradient, which waits in one place.
  [[nodiscard]] bool tied_head() const { return predictor_->job().model.tied_head; }
  /// No execution of this plan is faster.
  [[nodiscard]] Seconds bound_of(const Plan& plan) const;
  /// The first limit of memory that this plan surely exceeds.
  [[nodiscard]] std::optional<Limit> exceeded(const Plan& plan) const;

 private:
  struct Row {
    UseSum weights{};
    double constant = 0;
    double down = 0, up = 0;  ///< Of each second of the part's copies.
    double slots = 0;         ///< Of each byte of slots for gradients beyond the first.
  };
  using Rows = std::array<Row, kLimits>;
  class Program;  // planner/relaxation/program.hpp
  /// Seconds that a lane loses of each second that another one runs, at least.
  struct Slowing {
    std::string from;
    double lost = 0;
  };
  [[nodiscard]] Rows rows(const RelaxedNode& node) const;
  /// With fewer and with more blocks of the choice that most lacks a whole number of them.
  [[nodiscard]] static std::vector<RelaxedNode> split_counts(const RelaxedNode& node,
                                                             const RelaxedPlan& relaxed);
  void allow(const PlanPins& pins);
  [[nodiscard]] UseSum base() const;
  void add_whole_rows(Rows& all, bool proves) const;
  void add_cycles(Rows& all, std::int64_t rounds) const;
  void add_rest(Rows& all) const;
  void add_passes(Rows& all, std::int64_t rounds) const;
  void add_updates(Rows& all, const RelaxedNode& node) const;
  void add_turn(Rows& all, const RelaxedNode& node) const;
  void add_lanes(Rows& all) const;
  void add_copies(Rows& all, std::int64_t rounds, Bytes reserve) const;
  [[nodiscard]] static std::vector<Slowing> slowed_updates(const ProfileCostModel& costs,
                                                           const std::vector<double>& rates);
  static void add_contention(const std::vector<SharedRates>& rates, std::vector<Slowing>& losses);
  [[nodiscard]] std::vector<Slowing> slowed(const std::string& lane) const;
  /// Of CPU updates.
  [[nodiscard]] const std::vector<Slowing>& updates_slowed(bool proves) const {
    return proves ? cpu_contended_ : cpu_slowed_;
  }
  void add_memory_rows(Rows& all, const RelaxedNode& node) const;
  /// Bytes of the device that no choice changes.
  struct DeviceFixed {
    double workspace = 0;
    double always = 0;       ///< Workspace, tokens and a tied head's gradient.
    double at_loss = 0;      ///< When a loss begins; of several rounds a later one.
    double at_backward = 0;  ///< When the only round's backward pass begins.
  };
  [[nodiscard]] DeviceFixed device_fixed(std::int64_t rounds) const;
  [[nodiscard]] UseSum use_of_plan(const Plan& plan) const;
  [[nodiscard]] Seconds time_of(const UseSum& sum, const RelaxedNode& node, double slots) const;
  /// Of its rounds and its slots for gradients.
  [[nodiscard]] static RelaxedNode node_of(const Plan& plan);
  void add_gradient_slots(Rows& all, const RelaxedNode& node) const;
  /// With few blocks whose gradients are on the host, as few slots for them as there may be, or
  /// more; none where the relaxed plan has no fewer than those.
  [[nodiscard]] std::vector<RelaxedNode> split_gradients(const RelaxedNode& node,
                                                         const RelaxedPlan& relaxed) const;
  /// Bytes of slots for gradients beyond each streamed block's share of one.
  [[nodiscard]] double more_slots(const Plan& plan) const;
  /// `kind`: 0 embedding, 1 block, 2 head.
  [[nodiscard]] UseSum record_use(const UnitPlan& unit, const RelaxedNode& node) const;
  /// How many of at least `slots` slots records that hold so much have at one time.
  [[nodiscard]] std::int64_t slots_held(Bytes kept, const RelaxedNode& node) const;
  /// Of slots for records that are of one size whatever blocks choose.
  [[nodiscard]] Bytes slot_bytes(const RelaxedNode& node) const;
  void add_waits(UseSum& use, const UnitPlan& unit, std::int64_t rounds, std::int64_t slots) const;
  /// Seconds of one block's passes of a round, forward and backward, at most.
  [[nodiscard]] double block_passes(std::int64_t rounds) const;
  void add_chain(UseSum& use, std::size_t kind, std::int64_t rounds, double update) const;
  void add_slots(UseSum& use, const UnitPlan& placed, std::size_t kind, std::int64_t rounds) const;
  [[nodiscard]] UseSum residency_use(const UnitPlan& placed, std::size_t kind,
                                     std::int64_t rounds) const;

  const Predictor* predictor_;
  std::vector<std::int64_t> rounds_;
  std::vector<UnitPlan> kept_;                            ///< Allowed keep levels and tiers.
  std::array<std::vector<UnitPlan>, 3> placed_;           ///< Allowed for embed, block, head.
  std::array<std::int64_t, 3> parameters_{};              ///< Of embed, block, head.
  double h2d_rate_ = 1, d2h_rate_ = 1, update_rate_ = 1;  ///< The fastest there are.
  double update_cores_ = 0;
  std::vector<Slowing> cpu_slowed_;     ///< By interference,
  std::vector<Slowing> cpu_contended_;  ///< and by what is shared: for proofs.
};

}  // namespace sluice::planner

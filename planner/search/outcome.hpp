// Outcomes of a search: a plan with how far from the best it can be, or what memory lacks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/predictions/predict.hpp"

namespace sluice::planner {

/// The plan that a search chose, with how far it can be from the best.
struct Planned {
  PredictedStep best;
  /// Decimal logarithm of the number of plans in the plan space (space_log10).
  double space_log10 = 0;
  /// Number of different plans that were looked at for an exact prediction, simulated or not.
  std::int64_t considered = 0;
  std::int64_t simulated = 0;  ///< Number of plans that were simulated exactly and fit.
  /// (best - bound) / best, 0 to 1: a plan that is so much faster may exist, but no faster one.
  double optimality_gap = 0;
  /// Step time that no plan of the space (with the pins) beats; where `leaves_rings_out`, none
  /// whose state does not pass through a ring (Staging::ring).
  Seconds bound{0};
  /// Step time that no plan beats, without what whole simulations prove: as `bound`, but for a
  /// small space of which all plans were tried only by each plan's constraints and chains.
  Seconds relaxed_bound{0};
  /// Whether the space has plans whose state passes through a ring and the search tried none of
  /// them: bounds and gap are then of the others.
  bool leaves_rings_out = false;
  /// Step of the best plan found whose ranks get weights in the other way (Plan::gather), where
  /// both were searched.
  std::optional<Duration> other_gather = {};
};

/// A change of the request with which a plan fits.
struct Remedy {
  std::string what;  ///< The change in words: "micro_batch 2 instead of 4".
  /// The change as the command line takes it: "micro_batch=2", "--hbm 25GiB".
  std::string setting;
  bool changes_bits = false;  ///< Whether the change makes another job, with other results.
  Duration step{0};           ///< Predicted step of a plan that fits after the change.
};

/// Facts of a run that hold for all its plans, for a refusal that has no prediction to state them.
struct KnownOfRun {
  std::int64_t parameters = 0;
  Bound bound;  ///< The job's bound on a machine with the memory that the leanest plan takes.
  std::string job_hash, profile_hash, cost_model_hash;
  /// Numerics id that runs are expected to state (Prediction::numerics_id).
  std::string numerics_id;
};

/// Outcome of a search in which no plan fits: the memory that is short, and remedies.
struct Infeasible {
  Tier tier = Tier::hbm;
  Bytes short_by{0};  ///< Bytes of `tier` that the plan nearest to fitting lacks.
  Memory memory;      ///< Memory that the plan nearest to fitting takes.
  /// At most three changes, each with a plan that fits; empty where nobody looked for them.
  std::vector<Remedy> remedies;
  std::optional<KnownOfRun> known = {};  ///< Facts of the run; only choose_plan() fills them in.
};

}  // namespace sluice::planner

// Outcomes of a search: a plan with how far from the best it can be, or what memory lacks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/predictions/predict.hpp"

namespace sluice::planner {

/// The plan that a search chose.
struct Planned {
  PredictedStep best;
  double space_log10 = 0;
  std::int64_t considered = 0;  ///< Plans that might have been predicted exactly.
  std::int64_t simulated = 0;
  /// (best - bound) / best.
  double optimality_gap = 0;
  Seconds bound{0};          ///< No plan of the space (with the pins) is faster.
  Seconds relaxed_bound{0};  ///< The bound before anything was simulated.
};

/// A change of the request after which it fits.
struct Remedy {
  std::string what;           ///< "micro_batch 2 instead of 4".
  std::string setting;        ///< As the command line takes it: "micro_batch=2", "--hbm 25GiB".
  bool changes_bits = false;  ///< The job becomes another one.
  Duration step{0};           ///< Predicted step after the change.
};

/// Facts of a run that hold for all its plans.
struct KnownOfRun {
  std::int64_t parameters = 0;
  Bound bound;  ///< The job's bound on a machine with the memory that the leanest plan takes.
  std::string job_hash, profile_hash, cost_model_hash;
  std::string numerics_id;  ///< As in Prediction.
};

/// Outcome of a search in which no plan fits: the memory that is short, and remedies.
struct Infeasible {
  Tier tier = Tier::hbm;
  Bytes short_by{0};                     ///< Bytes of `tier` that the plan of least memory lacks.
  Memory memory;                         ///< Memory that the plan of least memory takes.
  std::vector<Remedy> remedies;          ///< At most three, each verified to fit.
  std::optional<KnownOfRun> known = {};  ///< Filled in by choose_plan.
};

}  // namespace sluice::planner

// From a run as its owner states it to a predictor and a search: what predict, plan, buy, autotune
// and train start from.
#pragma once

#include <variant>

#include "planner/catalogue/store.hpp"
#include "planner/predictions/predict.hpp"
#include "planner/runs/run_config.hpp"
#include "planner/search/remedies.hpp"
#include "planner/search/search.hpp"

namespace sluice::planner {

struct RunPlanning {
  Predictor predictor;
  Calibration calibration;  ///< Of this machine, adapted to `set machine.` values.
  SearchSettings search;    ///< With the run's pins.
};

/// Finds model, machine and calibration of a run; without the terms that it turns off. Throws
/// BadRequest.
[[nodiscard]] RunPlanning planning_of(const RunConfig& config,
                                      const Store& store = Store::of_user());

/// The same predictor without the terms that are off in `terms`: what `sluice predict` and an
/// ablation say of a plan that was chosen with all of them.
[[nodiscard]] Predictor with_terms(const RunPlanning& run, const CostSwitches& terms);

/// The plan of the run's plan file, else of its policy, with its pins, where it names one. Throws
/// BadRequest when it is for another job.
[[nodiscard]] std::optional<Plan> given_plan(const RunConfig& config, const Job& job);

/// The machine of a run as it was probed: without `set machine.` values and limits of its copies.
[[nodiscard]] ResolvedMachine as_probed(RunConfig config);

/// Calibration of one machine for a copy of it with other numbers: times of copies, updates,
/// launches and compute scale with the profile's facts about them.
[[nodiscard]] Calibration rescaled(const Calibration& calibration, const MachineProfile& measured,
                                   const MachineProfile& changed);

}  // namespace sluice::planner

// A run resolved into policy, machine, job and costs, from which predict, plan, buy, autotune and
// train start.
#pragma once

#include <optional>

#include "planner/catalogue/store.hpp"
#include "planner/costs/rescaled_calibration.hpp"
#include "planner/effort/search_settings.hpp"
#include "planner/policies/policy.hpp"
#include "planner/predictions/predict.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::planner {

/// A run resolved to its policy, machine, job and costs; everything that predicts or plans starts
/// from one.
struct Request {
  RunConfig config;              ///< The run as the user stated it.
  Store store;                   ///< Folder in which the user's calibrations and plans are kept.
  std::optional<Policy> policy;  ///< The run's policy; none where it names none.
  /// Predictor of the run's job on its machine, without the terms of the model of time that the run
  /// turns off.
  Predictor predictor;
  /// The machine's calibration, converted for the run's `set machine.` values.
  Calibration calibration;
  SearchSettings search;  ///< Settings for a search of the run's plan, with the run's pins.

  [[nodiscard]] const Job& job() const { return predictor.job(); }
  [[nodiscard]] const ResolvedMachine& machine() const { return predictor.machine(); }

  /// Resolves `changed`, a variation of this run, with the same store. The policy's file is read
  /// only where it is another policy. Throws BadRequest.
  [[nodiscard]] Request with(RunConfig changed) const;
  /// This request with the calibration `other` in place of its own.
  [[nodiscard]] Request with_calibration(Calibration other) const;
};

/// Resolves a run: reads its policy, unless `known` is that policy, and finds model, machine and
/// calibration. Throws BadRequest.
[[nodiscard]] Request resolve(RunConfig config, Store store = Store::of_user(),
                              const std::optional<Policy>& known = std::nullopt);

/// The request's predictor without those terms of the model of time that are off in `terms`.
/// `sluice predict` and ablations predict with it plans that were chosen with all terms.
[[nodiscard]] Predictor with_terms(const Request& request, const CostSwitches& terms);

/// The machine of a run with the values that its profile has, without the run's `set machine.`
/// values and its limits of copies.
[[nodiscard]] ResolvedMachine as_probed(RunConfig config);

}  // namespace sluice::planner

// A run as its owner states it, resolved once: what predict, plan, buy, autotune and train start
// from.
#pragma once

#include <optional>

#include "planner/catalogue/store.hpp"
#include "planner/costs/rescaled_calibration.hpp"
#include "planner/effort/search_settings.hpp"
#include "planner/policies/policy.hpp"
#include "planner/predictions/predict.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::planner {

/// A run with its policy, machine, job and costs.
struct Request {
  RunConfig config;  ///< As stated.
  Store store;       ///< Where calibration and stored plans are read.
  std::optional<Policy> policy;
  Predictor predictor;      ///< Predicts without the terms that the run turns off.
  Calibration calibration;  ///< What is known of this machine, adapted to `set machine.` values.
  SearchSettings search;    ///< Keeps to the run's pins.

  [[nodiscard]] const Job& job() const { return predictor.job(); }
  [[nodiscard]] const ResolvedMachine& machine() const { return predictor.machine(); }

  /// Resolves a variation of the run: same store, and the policy is not read again where it is the
  /// same. Throws BadRequest.
  [[nodiscard]] Request with(RunConfig changed) const;
  /// The same request with other knowledge of the machine's costs.
  [[nodiscard]] Request with_calibration(Calibration other) const;
};

/// Reads the run's policy, unless `known` is the run's, and finds model, machine and calibration.
/// Throws BadRequest.
[[nodiscard]] Request resolve(RunConfig config, Store store = Store::of_user(),
                              const std::optional<Policy>& known = std::nullopt);

/// The same predictor without the terms that are off in `terms`: what `sluice predict` and an
/// ablation say of a plan that was chosen with all of them.
[[nodiscard]] Predictor with_terms(const Request& request, const CostSwitches& terms);

/// The machine of a run as it was probed: without `set machine.` values and limits of its copies.
[[nodiscard]] ResolvedMachine as_probed(RunConfig config);

}  // namespace sluice::planner

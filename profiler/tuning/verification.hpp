// Verification of predictions on plans that have never run: predicted in the ledger, then run.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "planner/requests/request.hpp"
#include "profiler/tuning/autotune.hpp"

namespace sluice::profiler {

/// Predicted and measured step of one plan that was predicted before it ever ran.
struct VerifiedPlan {
  std::string name;  ///< Name of the plan: "best depth" or "one buffer".
  planner::Plan plan;
  std::string plan_hash;
  Seconds predicted{0}, low{0}, high{0};
  planner::StepErrors errors = {};  ///< Causes of the predicted step's error.
  Seconds measured{0};              ///< Median of the measured step times.
  std::int64_t steps = 0;
  std::string ledger_line;  ///< Hash of the prediction's line in the ledger.
  [[nodiscard]] double error() const { return predicted / measured - 1; }
};

struct Verification {
  VerifiedPlan best_depth;
  VerifiedPlan one_buffer;
  /// Hashes of the plans that ran before and that the calibration was fitted to.
  std::vector<std::string> tuned;
  planner::Calibration calibration;
  /// Predicted step with one weight buffer over the predicted step at the best depth.
  [[nodiscard]] double predicted_ratio() const {
    return one_buffer.predicted / best_depth.predicted;
  }
  /// Interval of predicted_ratio().
  [[nodiscard]] planner::RatioInterval predicted_interval() const {
    return planner::ratio_interval(one_buffer.errors, best_depth.errors);
  }
  [[nodiscard]] double measured_ratio() const { return one_buffer.measured / best_depth.measured; }
  [[nodiscard]] double ratio_error() const { return predicted_ratio() / measured_ratio() - 1; }
  [[nodiscard]] bool holds(double tolerance) const;
};

struct VerificationOptions {
  std::filesystem::path ledger;
  /// Number of measured steps of each plan, over `bursts` bursts that alternate between the plans.
  std::int64_t steps = 12;
  std::int64_t bursts = 3;
  std::function<void(const std::string& line)> say;
};

/// Verifies predictions of a tuned run. Tunes further on streaming plans of other numbers of rounds
/// than those that it then verifies, so that every kind of task has been seen; picks a number of
/// rounds whose plans were never run (the one where buffering matters most), the best depth for it,
/// and the same plan with one buffer; appends both predictions to the ledger; runs the two
/// alternately; appends the measurements. Throws BadRequest where the job has fewer than three
/// numbers of rounds to choose from.
[[nodiscard]] Verification verify_prediction(const planner::Request& run, const TuneOutcome& tuned,
                                             const VerificationOptions& options);

}  // namespace sluice::profiler

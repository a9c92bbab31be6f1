// Output of `sluice autotune`: lines and tables for the terminal, and parts of its JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/explanation/free_sizes.hpp"
#include "profiler/tuning/autotune.hpp"
#include "profiler/tuning/sweep.hpp"
#include "profiler/tuning/verification.hpp"
#include "sim/json_object.hpp"

namespace sluice::cli {

/// Largest error of a prediction that counts as right: |predicted / measured - 1|.
inline constexpr double kTuneTolerance = 0.05;

[[nodiscard]] std::string iteration_head();
[[nodiscard]] std::string iteration_line(const profiler::TuneIteration& iteration);
[[nodiscard]] std::string sweep_head(const profiler::SweepCurve& curve);
[[nodiscard]] std::string sweep_line(const profiler::SweepPoint& point);
[[nodiscard]] std::string sweep_end(const profiler::SweepCurve& curve);
[[nodiscard]] std::string verification_table(const profiler::Verification& verification);

[[nodiscard]] sim::Json to_json(const profiler::TuneIteration& iteration);
[[nodiscard]] sim::Json to_json(const profiler::Verification& verification);
[[nodiscard]] sim::Json to_json(const profiler::SweepCurve& curve);

/// Result of `autotune` as JSON (docs/schemas/autotune.schema.json), without the names of the files
/// that hold it.
[[nodiscard]] sim::Json tuned_json(const profiler::TuneOutcome& outcome,
                                   const std::optional<planner::ChosenSizes>& sizes,
                                   const std::optional<profiler::Verification>& verification,
                                   const std::vector<profiler::SweepCurve>& curves);

}  // namespace sluice::cli

// Output of `sluice autotune`: lines and tables for the terminal, parts of its JSON.
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

/// A prediction counts as right if the measurement is within this share of it.
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

/// The tuned settings as JSON (docs/schemas/autotune.schema.json), without the names of the files
/// that hold them.
[[nodiscard]] sim::Json tuned_json(const profiler::TuneOutcome& outcome,
                                   const std::optional<planner::ChosenSizes>& sizes,
                                   const std::optional<profiler::Verification>& verification,
                                   const std::vector<profiler::SweepCurve>& curves);

}  // namespace sluice::cli

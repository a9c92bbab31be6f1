// The HTML page of `sluice autotune`.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "planner/requests/run_planning.hpp"
#include "profiler/report/tune_report.hpp"

namespace sluice::cli {

/// Path of the HTML page of an `autotune` run, unless another file is named.
[[nodiscard]] std::filesystem::path report_file(const planner::Store& store,
                                                const planner::Prediction& of);

/// Contents of the HTML page of an `autotune` run.
[[nodiscard]] profiler::TuneReport report_of(const planner::RunPlanning& run,
                                             const profiler::TuneOutcome& outcome,
                                             std::optional<profiler::Verification> verification,
                                             std::vector<profiler::SweepCurve> sweeps);

}  // namespace sluice::cli

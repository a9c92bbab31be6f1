// The HTML page of `sluice autotune`.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "planner/requests/request.hpp"
#include "profiler/report/tune_report.hpp"

namespace sluice::cli {

/// Default path of the HTML page of an `autotune` run, in the user's store.
[[nodiscard]] std::filesystem::path report_file(const planner::Store& store,
                                                const planner::Prediction& of);

/// Contents of the HTML page of an `autotune` run.
[[nodiscard]] profiler::TuneReport report_of(const planner::Request& run,
                                             const profiler::TuneOutcome& outcome,
                                             std::optional<profiler::Verification> verification,
                                             std::vector<profiler::SweepCurve> sweeps);

}  // namespace sluice::cli

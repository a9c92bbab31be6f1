// What the HTML page of a run shows.
#pragma once

#include "profiler/training/trained_run.hpp"
#include "profiler/report/report.hpp"

namespace sluice::cli {

[[nodiscard]] profiler::ReportData report_of(const TrainedRun& run);

}  // namespace sluice::cli

// Contents of a run's HTML page.
#pragma once

#include "cli/training/trained_run.hpp"
#include "profiler/report/report.hpp"

namespace sluice::cli {

[[nodiscard]] profiler::ReportData report_of(const TrainedRun& run);

}  // namespace sluice::cli

// Contents of a run's HTML page.
#pragma once

#include "profiler/report/report.hpp"
#include "profiler/training/trained_run.hpp"

namespace sluice::profiler {

[[nodiscard]] ReportData report_of(const TrainedRun& run);

}  // namespace sluice::profiler

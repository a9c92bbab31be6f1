// The plan of a study's run, and what it takes: searched and measured now, or as it was recorded.
#pragma once

#include <optional>
#include <vector>

#include "planner/run_planning.hpp"
#include "profiler/measured_run.hpp"
#include "profiler/study/study.hpp"

namespace sluice::profiler {

/// A run's plan, as it is predicted now.
struct PlannedRun {
  planner::PredictedStep step;
  std::vector<MeasuredRun> recorded;  ///< Where it is replayed.
};

class StudyBursts {
 public:
  /// `settings` must outlive it. `hbm_before`: in use before this process touched the device.
  StudyBursts(const StudySettings& settings, std::optional<Bytes> hbm_before)
      : settings_(settings), hbm_before_(hbm_before) {}

  [[nodiscard]] bool replays() const { return !settings_.replay.empty(); }
  /// The recorded plan, the one that the run names, or the best that is found. Throws
  /// Error(does_not_fit) naming the run.
  [[nodiscard]] PlannedRun plan(const StudyRun& run, const planner::RunPlanning& planning,
                                const planner::Predictor& predictor) const;
  /// Runs one burst more, of those that were recorded none. Where asked, records all `bursts`.
  void measure(const StudyRun& run, const planner::Predictor& predictor, const PlannedRun& planned,
               std::vector<MeasuredRun>& bursts);
  /// Of the run that was measured last: what this process takes, context and all, but for the page
  /// tables of pinned memory that the run leaves alone. Once.
  [[nodiscard]] std::optional<Bytes> take_hbm_in_use();

 private:
  const StudySettings& settings_;
  std::optional<Bytes> hbm_before_;
  std::optional<Bytes> hbm_in_use_;
};

}  // namespace sluice::profiler

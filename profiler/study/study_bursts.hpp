// The plan of a study's run, and what it takes: searched and measured now, or as it was recorded.
#pragma once

#include <optional>
#include <vector>

#include "planner/requests/request.hpp"
#include "profiler/study/study.hpp"
#include "profiler/traces/measured_run.hpp"

namespace sluice::profiler {

/// A run's plan, as it is predicted now.
struct PlannedRun {
  planner::PredictedStep step;
  std::vector<MeasuredRun> recorded;  ///< Where it is replayed.
};

/// A run of a study with what was measured of it so far.
struct StudiedRun {
  const StudyRun* run;
  planner::Predictor predictor;
  PlannedRun planned;
  std::vector<MeasuredRun> bursts;
};

class StudyBursts {
 public:
  /// `settings` must outlive it. `hbm_before`: in use before this process touched the device.
  StudyBursts(const StudySettings& settings, std::optional<Bytes> hbm_before)
      : settings_(settings), hbm_before_(hbm_before) {}

  [[nodiscard]] bool replays() const { return !settings_.replay.empty(); }
  /// The recorded plan, the one that the run names, or the best that is found. Throws
  /// Error(does_not_fit) naming the run.
  [[nodiscard]] PlannedRun plan(const StudyRun& run, const planner::Request& request) const;
  /// Runs one burst more and, where asked, records all of them. Where it is replayed it takes those
  /// that were recorded instead, shared evenly with `parts_to_come` of the study, before each of
  /// which a run that teaches ran again; at least the first. Without any that is new it leaves
  /// `run` as it is and returns false.
  bool measure(StudiedRun& run, std::int64_t parts_to_come = 0);
  /// Of the run that was measured last: what this process takes, context and all, but for the page
  /// tables of pinned memory that the run leaves alone. Once.
  [[nodiscard]] std::optional<Bytes> take_hbm_in_use();

 private:
  [[nodiscard]] static bool replay(StudiedRun& run, std::int64_t parts_to_come);

  const StudySettings& settings_;
  std::optional<Bytes> hbm_before_;
  std::optional<Bytes> hbm_in_use_;
};

}  // namespace sluice::profiler

// The plan and the bursts of a study's run: searched and measured now, or taken from a recording.
#pragma once

#include <optional>
#include <vector>

#include "planner/requests/request.hpp"
#include "profiler/study/study.hpp"
#include "profiler/traces/measured_run.hpp"

namespace sluice::profiler {

/// A run's plan as it is predicted now.
struct PlannedRun {
  planner::PredictedStep step;
  std::vector<MeasuredRun> recorded;  ///< Recorded bursts, where the study is replayed.
};

/// A run of a study with its bursts so far.
struct StudiedRun {
  const StudyRun* run;
  planner::Predictor predictor;
  PlannedRun planned;
  std::vector<MeasuredRun> bursts;
};

class StudyBursts {
 public:
  /// `settings` must outlive it. `hbm_before` is the device memory in use before this process
  /// touched the device.
  StudyBursts(const StudySettings& settings, std::optional<Bytes> hbm_before)
      : settings_(settings), hbm_before_(hbm_before) {}

  [[nodiscard]] bool replays() const { return !settings_.replay.empty(); }
  /// The recorded plan, the plan that the run names, or the best that is found. Throws
  /// Error(does_not_fit) naming the run.
  [[nodiscard]] PlannedRun plan(const StudyRun& run, const planner::Request& request) const;
  /// Runs one more burst and, where asked, records all bursts so far. In a replay it takes recorded
  /// bursts instead: an even share of them with `parts_to_come` parts of the study, before each of
  /// which a calibrating run ran again, and at least the first. Returns false where none is left.
  bool measure(StudiedRun& run, std::int64_t parts_to_come = 0);
  /// Device memory of this process in the run that was measured last, context included, without the
  /// page tables of pinned memory that the run does not use. Returns it once; none after that.
  [[nodiscard]] std::optional<Bytes> take_hbm_in_use();

 private:
  [[nodiscard]] static bool replay(StudiedRun& run, std::int64_t parts_to_come);

  const StudySettings& settings_;
  std::optional<Bytes> hbm_before_;
  std::optional<Bytes> hbm_in_use_;
};

}  // namespace sluice::profiler

// The plan and the bursts of a study's runs: searched and measured now, or taken from a recording.
#pragma once

#include <optional>
#include <vector>

#include "planner/requests/request.hpp"
#include "profiler/study/study.hpp"
#include "profiler/traces/measured_run.hpp"

namespace sluice::profiler {

/// The plan of a run, predicted with the model as it is now.
struct PlannedRun {
  planner::PredictedStep step;
  /// Recorded bursts that are not yet taken, where the study replays a recording; else empty.
  std::vector<MeasuredRun> recorded;
};

/// A run of a study with its plan and its bursts so far.
struct StudiedRun {
  const StudyRun* run;
  planner::Predictor predictor;
  PlannedRun planned;
  std::vector<MeasuredRun> bursts;
};

class StudyBursts {
 public:
  /// Runs or replays bursts by `settings`, which must outlive the object. `hbm_before` is the
  /// device memory in use before this process touched the device; none where it is not known.
  StudyBursts(const StudySettings& settings, std::optional<Bytes> hbm_before)
      : settings_(settings), hbm_before_(hbm_before) {}

  [[nodiscard]] bool replays() const { return !settings_.replay.empty(); }
  /// The recorded plan in a replay; else the plan that the run names, or the best that a search
  /// finds. Throws Error(does_not_fit) naming the run.
  [[nodiscard]] PlannedRun plan(const StudyRun& run, const planner::Request& request) const;
  /// Runs one more burst of `run` and, where the settings ask for it, records all its bursts so
  /// far. In a replay it takes recorded bursts instead: an even share of those left, where
  /// `parts_to_come` more parts of the study will ask for some (a calibrating run runs before each
  /// part). Returns false where none is left.
  bool measure(StudiedRun& run, std::int64_t parts_to_come = 0);
  /// Device memory that this process had in use in the run measured last, CUDA context included,
  /// without the page tables of pinned memory that the run does not use. Returns it once; none
  /// after that, and where it is not known.
  [[nodiscard]] std::optional<Bytes> take_hbm_in_use();

 private:
  [[nodiscard]] static bool replay(StudiedRun& run, std::int64_t parts_to_come);

  const StudySettings& settings_;
  std::optional<Bytes> hbm_before_;
  std::optional<Bytes> hbm_in_use_;
};

}  // namespace sluice::profiler

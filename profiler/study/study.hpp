// A study: it calibrates on a few runs, predicts others before any of them runs, then runs them. It
// tells whether the model holds for jobs and plans that it has not seen, and what each of its terms
// is worth.
#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "planner/costs/cost_switches.hpp"
#include "planner/requests/request.hpp"
#include "profiler/study/study_statistics.hpp"

namespace sluice::profiler {

/// One run of a study. Fields of its plan that `config` leaves open are found by a search with the
/// study's calibration so far.
struct StudyRun {
  std::string name;
  /// Whether the run's measured tasks calibrate the model; otherwise the run is predicted.
  bool calibrates = false;
  planner::RunConfig config;
  /// Number of the run's bursts; none for the number in the settings.
  std::optional<std::int64_t> bursts = std::nullopt;
};

/// Reads a study's file: lines "NAME calibrate|predict FLAGS...", with the flags of a run, without
/// spaces in values, and "--bursts N"; "defaults FLAGS..." holds for the lines after it; '#' begins
/// a comment. Throws BadRequest naming the line.
[[nodiscard]] std::vector<StudyRun> read_study(const std::filesystem::path& file);

struct StudyResult {
  std::string name;
  std::string plan_hash;
  std::string ledger_line;  ///< Hash of the prediction's line in the ledger.
  StudyPoint point;
  std::size_t steps = 0;  ///< Number of steps that were measured, over all bursts.
  Bytes hbm_predicted{0};
  /// Device memory in use in this run, as the driver reports it, less what was in use before the
  /// study; none where it does not report it.
  std::optional<Bytes> hbm_in_use = {};
  /// Predicted step with one term of the model of time off, for each term in the order of
  /// kCostTerms.
  std::array<Seconds, planner::kCostTerms.size()> without{};
  /// Share (0 to 1) of the predicted step that rests on measured costs.
  double measured_share = 0;
};

struct StudySettings {
  std::filesystem::path ledger = "ledger.jsonl";
  std::string commit;
  /// Number of steps of a burst; the first and the last are only neighbours of the measured ones.
  std::int64_t steps = 8;
  /// Longest time of a burst, where positive: one that would take longer has fewer steps, but at
  /// least four.
  Seconds burst{0};
  /// Time of steps before each burst that are not measured, until a GPU's clocks have settled.
  Seconds warm_up{0};
  /// Bytes of host memory that are pinned before the first run and used by all runs.
  Bytes pin{0};
  /// Number of bursts of each run that does not state its own. A run's step time is the mean of its
  /// bursts' medians. Bursts of the calibrating runs alternate, and so do those of the others,
  /// since other users of a host slow it for minutes, not for hours.
  std::int64_t bursts = 1;
  /// Number of bursts of each calibrating run; none for as many as of the others.
  std::optional<std::int64_t> calibration_bursts = std::nullopt;
  /// Number of parts into which the predicted runs are divided, in their order. Before each part
  /// but the first the calibrating runs run again, as often as before the first, and the
  /// calibration is fitted anew.
  std::int64_t parts = 1;
  std::filesystem::path recording = {};  ///< Folder to write recordings to; empty for none.
  /// Folder of an earlier study's recordings. Where not empty, nothing runs: plans and measurements
  /// are the recorded ones, and the current model is judged by them. No ledger is written.
  std::filesystem::path replay = {};
  /// File to which append_passes() appends every run; empty for none.
  std::filesystem::path passes = {};
  int misses = 0;  ///< Number of costs to name for each run: those that were missed most.
  std::function<void(const std::string&)> say = [](const std::string&) {};
  /// Function that is called with the results so far after every burst of a predicted run.
  std::function<void(const std::vector<StudyResult>&)> measured =
      [](const std::vector<StudyResult>&) {};
};

/// Runs a study: all calibrating runs in order, then every other run's prediction into the ledger,
/// then those runs, which the ledger gets after each burst; by parts where the settings ask for it.
/// Throws BadRequest where runs are not of one machine profile, Error(does_not_fit) naming a run
/// that does not fit.
[[nodiscard]] std::vector<StudyResult> run_study(const std::vector<StudyRun>& runs,
                                                 const StudySettings& settings);

/// Text with tables of every run, of the statistics, and of the statistics with each term off.
[[nodiscard]] std::string study_text(const std::vector<StudyResult>& results);
/// The results as JSON text (docs/schemas/study.schema.json).
[[nodiscard]] std::string study_json(const std::vector<StudyResult>& results,
                                     const StudySettings& settings);

}  // namespace sluice::profiler

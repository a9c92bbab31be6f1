// A study: calibrates on a few runs, predicts others before any of them runs, then runs them. It
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

/// One run of a study. Fields of its plan that `config` leaves open are searched, with the
/// calibration so far.
struct StudyRun {
  std::string name;
  /// Whether its measured tasks calibrate the model; otherwise it is predicted.
  bool calibrates = false;
  planner::RunConfig config;
  /// Number of its bursts, where it differs from the settings'.
  std::optional<std::int64_t> bursts = std::nullopt;
};

/// Reads a study: lines "NAME calibrate|predict FLAGS...", with the flags of a run, without spaces
/// in values, and "--bursts N"; "defaults FLAGS..." holds for the lines after it; '#' begins a
/// comment. Throws BadRequest naming the line.
[[nodiscard]] std::vector<StudyRun> read_study(const std::filesystem::path& file);

struct StudyResult {
  std::string name;
  std::string plan_hash;
  std::string ledger_line;  ///< Hash of the prediction's line in the ledger.
  StudyPoint point;
  std::size_t steps = 0;  ///< Number of steps measured.
  Bytes hbm_predicted{0};
  /// Device memory that the driver reports, less what was in use before the study; none where it
  /// does not report it.
  std::optional<Bytes> hbm_in_use = {};
  /// Step times predicted with each term of the model off.
  std::array<Seconds, planner::kCostTerms.size()> without{};
  double measured_share = 0;  ///< Share of the predicted time that rests on measured costs.
};

struct StudySettings {
  std::filesystem::path ledger = "ledger.jsonl";
  std::string commit;
  std::int64_t steps = 8;  ///< Steps of a burst; the first and the last are neighbours only.
  /// Where positive, a burst that would take longer than this has fewer steps, but at least four.
  Seconds burst{0};
  /// Time of steps before a burst that are not measured, until a GPU's clocks have settled.
  Seconds warm_up{0};
  /// Bytes of host memory that are pinned before the first run and used by all runs.
  Bytes pin{0};
  /// Bursts of each run that does not state its own number. Its step time is the mean of their
  /// medians. Bursts of the calibrating runs alternate, and so do those of the others, since other
  /// users of a host slow it for minutes, not for hours.
  std::int64_t bursts = 1;
  std::optional<std::int64_t> calibration_bursts =
      std::nullopt;  ///< Bursts of the calibrating runs; none for as many as the others.
  /// Number of parts that the predicted runs are divided into, in order. Before each part but the
  /// first the calibrating runs run again, as often as before the first, and the calibration is
  /// fitted anew.
  std::int64_t parts = 1;
  std::filesystem::path recording = {};  ///< Folder that the recordings go to; empty for none.
  /// Folder of an earlier study's recordings. Where not empty, nothing runs: plans and measurements
  /// are the recorded ones, and the current model is judged by them. No ledger is written.
  std::filesystem::path replay = {};
  /// File that append_passes() writes every run to; empty for none.
  std::filesystem::path passes = {};
  int misses = 0;  ///< For each run, the number of costs to name that were missed most.
  std::function<void(const std::string&)> say = [](const std::string&) {};
  /// Called with the results so far, after every burst of a predicted run.
  std::function<void(const std::vector<StudyResult>&)> measured =
      [](const std::vector<StudyResult>&) {};
};

/// Runs a study: all calibrating runs in order, then every other run's prediction into the ledger,
/// then those runs, which the ledger gets after each burst; by parts where asked. Throws BadRequest
/// where runs are not of one machine profile, Error(does_not_fit) naming a run that does not fit.
[[nodiscard]] std::vector<StudyResult> run_study(const std::vector<StudyRun>& runs,
                                                 const StudySettings& settings);

/// Tables of every run, of the statistics, and of the statistics with each term off.
[[nodiscard]] std::string study_text(const std::vector<StudyResult>& results);
/// The results as JSON (docs/schemas/study.schema.json).
[[nodiscard]] std::string study_json(const std::vector<StudyResult>& results,
                                     const StudySettings& settings);

}  // namespace sluice::profiler

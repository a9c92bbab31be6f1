// Calibrates on a few runs, predicts others before any of them runs, then runs them: whether the
// model holds for jobs and plans that it has not seen, and what each of its terms is worth.
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

/// One configuration. Fields of its plan that `config` leaves open are searched, with what was
/// calibrated by then.
struct StudyRun {
  std::string name;
  bool calibrates = false;  ///< Its measured tasks teach the model; otherwise it is predicted.
  planner::RunConfig config;
  std::optional<std::int64_t> bursts = std::nullopt;  ///< Of it, where not as many as of others.
};

/// Lines "NAME calibrate|predict FLAGS...", the flags of a run, none with spaces in its value, and
/// "--bursts N"; "defaults FLAGS..." holds for the lines after it; '#' begins a comment. Throws
/// BadRequest naming the line.
[[nodiscard]] std::vector<StudyRun> read_study(const std::filesystem::path& file);

struct StudyResult {
  std::string name;
  std::string plan_hash;
  std::string ledger_line;  ///< Of the prediction.
  StudyPoint point;
  std::size_t steps = 0;  ///< Measured.
  Bytes hbm_predicted{0};
  /// As the driver reports it, less what was in use before the study; none where it does not say.
  std::optional<Bytes> hbm_in_use = {};
  std::array<Seconds, planner::kCostTerms.size()> without{};  ///< Predicted with that term off.
  double measured_share = 0;  ///< Of the predicted time, what rests on measured costs.
};

struct StudySettings {
  std::filesystem::path ledger = "ledger.jsonl";
  std::string commit;
  std::int64_t steps = 8;  ///< Of a burst; the first and the last are neighbours only.
  /// Where positive, a burst has fewer steps if they take longer than this, but no fewer than four.
  Seconds burst{0};
  Seconds warm_up{0};  ///< Steps before a burst, not looked at: until a GPU's clocks have settled.
  Bytes pin{0};        ///< Of host memory before the first run, which all runs then use.
  /// Of each run that does not say how many, whose time is the mean of their medians: the
  /// calibrating ones in turn, then again, and so the others. Other users of a host take it for
  /// minutes, not for hours.
  std::int64_t bursts = 1;
  std::optional<std::int64_t> teach_bursts =
      std::nullopt;  ///< Of the calibrating ones; as the others.
  /// Of the predicted runs, in order; before each but the first, the calibrating ones run again, as
  /// often as before the first, and all that they taught is learnt anew.
  std::int64_t parts = 1;
  std::filesystem::path record = {};  ///< Where not empty, what was measured goes to this folder.
  /// Where not empty, nothing runs: plans and measurements are what an earlier study recorded, and
  /// today's model is judged by them. No ledger is written.
  std::filesystem::path replay = {};
  std::filesystem::path passes = {};  ///< Where not empty, append_passes() of every run.
  int misses = 0;  ///< Of each run, so many costs that were missed by most are named.
  std::function<void(const std::string&)> say = [](const std::string&) {};
  /// Called with the results so far, after every burst of a predicted run.
  std::function<void(const std::vector<StudyResult>&)> measured =
      [](const std::vector<StudyResult>&) {};
};

/// All calibrating runs in order, then every other one's prediction into the ledger, then the runs
/// themselves, which the ledger has after each burst; in parts where asked, each with its own.
/// Throws BadRequest where runs are not of one machine profile, Error(does_not_fit) naming the run
/// that does not fit.
[[nodiscard]] std::vector<StudyResult> run_study(const std::vector<StudyRun>& runs,
                                                 const StudySettings& settings);

/// Tables for people: every run, the statistics, and those with each term off.
[[nodiscard]] std::string study_text(const std::vector<StudyResult>& results);
/// docs/schemas/study.schema.json.
[[nodiscard]] std::string study_json(const std::vector<StudyResult>& results,
                                     const StudySettings& settings);

}  // namespace sluice::profiler

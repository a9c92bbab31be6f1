// The costs that a study predicts with: its machine's profile, and the calibration by its runs so
// far.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/requests/request.hpp"
#include "profiler/fits/boost_fit.hpp"
#include "profiler/fits/interference_fit.hpp"
#include "profiler/study/study.hpp"
#include "profiler/traces/measured_run.hpp"

namespace sluice::profiler {

class StudyCosts {
 public:
  /// Whether the study's runs have to execute on this computer, which then must have the backend.
  enum class Backend { needed, unused };
  explicit StudyCosts(Backend backend) : backend_(backend) {}

  /// Resolves a run of the study. The first run decides the study's machine and initial
  /// calibration. Throws BadRequest naming the run where its machine is another one, or Sluice
  /// cannot execute its job.
  [[nodiscard]] planner::Request resolve(const StudyRun& run);

  /// `request` with the study's calibration so far, converted for the request's machine, whose
  /// copies may be limited.
  [[nodiscard]] planner::Request known(const planner::Request& request) const;
  [[nodiscard]] planner::Calibration calibration(const planner::Predictor& predictor) const;

  /// Fits costs, and how lanes slow each other, to `bursts` of a run, and adds them to the
  /// calibration.
  void learn(const planner::Predictor& predictor, const std::vector<MeasuredRun>& bursts);
  /// Fits costs alone to `bursts` of a run, and adds them to the calibration.
  void learn_costs(const planner::Predictor& predictor, const std::vector<MeasuredRun>& bursts);

  /// Whether the machine has a GPU whose boost was not known before the study.
  [[nodiscard]] bool lacks_boost() const;
  /// Returns to the calibration at the study's start, to which it adds `boost`, if given, and
  /// interference fitted to all of `runs`.
  void begin_anew(const std::optional<BoostFit>& boost, const std::vector<TimedRun>& runs);

 private:
  void learn(const planner::Predictor& predictor, const std::vector<MeasuredRun>& bursts,
             bool interference);

  Backend backend_;
  planner::MachineProfile probed_;
  /// Calibration at the start of the study, and the same with what the study has fitted so far.
  planner::Calibration given_, calibration_;
  std::string profile_;
  bool started_ = false;
};

}  // namespace sluice::profiler

// The costs that a study uses: its machine's profile, and the calibration by its runs so far.
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
  /// Whether runs have to execute on this computer.
  enum class Backend { needed, unused };
  explicit StudyCosts(Backend backend) : backend_(backend) {}

  /// The planning of a run. The first run decides the study's machine and initial calibration.
  /// Throws BadRequest naming the run where its machine is another one, or nothing executes it.
  [[nodiscard]] planner::Request resolve(const StudyRun& run);

  /// The request with the study's calibration, for the machine of a run, which may limit its
  /// copies.
  [[nodiscard]] planner::Request known(const planner::Request& request) const;
  [[nodiscard]] planner::Calibration calibration(const planner::Predictor& predictor) const;

  /// Fits costs, and how lanes slow each other, to these bursts of a run.
  void learn(const planner::Predictor& predictor, const std::vector<MeasuredRun>& bursts);
  /// Fits costs alone to these bursts of a run.
  void learn_costs(const planner::Predictor& predictor, const std::vector<MeasuredRun>& bursts);

  /// Whether the machine is a GPU whose boost was not known before the study.
  [[nodiscard]] bool lacks_boost() const;
  /// Discards what was fitted in this study except the boost, if it was fitted, and interference,
  /// which is fitted to all of `runs`.
  void begin_anew(const std::optional<BoostFit>& boost, const std::vector<TimedRun>& runs);

 private:
  void learn(const planner::Predictor& predictor, const std::vector<MeasuredRun>& bursts,
             bool interference);

  Backend backend_;
  planner::MachineProfile probed_;
  /// Calibration at the start of the study, and with what was fitted in it.
  planner::Calibration given_, calibration_;
  std::string profile_;
  bool started_ = false;
};

}  // namespace sluice::profiler

// What a study knows of its machine's costs: the profile it was probed with, and what runs taught.
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
  /// Whether runs have to execute here.
  enum class Backend { needed, unused };
  explicit StudyCosts(Backend backend) : backend_(backend) {}

  /// A run as planned. The first one says what machine the study is of, and what is known already.
  /// Throws BadRequest naming the run where its machine is another one, or nothing executes it.
  [[nodiscard]] planner::Request resolve(const StudyRun& run);

  /// The request with what the study knows, for a run's machine: its copies may be held to less.
  [[nodiscard]] planner::Request known(const planner::Request& request) const;
  [[nodiscard]] planner::Calibration calibration(const planner::Predictor& predictor) const;

  /// Costs, and how lanes slow each other in this run.
  void learn(const planner::Predictor& predictor, const std::vector<MeasuredRun>& bursts);
  /// Costs alone.
  void learn_costs(const planner::Predictor& predictor, const std::vector<MeasuredRun>& bursts);

  /// Of a GPU whose clocks after rest nothing said before the study.
  [[nodiscard]] bool lacks_boost() const;
  /// Forgets all that was learnt here, for the boost, if it was fitted, and for how lanes slow each
  /// other in all of `runs`.
  void begin_anew(const std::optional<BoostFit>& boost, const std::vector<TimedRun>& runs);

 private:
  void learn(const planner::Predictor& predictor, const std::vector<MeasuredRun>& bursts,
             bool interference);

  Backend backend_;
  planner::MachineProfile probed_;
  planner::Calibration given_, calibration_;  ///< Of that: at first, and with what was learnt.
  std::string profile_;
  bool started_ = false;
};

}  // namespace sluice::profiler

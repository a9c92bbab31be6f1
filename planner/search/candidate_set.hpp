// Plans gathered for a search, each once.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "planner/plans/pins.hpp"
#include "planner/predictions/predict.hpp"
#include "planner/search/candidate.hpp"

namespace sluice::planner {

/// Collects valid plans with their estimates, each plan once.
class CandidateSet {
 public:
  CandidateSet(const PlanEstimator& estimator, const Predictor& predictor, const Pins& pins)
      : estimator_(estimator), predictor_(predictor), pins_(pins) {}

  /// Writes the pins into the plan and adds it, unless it is then invalid, keeps state where the
  /// predictor's residency forbids it, or was added before.
  void add(Plan plan);
  [[nodiscard]] std::vector<Candidate> take() { return std::move(found_); }

 private:
  [[nodiscard]] bool valid(const Plan& plan) const;

  const PlanEstimator& estimator_;
  const Predictor& predictor_;
  const Pins& pins_;
  std::set<std::string> seen_;
  std::vector<Candidate> found_;
};

/// Stages the unit's state: it lives on the host and is copied to the device for its update, right
/// after the step; the gradient waits on the device.
void stage_state(UnitPlan& unit);

}  // namespace sluice::planner

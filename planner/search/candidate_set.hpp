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

/// Collects plans with their estimates, each once.
class CandidateSet {
 public:
  CandidateSet(const PlanEstimator& estimator, const Predictor& predictor, const Pins& pins)
      : estimator_(estimator), predictor_(predictor), pins_(pins) {}

  /// Adds the plan with its pins, unless it is invalid or is there already.
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

/// Lets the unit's state be staged: on the host between steps, updated on the device.
void stage_state(UnitPlan& unit);

}  // namespace sluice::planner

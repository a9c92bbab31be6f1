// What limits a plan, beside what bounds the best one.
#pragma once

#include <string>
#include <utility>

#include "planner/predictions/predict.hpp"

namespace sluice::planner {

/// The lane that is busy for the largest share of the step, which limits this plan, with that share
/// (0 to 1); the bound's resource (Prediction::bound) limits the best plan that could be.
[[nodiscard]] inline std::pair<std::string, double> limited_by(const Prediction& prediction) {
  std::pair<std::string, double> most{"compute", 0};
  for (const auto& lane : prediction.busy) {
    if (lane.second > most.second) most = lane;
  }
  return most;
}

}  // namespace sluice::planner

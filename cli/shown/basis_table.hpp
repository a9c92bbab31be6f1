// The basis of a prediction as a table: what its step rests on and how wide its interval is.
#pragma once

#include <string>

#include "planner/predictions/predict.hpp"

namespace sluice::cli {

/// Lines of at most 100 columns that say, number by number, what the predicted step rests on: the
/// value, seconds of the critical path, deviation, share of the interval's variance, evidence and
/// source, the largest share first; then the measurement that would narrow the interval most.
[[nodiscard]] std::string basis_table(const planner::Prediction& prediction);

}  // namespace sluice::cli

// The tasks of a predicted step as columns.
#pragma once

#include <pybind11/pybind11.h>

#include "planner/predictions/predict.hpp"
#include "sim/simulate.hpp"

namespace sluice::python {

/// Columns by name, one element per task in file order: id, lane, kind (lists of str), step, round,
/// unit, micro_batch, bytes (int64), start_s, end_s (float64).
[[nodiscard]] pybind11::dict step_columns(const planner::PredictedStep& step);

/// Columns id, lane, kind ("fixed" or "flow"), start_s, end_s of a simulated graph, one element per
/// task in file order.
[[nodiscard]] pybind11::dict timeline_columns(const sim::TaskGraph& graph,
                                              const sim::Timeline& timeline);

}  // namespace sluice::python

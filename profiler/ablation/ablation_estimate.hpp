// Estimate of the time and space that an experiment takes, from a quick look at every cell.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "profiler/ablation/cell_result.hpp"
#include "profiler/ablation/cells.hpp"
#include "profiler/ablation/experiment.hpp"

namespace sluice::profiler {

/// Time and space that the cells of a share take.
struct AblationEstimate {
  std::vector<CellResult> cells;  ///< The share's cells, predicted with plans from a quick search.
  Seconds device{0};  ///< Time on the device: the predicted steps of all runs of the share's cells.
  /// Number of runs of the share's cells, each of which first makes weights and state.
  std::int64_t starts = 0;
  /// Time of all searches for plans on this computer, scaled from the quick ones.
  Seconds search{0};
  /// Effort of each search for a plan over that of the quick one; 1 where nothing is searched for.
  double effort = 1;
  Bytes disk{0};  ///< Bytes of the results folder.
};
[[nodiscard]] AblationEstimate estimate_ablation(
    const Experiment& experiment, const CellShare& share,
    const std::function<void(const std::string&)>& say);

}  // namespace sluice::profiler

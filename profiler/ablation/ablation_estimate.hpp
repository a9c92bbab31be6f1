// Estimate of what an experiment takes, from a quick look at every cell.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "profiler/ablation/cell_result.hpp"
#include "profiler/ablation/cells.hpp"
#include "profiler/ablation/experiment.hpp"

namespace sluice::profiler {

/// What the cells of a share take.
struct AblationEstimate {
  std::vector<CellResult> cells;  ///< The cells, predicted after a quick search.
  Seconds device{0};              ///< Time on the device: steps of all runs of the share's cells.
  std::int64_t starts = 0;        ///< Number of runs, each of which first makes weights and state.
  Seconds search{0};  ///< Time of all searches on this computer, scaled from the quick ones.
  double effort = 1;  ///< Effort of each search over that of the quick one.
  Bytes disk{0};      ///< Bytes of the results.
};
[[nodiscard]] AblationEstimate estimate_ablation(
    const Experiment& experiment, const CellShare& share,
    const std::function<void(const std::string&)>& say);

}  // namespace sluice::profiler

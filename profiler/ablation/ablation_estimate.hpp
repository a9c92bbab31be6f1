// What an experiment would take, by a quick look at every cell.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "profiler/ablation/cell_record.hpp"
#include "profiler/ablation/cells.hpp"
#include "profiler/ablation/experiment.hpp"

namespace sluice::profiler {

/// Of the cells of a share.
struct AblationEstimate {
  std::vector<CellRecord> cells;  ///< Predicted after a quick search.
  Seconds device{0};              ///< Steps of all runs of the share's cells.
  std::int64_t starts = 0;        ///< Of runs, each of which makes weights and state first.
  Seconds search{0};  ///< Of all searches on this computer, as long as the quick ones were.
  double effort = 1;  ///< Of each search, beside the quick one's.
  Bytes disk{0};      ///< Of the results.
};
[[nodiscard]] AblationEstimate estimate_ablation(
    const Experiment& experiment, const CellShare& share,
    const std::function<void(const std::string&)>& say);

}  // namespace sluice::profiler

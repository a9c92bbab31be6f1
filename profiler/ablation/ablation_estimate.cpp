#include "profiler/ablation/ablation_estimate.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "planner/effort/search_effort.hpp"
#include "planner/effort/search_settings.hpp"
#include "planner/search/search.hpp"
#include "profiler/ablation/ablation_files.hpp"
#include "profiler/ablation/cell_plan.hpp"
#include "sim/error.hpp"

namespace sluice::profiler {
namespace {

/// A folder that is removed at the end of its scope.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string path = (std::filesystem::temp_directory_path() / "sluice-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr) throw EnvironmentError("cannot make " + path);
    path_ = path;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace

AblationEstimate estimate_ablation(const Experiment& experiment, const CellShare& share,
                                   const std::function<void(const std::string&)>& say) {
  const TemporaryFolder folder;
  const std::vector<Cell> cells = cells_of(experiment, folder.path());
  write_models(cells);
  AblationEstimate estimate;
  // The quick search is never longer than the search that it stands for.
  const std::int64_t asked = planner::search_effort(experiment.effort, "effort");
  const std::int64_t effort = std::min(planner::kQuickEffort, asked);
  estimate.effort = std::max(1.0, static_cast<double>(asked) / static_cast<double>(effort));
  estimate.disk = bytes_of_results(experiment);
  bool searched = false;
  for (const Cell& cell : cells) {
    if (!share.holds(cell.index)) continue;
    const std::string name = cell.name(experiment);
    const auto begin = std::chrono::steady_clock::now();
    PlannedCell planned = plan_cell(cell, prepare_cell(cell, experiment), name, effort);
    const bool runs = experiment.on == Ground::device;
    if (runs && planned.result.status == CellStatus::fits) {
      refuse_unrunnable(planned, cell, experiment);
    }
    const CellResult& result = estimate.cells.emplace_back(std::move(planned.result));
    searched = searched || result.optimality_gap.has_value();
    const Seconds look = std::chrono::steady_clock::now() - begin;
    estimate.search = estimate.search + look * (result.optimality_gap ? estimate.effort : 1.0);
    say(fmt::format("{:>4} of {}  {}: {}", cell.index + 1, cells.size(), name, result.outcome()));
    estimate.disk = estimate.disk + bytes_of_results(result, experiment);
    if (runs && result.status == CellStatus::fits) {
      const auto steps =
          static_cast<double>(experiment.repeats * (experiment.warm_up + experiment.steps + 1));
      estimate.device = estimate.device + result.prediction->step * steps;
      estimate.starts += experiment.repeats;
    }
  }
  if (!searched) estimate.effort = 1;
  return estimate;
}

}  // namespace sluice::profiler

#include "profiler/ablation/ablation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <vector>

#include "engine/backends/backend.hpp"
#include "engine/run_folders/ledger.hpp"
#include "engine/run_folders/missing_folders.hpp"
#include "planner/catalogue/catalogue.hpp"
#include "planner/catalogue/store.hpp"
#include "planner/effort/search_effort.hpp"
#include "profiler/ablation/ablation_files.hpp"
#include "profiler/ablation/cell_run.hpp"
#include "profiler/sensors/gpu_sensors.hpp"
#include "profiler/traces/measured_run.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"
#include "sim/version.hpp"

namespace sluice::profiler {
namespace {

/// A run of a cell that is still to be done.
struct ScheduledRun {
  std::size_t cell;
  std::int64_t repeat;
  std::int64_t order;
};

/// All repeats of all cells, shuffled within each repeat. Every process draws the same order.
std::vector<ScheduledRun> scheduled_runs(std::size_t cells, const Experiment& experiment) {
  std::vector<ScheduledRun> runs;
  runs.reserve(cells * static_cast<std::size_t>(experiment.repeats));
  std::mt19937_64 random(static_cast<std::uint64_t>(experiment.seed));
  for (std::int64_t repeat = 1; repeat <= experiment.repeats; ++repeat) {
    std::vector<std::size_t> order(cells);
    for (std::size_t i = 0; i < cells; ++i) order[i] = i;
    for (std::size_t i = cells; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
    for (const std::size_t cell : order) {
      runs.push_back({cell, repeat, static_cast<std::int64_t>(runs.size()) + 1});
    }
  }
  return runs;
}

/// Time left as text; "0 s" for what rounding of sums leaves over.
std::string time_text(Seconds left) {
  return planner::format_seconds(left < Seconds(1e-6) ? Seconds(0) : left);
}

class Ablation {
 public:
  Ablation(const Experiment& experiment, const AblationOptions& options)
      : experiment_(experiment),
        options_(options),
        cells_(cells_of(experiment, options.folder / "models")),
        prepared_(cells_.size()),
        planned_(cells_.size()) {}

  AblationResult run() {
    const bool fresh = !std::filesystem::exists(options_.folder / kExperimentFile);
    const std::vector<std::filesystem::path> made = folders_to_make();
    begin_folder(experiment_, options_.folder);
    write_models(cells_);
    for (const Cell& cell : cells_) {
      if (options_.share.holds(cell.index) && !stopped()) predict(cell);
    }
    try {
      require_a_run();
    } catch (const BadRequest&) {
      // A corrected experiment is another one, and must not find this one's folder.
      if (fresh) take_back(made);
      throw;
    }
    if (experiment_.on == Ground::device) run_cells();
    AblationResult result;
    result.interrupted = stopped();
    for (const Cell& cell : cells_) result.cells.push_back(done(cell));
    if (result.missing() == 0) {
      write_results(experiment_, result.cells, options_.folder, options_.command);
    }
    return result;
  }

 private:
  [[nodiscard]] bool stopped() const {
    return options_.interrupted != nullptr && options_.interrupted->load();
  }

  [[nodiscard]] std::filesystem::path file(const Cell& cell) const {
    return cell_file(options_.folder, cell.index);
  }

  /// The cell, prepared at its first use: with a share, most cells belong to other processes.
  [[nodiscard]] const PreparedCell& prepared(const Cell& cell) const {
    std::optional<PreparedCell>& prepared = prepared_[cell.index];
    if (!prepared) prepared = prepare_cell(cell, experiment_);
    return *prepared;
  }

  /// The cell's result where all its runs are done; else none.
  [[nodiscard]] std::optional<CellResult> done(const Cell& cell) const {
    std::optional<CellResult> result = read_cell(file(cell));
    if (!result || result->hash != prepared(cell).hash) return std::nullopt;
    const bool runs = experiment_.on == Ground::device && result->status == CellStatus::fits;
    if (runs && std::ssize(result->samples) < experiment_.repeats) return std::nullopt;
    return result;
  }

  void predict(const Cell& cell) {
    const PreparedCell& prepared = this->prepared(cell);
    std::optional<CellResult> before = read_cell(file(cell));
    if (before && before->hash != prepared.hash) before.reset();
    // A run needs its plan again; otherwise the known result is enough.
    const bool known = before && (experiment_.on == Ground::simulation || done(cell));
    if (known) {
      planned_[cell.index].result = std::move(*before);
      say(cell, "done before: " + planned_[cell.index].result.outcome());
      return;
    }
    planned_[cell.index] = plan_cell(cell, prepared, cell.name(experiment_),
                                     planner::search_effort(experiment_.effort, "effort"));
    CellResult& result = planned_[cell.index].result;
    if (before) {
      result.samples = before->samples;
      result.ledger_line = before->ledger_line;
    }
    if (experiment_.on == Ground::device && result.status == CellStatus::fits) promise(cell);
    write_cell(file(cell), result);
    say(cell, result.outcome());
  }

  /// Writes the cell's prediction to the ledger, before anything runs; refuses here what the engine
  /// does not execute.
  void promise(const Cell& cell) {
    PlannedCell& planned = planned_[cell.index];
    CellResult& result = planned.result;
    refuse_unrunnable(planned, cell, experiment_);
    if (result.status != CellStatus::fits) return;
    engine::require_backend(planned.predictor->machine().profile.device);
    if (!result.ledger_line.empty()) return;
    if (!ledger_) ledger_.emplace(options_.folder / "ledger.jsonl");
    result.ledger_line = ledger_->append(engine::LedgerPrediction{
        .job_hash = result.prediction->job_hash,
        .plan_hash = result.prediction->plan_hash,
        .cost_model_hash = result.prediction->cost_model_hash,
        .numerics_id = engine::numerics_id(planned.predictor->job(), planned.predictor->machine()),
        .commit = std::string(commit()),
        .step = result.prediction->step,
        .step_low = result.prediction->low,
        .step_high = result.prediction->high,
        .knowledge = to_string(planned.step->prediction.knowledge),
        .machine = planned.step->prediction.machine,
        .job = planned.step->prediction.job});
  }

  /// Throws BadRequest where no cell is a valid run. A share may have none, since others have more.
  void require_a_run() const {
    if (options_.share.parts > 1) return;
    const CellResult* refused = nullptr;
    for (const Cell& cell : cells_) {
      const CellResult& result = planned_[cell.index].result;
      if (result.status != CellStatus::refused) return;
      if (refused == nullptr) refused = &result;
    }
    if (refused != nullptr)
      throw BadRequest("no cell is a run: " + refused->name + ": " + refused->reason);
  }

  /// Folders of the results that do not exist yet, the innermost first.
  [[nodiscard]] std::vector<std::filesystem::path> folders_to_make() const {
    const std::filesystem::path models = options_.folder / "models";
    std::vector<std::filesystem::path> made =
        engine::missing_folders(cell_file(options_.folder, 0).parent_path());
    if (!std::filesystem::exists(models)) made.insert(made.begin(), models);
    return made;
  }

  /// Removes what was written, and those of the folders made for it that are empty.
  void take_back(const std::vector<std::filesystem::path>& made) const {
    std::error_code ignored;  // The refusal is the error to report.
    for (const Cell& cell : cells_) {
      std::filesystem::remove(file(cell), ignored);
      if (cell.model_text) std::filesystem::remove(cell.config.model, ignored);
    }
    std::filesystem::remove(options_.folder / kExperimentFile, ignored);
    for (const std::filesystem::path& folder : made) std::filesystem::remove(folder, ignored);
  }

  /// Largest host arena of the cells that run. All of them use the same memory, since memory may
  /// not be equally fast everywhere.
  [[nodiscard]] Bytes largest_host_arena(const std::vector<ScheduledRun>& runs) const {
    Bytes largest{0};
    for (const ScheduledRun& run : runs) {
      if (!lacks(run)) continue;
      largest = std::max(largest, planned_[run.cell].step->graph.layout.host_bytes);
    }
    return largest;
  }

  void run_cells() {
    const std::vector<ScheduledRun> runs = scheduled_runs(cells_.size(), experiment_);
    const auto pinned_once = engine::keep_host_memory(largest_host_arena(runs));
    Seconds left{0};
    for (const ScheduledRun& run : runs)
      left = left + (lacks(run) ? time_of(run.cell) : Seconds(0));
    for (const ScheduledRun& run : runs) {
      if (stopped()) return;
      if (!lacks(run)) continue;
      left = std::max(Seconds(0), left - time_of(run.cell));
      PlannedCell& planned = planned_[run.cell];
      CellResult& result = planned.result;
      CellSample& sample = result.samples.emplace_back(
          CellSample{run.repeat, run.order, run_cell(planned, experiment_)});
      sample.gpu = sensors_.read();
      const Seconds took = middle(sample.steps);
      say(cells_[run.cell],
          fmt::format("repeat {}: {} ({:+.1f} %), {} of steps left", run.repeat,
                      planner::format_seconds(took), 100 * (result.prediction->step / took - 1),
                      time_text(left)));
      if (std::ssize(result.samples) == experiment_.repeats) settle(result);
      write_cell(file(cells_[run.cell]), result);
    }
  }

  void settle(const CellResult& result) {
    if (!ledger_) ledger_.emplace(options_.folder / "ledger.jsonl");
    const std::vector<Seconds> steps = result.all_steps();
    ledger_->append(engine::LedgerMeasurement{.prediction = result.ledger_line,
                                              .steps = std::ssize(steps),
                                              .median_step = middle(steps)});
  }

  [[nodiscard]] bool lacks(const ScheduledRun& run) const {
    const PlannedCell& planned = planned_[run.cell];
    if (!options_.share.holds(run.cell) || !planned.step) return false;
    if (planned.result.status != CellStatus::fits) return false;
    return std::none_of(planned.result.samples.begin(), planned.result.samples.end(),
                        [&run](const CellSample& s) { return s.repeat == run.repeat; });
  }

  [[nodiscard]] Seconds time_of(std::size_t cell) const {
    return planned_[cell].result.prediction->step *
           static_cast<double>(experiment_.warm_up + experiment_.steps + 1);
  }

  static Seconds middle(const std::vector<Seconds>& steps) {
    std::vector<double> counts;
    counts.reserve(steps.size());
    for (const Seconds step : steps) counts.push_back(step.count());
    return Seconds(median(std::move(counts)));
  }

  void say(const Cell& cell, const std::string& what) const {
    options_.say(fmt::format("{:>4} of {}  {}: {}", cell.index + 1, cells_.size(),
                             cell.name(experiment_), what));
  }

  const Experiment& experiment_;
  const AblationOptions& options_;
  std::vector<Cell> cells_;
  /// Prepared cells by index of the cell, as in planned_; none for cells not used yet.
  mutable std::vector<std::optional<PreparedCell>> prepared_;
  std::vector<PlannedCell> planned_;
  std::optional<engine::Ledger> ledger_;
  GpuSensors sensors_;
};

}  // namespace

std::size_t AblationResult::missing() const {
  return static_cast<std::size_t>(
      std::count_if(cells.begin(), cells.end(), [](const auto& cell) { return !cell; }));
}

AblationResult run_ablation(const Experiment& experiment, const AblationOptions& options) {
  if (experiment.baseline.machine == "here" &&
      !planner::Store::of_user().newest_profile(experiment.baseline.backend)) {
    // Cells are recognised by the profile, and a new estimate would be another profile.
    planner::Store::of_user().save(planner::here_estimate());
  }
  return Ablation(experiment, options).run();
}

}  // namespace sluice::profiler
